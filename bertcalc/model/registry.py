"""The registry of families, classes and presets. The files of bertcalc/families register themselves."""

import copyreg
from collections.abc import Collection, Iterator
from typing import Any

from bertcalc.config import Config
from bertcalc.model.family import Class, Family, Preset
from bertcalc.text import N_
from bertcalc.text.arguments import checked, unknown, wrong_kind

FAMILIES: dict[str, Family] = {}
CLASSES: dict[str, Family] = {}  # keyed by class name
PRESETS: dict[str, Preset] = {}  # the presets of all families
SHARED: dict[str, str] = {}  # maps each family's own field names to the shared names
_PRESET_NAMED: dict[str, str] = {}  # maps all names of a preset, in lower case, to its name in PRESETS
_OF_CONFIG: dict[type[Config], Family] = {}
_DECLARED: dict[str, Class] = {}
_NO_CLASS = (
    N_("architecture {name} is unknown: did you mean {nearest}?"),
    N_("architecture {name} is unknown: it must be one of {options}."),
)


def register(family: Family) -> None:
    """Register a family, its classes and its presets. Raises ValueError if a name or configuration class is taken.

    The family is not run; ``bertcalc.completeness.missing_parts`` checks whether it is complete.
    """
    if taken := [*_taken(family)]:
        raise ValueError("\n".join(taken))
    FAMILIES[family.name] = _OF_CONFIG[family.config] = family
    PRESETS.update(family.presets)
    for name, preset in family.presets.items():
        _PRESET_NAMED[name.casefold()] = name
        for hub_name in _hub_names(name, preset):
            _PRESET_NAMED.setdefault(hub_name.casefold(), name)
    SHARED.update({own_name: shared for shared, own_name in family.config.attribute_map.items()})
    for cls in family.classes:
        CLASSES[cls.name] = family
        _DECLARED[cls.name] = cls


def _taken(family: Family) -> Iterator[str]:
    """Yield an error message for the configuration class and for each name, if another family already has it."""
    if other := _OF_CONFIG.get(family.config):
        yield f"{family.name}: {family.config.__name__} is the configuration of {other.name} already."
    declared = {"family": [family.name], "class": [cls.name for cls in family.classes], "preset": [*family.presets]}
    registered: dict[str, Collection[str]] = {"family": FAMILIES, "class": CLASSES, "preset": PRESETS}
    for kind, names in declared.items():
        for name in names:
            if name in registered[kind]:
                yield f"{family.name}: there is a {kind} {name} already."


def family_of(config: Config) -> Family:
    """The family that a configuration belongs to. Raises ArgumentError if it belongs to none."""
    for kind in type(config).__mro__:
        if family := _OF_CONFIG.get(kind):
            return family
    raise wrong_kind("config", config, N_("a configuration, such as BertConfig()"))


def class_of(architecture: str) -> Class:
    """The class with this name. Raises UnknownNameError, which is also a KeyError, if there is none."""
    try:
        return _DECLARED[architecture]
    except (KeyError, TypeError):  # TypeError: a list cannot be a key
        raise unknown(_NO_CLASS, architecture, _DECLARED) from None


@checked
def preset_named(name: str) -> str | None:
    """Return the name of the preset with this name or Hub repository, ignoring case; None if there is none.

    >>> preset_named("BERT-base-uncased"), preset_named("FacebookAI/roberta-base"), preset_named("nobody/roberta-base")
    ('bert-base-uncased', 'roberta-base', None)
    """
    plain = name.strip().removeprefix("https://huggingface.co/").rstrip("/").casefold()
    return _PRESET_NAMED.get(plain)


def _hub_names(name: str, preset: Preset) -> Iterator[str]:
    """Yield the names of a preset's Hub repository, with and without owner; usually, they are from the source's URL."""
    _before, hub, repository = preset.source.url.partition("https://huggingface.co/")
    if not hub:
        repository = f"{'google' if name.startswith('bert_uncased_') else 'google-bert'}/{name}"
    yield repository
    yield repository.rpartition("/")[2]


@checked
def counterpart(architecture: str, family: Family) -> str:
    """The name of a family's class for the same task as ``architecture``, or of its body's class if there is none."""
    return family.for_task(class_of(architecture).task)


def _family_named(name: str) -> Family:
    return FAMILIES[name]


def _by_name(entry: Any) -> Any:
    """Reduce a registered family or class to its name, for pickle and copy; other entries are reduced as usual."""
    name = entry.name
    if entry is FAMILIES.get(name):
        return _family_named, (name,)
    if entry is _DECLARED.get(name):
        return class_of, (name,)
    return object.__reduce_ex__(entry, 4)


copyreg.pickle(Family, _by_name)
copyreg.pickle(Class, _by_name)
