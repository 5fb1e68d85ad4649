"""A model as one value: its configuration, its class, and whether that class gets its pooler."""

from typing import NamedTuple

from bertcalc.config import Config, ConfigError
from bertcalc.families import CLASSES, build, class_of
from bertcalc.family import Class, Model


class Subject(NamedTuple):
    """A model: the arguments of ``build``."""

    config: Config
    architecture: str = next(iter(CLASSES))
    add_pooling_layer: bool = True

    @property
    def cls(self) -> Class:
        return class_of(self.architecture)

    @property
    def reads_encoder(self) -> bool:
        """Whether the layers have a cross attention and the class takes what it looks at."""
        return self.config.add_cross_attention and self.cls.sees_encoder

    def model(self) -> Model:
        return build(self.config, self.architecture, add_pooling_layer=self.add_pooling_layer)

    def as_class(self, architecture: str) -> "Subject":
        """The same sizes in another class; in a class of another family as near to them as that can be."""
        kind = CLASSES[architecture].config
        values = {name: value for name, value in self.config.shared().items() if kind.has(name)}
        while type(self.config) is not kind:
            try:
                return Subject(kind(**values), architecture)
            except ConfigError as error:
                values = values | error.problem.remedies[0]
        return Subject(self.config, architecture)

    def seen(self, sequence_length: int) -> int | None:
        """The length of what an encoder gives a decoder to see: with cross attention as long as its own sequence."""
        return sequence_length if self.reads_encoder else None
