"""The registry of families, classes and presets, and ``build``. The files of bertcalc/families register themselves."""

import copyreg
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from bertcalc.config import Config, ConfigError
from bertcalc.model.family import Class, Family, Model, Preset
from bertcalc.model.trace import Sizes
from bertcalc.text import N_
from bertcalc.text.arguments import ArgumentError, checked, unknown, wrong_kind
from bertcalc.text.problem import Problem

FAMILIES: dict[str, Family] = {}
CLASSES: dict[str, Family] = {}  # by the name of each class
PRESETS: dict[str, Preset] = {}  # of all families
SHARED: dict[str, str] = {}  # a family's own name of a field: its shared name
_PRESET_NAMED: dict[str, str] = {}  # by every name of it, in lower case
_OF_CONFIG: dict[type[Config], Family] = {}
_DECLARED: dict[str, Class] = {}


def register(family: Family) -> None:
    """Register a family and its classes. Raises ValueError if a name is taken.

    It is not run: ``bertcalc.completeness.missing_parts`` says whether it is complete.
    """
    if taken := [*_taken(family)]:
        raise ValueError("\n".join(taken))
    FAMILIES[family.name] = _OF_CONFIG[family.config] = family
    PRESETS.update(family.presets)
    for name, preset in family.presets.items():
        _PRESET_NAMED[name.casefold()] = name
        for known in _hub_names(name, preset):
            _PRESET_NAMED.setdefault(known.casefold(), name)
    SHARED.update({own: shared for shared, own in family.config.attribute_map.items()})
    for cls in family.classes:
        CLASSES[cls.name] = family
        _DECLARED[cls.name] = cls


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
    for kind in type(config).__mro__:
        if family := _OF_CONFIG.get(kind):
            return family
    raise wrong_kind("config", config, N_("a configuration, such as BertConfig()"))


def class_of(architecture: str) -> Class:
    """The class with this name. Raises UnknownNameError, which is a KeyError as well, if there is none."""
    try:
        return _DECLARED[architecture]
    except (KeyError, TypeError):  # TypeError: a list cannot be a key
        raise unknown(NO_CLASS, architecture, _DECLARED) from None


NO_CLASS = (
    N_("architecture {name} is unknown: did you mean {nearest}?"),
    N_("architecture {name} is unknown: it must be one of {options}."),
)


@checked
def preset_named(name: str) -> str | None:
    """Return the preset that is meant by its own name or by a name on the Hub, in any case; None if there is none.

    >>> preset_named("BERT-base-uncased"), preset_named("FacebookAI/roberta-base"), preset_named("nobody/roberta-base")
    ('bert-base-uncased', 'roberta-base', None)
    """
    plain = name.strip().removeprefix("https://huggingface.co/").rstrip("/").casefold()
    return _PRESET_NAMED.get(plain)


def _hub_names(name: str, preset: Preset) -> Iterator[str]:
    """The names of a preset's repository on the Hub; most presets have that of their source."""
    _before, hub, repository = preset.source.url.partition("https://huggingface.co/")
    if not hub:
        repository = f"{'google' if name.startswith('bert_uncased_') else 'google-bert'}/{name}"
    yield repository
    yield repository.rpartition("/")[2]


@checked
def counterpart(architecture: str, family: Family) -> str:
    """The name of a family's class for the task of another class, or of its body's class if there is none."""
    return family.for_task(class_of(architecture).task)


@cache
def output_names(architecture: str) -> tuple[str, ...]:
    """The outputs of a class, in order, without those returned only on request."""
    cls, family = class_of(architecture), CLASSES[architecture]
    steps = Model(family, cls, family.config.default(), cls.pooler).declare().run(Sizes())
    return tuple(step.output for step in steps if step.output)


@checked
def build(config: Config | str, architecture: str | None = None, *, add_pooling_layer: bool = True) -> Model:
    """The module tree of a Hugging Face class, for instance ``build(BertConfig(), "BertForMaskedLM")``.

    ``config`` can also be the name of a preset: "bert-base-uncased", or "FacebookAI/roberta-base". Without
    ``architecture``, the class is that of the body (BertModel). ``add_pooling_layer`` is an option of that class only;
    passing False to any other raises ArgumentError, which is a TypeError, as transformers does. Raises InputError if
    there is no such preset, or if the configuration's family has no class of this name, and ConfigError if transformers
    does not build the class with this configuration.
    """
    if isinstance(config, str):
        preset = preset_named(config)
        if preset is None:
            raise unknown(NO_PRESET, config, PRESETS)
        config = PRESETS[preset].config
    family = family_of(config)
    names = [cls.name for cls in family.classes]
    if architecture is not None and architecture not in names:
        raise unknown(_NOT_OF_FAMILY, architecture, names, config=type(config).__name__)
    cls = _DECLARED[architecture] if architecture is not None else family.base
    if problem := cls.unbuilt(config):
        raise ConfigError(problem)
    if cls.pooler_is_optional:
        return Model(family, cls, config, add_pooling_layer).declare()
    if not add_pooling_layer:
        message = N_("{architecture} has no option add_pooling_layer: only {base} has.")
        if not family.base.pooler:
            message = N_("{architecture} has no option add_pooling_layer.")
        shown = {"architecture": cls.name, "base": family.base.name}
        raise ArgumentError(Problem("add_pooling_layer", add_pooling_layer, message, shown))
    return Model(family, cls, config, cls.pooler).declare()


NO_PRESET = (
    N_("There is no preset {name}: did you mean {nearest}?"),
    N_("There is no preset {name}: it must be one of {options}."),
)
_NOT_OF_FAMILY = (
    N_("architecture {name} is unknown: did you mean {nearest}? For {config} it must be one of {options}."),
    N_("architecture {name} is unknown: for {config} it must be one of {options}."),
)


def _family_named(name: str) -> Family:
    return FAMILIES[name]


def _by_name(thing: Any) -> Any:
    """How pickle and copy write a family or a class: by its name, unless it is not registered."""
    name = thing.name
    if thing is FAMILIES.get(name):
        return _family_named, (name,)
    if thing is _DECLARED.get(name):
        return class_of, (name,)
    return object.__reduce_ex__(thing, 4)


copyreg.pickle(Family, _by_name)
copyreg.pickle(Class, _by_name)
