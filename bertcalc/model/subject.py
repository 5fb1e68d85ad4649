"""A model as one value: its configuration, its class, and whether the class has its pooler."""

from dataclasses import replace
from typing import NamedTuple

from bertcalc.config import Config, ConfigError
from bertcalc.model.family import Class, Model
from bertcalc.model.registry import CLASSES, build, class_of
from bertcalc.text.arguments import record


@record
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
        """Whether the layers have cross attention and the class takes encoder_hidden_states."""
        return self.config.add_cross_attention and self.cls.sees_encoder

    def model(self) -> Model:
        return build(self.config, self.architecture, add_pooling_layer=self.add_pooling_layer)

    def as_class(self, architecture: str) -> "Subject":
        """The same sizes in another class, or the nearest ones that are possible there."""
        kind = CLASSES[class_of(architecture).name].config
        values = {name: value for name, value in self.config.shared().items() if kind.has(name)}
        while type(self.config) is not kind:
            try:
                return Subject(kind(**values), architecture).as_class(architecture)
            except ConfigError as error:
                values = values | error.problem.remedies[0]
        problem = class_of(architecture).unbuilt(self.config)
        return Subject(replace(self.config, **problem.remedies[0]) if problem else self.config, architecture)

    def seen(self, sequence_length: int) -> int | None:
        """The length of encoder_hidden_states: ``sequence_length`` if the model reads them, else None."""
        return sequence_length if self.reads_encoder else None
