"""The registered families, and ``build``. A new family is one file here, and its name in ``_NAMES`` below."""

from collections.abc import Collection, Iterable, Iterator
from importlib import import_module

from bertcalc.config import Config, ConfigError
from bertcalc.families.complete import in_every_way, lacks, missing
from bertcalc.family import Class, Family, Model, Preset

FAMILIES: dict[str, Family] = {}
CLASSES: dict[str, Family] = {}  # by the name of each class
PRESETS: dict[str, Preset] = {}  # of all families
SHARED: dict[str, str] = {}  # a family's own name of a field: its shared name
_OF_CONFIG: dict[type[Config], Family] = {}
_DECLARED: dict[str, Class] = {}
_OUTPUTS: dict[str, tuple[str, ...]] = {}


def register(family: Family) -> None:
    """Register a family and its classes. Raises ValueError with everything that is missing if it is incomplete."""
    _raise([*_taken(family), *missing(family)])
    ran = [*in_every_way(family)]
    outputs: dict[str, tuple[str, ...]] = {}
    for model, steps in ran:
        returned = tuple(step.output for step in steps if step.output)
        if outputs.setdefault(model.cls.name, returned) != returned:
            raise ValueError(f"{model.cls.name}: its outputs are not the same in every configuration.")
    _raise(sentence for model, steps in ran for sentence in lacks(model, steps))
    FAMILIES[family.name] = _OF_CONFIG[family.config] = family
    PRESETS.update(family.presets)
    SHARED.update({own: shared for shared, own in family.config.attribute_map.items()})
    for cls in family.classes:
        CLASSES[cls.name] = family
        _DECLARED[cls.name] = cls
    _OUTPUTS.update(outputs)


def _raise(found: Iterable[str]) -> None:
    if sentences := dict.fromkeys(found):
        raise ValueError("\n".join(sentences))


def _taken(family: Family) -> Iterator[str]:
    """A sentence for each name that is another family's already."""
    if other := _OF_CONFIG.get(family.config):
        yield f"{family.name}: {family.config.__name__} is the configuration of {other.name} already."
    own = {"family": [family.name], "class": [cls.name for cls in family.classes], "preset": [*family.presets]}
    known: dict[str, Collection[str]] = {"family": FAMILIES, "class": CLASSES, "preset": PRESETS}
    for kind, names in own.items():
        for name in names:
            if name in known[kind]:
                yield f"{family.name}: there is a {kind} {name} already."


def family_of(config: Config) -> Family:
    """The family of a configuration."""
    return _OF_CONFIG.get(type(config)) or next(_OF_CONFIG[kind] for kind in type(config).__mro__ if kind in _OF_CONFIG)


def class_of(architecture: str) -> Class:
    """The class with this name. Raises KeyError if there is none."""
    return _DECLARED[architecture]


def counterpart(architecture: str, family: Family) -> str:
    """The name of a family's class for the task of another class, or of its body's class if there is none."""
    return family.for_task(_DECLARED[architecture].task)


def output_names(architecture: str) -> tuple[str, ...]:
    """The outputs of a class, in order, without those returned only on request."""
    return _OUTPUTS[architecture]


def build(config: Config, architecture: str | None = None, *, add_pooling_layer: bool = True) -> Model:
    """The module tree of a Hugging Face class, for instance ``build(BertConfig(), "BertForMaskedLM")``.

    Without ``architecture``, the class of the body (BertModel). ``add_pooling_layer`` is an option of that class only;
    passing False to any other raises TypeError, as transformers does. Raises ValueError if the configuration's family
    has no class of this name, ConfigError if transformers does not build the class with this configuration.
    """
    family = family_of(config)
    if architecture is not None and CLASSES.get(architecture) is not family:
        names = ", ".join(cls.name for cls in family.classes)
        raise ValueError(f"architecture {architecture!r} is unknown: it must be one of {names}")
    cls = _DECLARED[architecture] if architecture is not None else family.base
    if problem := cls.unbuilt(config):
        raise ConfigError(problem)
    if cls.pooler_is_optional:
        return Model(family, cls, config, add_pooling_layer).declare()
    if not add_pooling_layer:
        only = f": only {family.base.name} has" if family.base.pooler else ""
        raise TypeError(f"{cls.name} has no option add_pooling_layer{only}")
    return Model(family, cls, config, cls.pooler).declare()


_NAMES = (
    *("bert", "roberta", "xlm_roberta", "camembert", "distilbert", "albert", "electra", "mpnet", "ernie"),
    *("modernbert", "gpt2", "deberta", "deberta_v2", "eurobert", "nomic_bert", "gte"),
)
for _name in _NAMES:
    register(import_module(f"{__name__}.{_name}").FAMILY)
