"""The model that a session has chosen, and its link.

>>> ChosenModel().changed({"num_hidden_layers": 24}).link()
{'num_hidden_layers': '24'}
>>> model, problems = read({"num_hidden_layers": "24"})
>>> model.config.num_hidden_layers
24
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from bertcalc.config import ABSENT, POSITION_EMBEDDING_TYPES, Config, ConfigError, Problem, check_field
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.config.fields import OWN_LETTERS
from bertcalc.controls.stops import LOCKS, SLIDERS, Locks, moved
from bertcalc.families import CLASSES, SHARED, class_of, counterpart, family_of
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS, preset_named
from bertcalc.model.model import Model, config_of_class
from bertcalc.text.amounts import whole

# The fields that can be changed without a slider, grouped by the type of their values.
NUMBERS = ("max_position_embeddings", "type_vocab_size", "num_labels", *OWN_LETTERS)
SWITCHES = ("tie_word_embeddings", "is_decoder", "add_cross_attention")
OPTIONS: dict[str, tuple[str, ...]] = {
    "position_embedding_type": POSITION_EMBEDDING_TYPES,
    "hidden_act": tuple(ACTIVATIONS),
}
DECIMALS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps")
FIELDS = (*SLIDERS, *NUMBERS, *SWITCHES, *OPTIONS, *DECIMALS)
_LOCKS = {f"lock_{name}": name for name in Locks._fields}
# The parameters of a link that describe the model.
NAMES = ("preset", "architecture", "add_pooling_layer", *_LOCKS, *FIELDS, *SHARED, "changes")


class ChosenModel(NamedTuple):
    """A configuration with the preset that it started from, its class, and the locks of its sliders.

    ``changes`` is the text of the steps on the Change page. It may be invalid; bertcalc.change_steps parses it.
    """

    preset: str = DEFAULT_PRESET
    config: Config = PRESETS[DEFAULT_PRESET].config
    architecture: str = family_of(PRESETS[DEFAULT_PRESET].config).base.name
    add_pooling_layer: bool = True
    locks: Locks = LOCKS
    changes: str = ""

    def model(self, architecture: str = "") -> Model:
        """The model in the class ``architecture``, by default the chosen class."""
        architecture = architecture or self.architecture
        return Model(config_of_class(self.config, architecture), architecture, self.add_pooling_layer)

    def values(self) -> dict[str, Any]:
        """All values that can be changed, keyed by their names in a link."""
        config = {field: getattr(self.config, field) for field in _fields_of(type(self.config))}
        locks = {name: getattr(self.locks, lock) for name, lock in _LOCKS.items()}
        return {
            "preset": self.preset,
            "architecture": self.architecture,
            "add_pooling_layer": self.add_pooling_layer,
            **locks,
            **config,
            "changes": self.changes,
        }

    def changed(self, values: Mapping[str, Any]) -> "ChosenModel":
        """Return the model with some values changed; a class of another family starts from that family's first preset.

        Raises ConfigError if the values are not valid together.
        """
        family = CLASSES.get(values.get("architecture", ""), family_of(self.config))
        if family is not family_of(self.config):
            return self.reset(next(iter(family.presets))).changed(values)
        config = {field: value for field, value in values.items() if field in FIELDS}
        locks = {lock: values[name] for name, lock in _LOCKS.items() if name in values}
        rest = {name: value for name, value in values.items() if name in ChosenModel._fields}
        changed = self._replace(config=replace(self.config, **config), locks=self.locks._replace(**locks), **rest)
        if problem := class_of(changed.architecture).unbuilt(changed.config):
            raise ConfigError(problem)
        return changed

    def reset(self, preset: str | None = None) -> "ChosenModel":
        """Return the model of a preset (by default the current one), in the current class or its counterpart."""
        name = preset or self.preset
        config = PRESETS[name].config
        like = counterpart(self.architecture, family_of(config))
        return self._replace(preset=name, config=config, architecture=like, add_pooling_layer=True)

    def link(self, meant: str = DEFAULT_PRESET) -> dict[str, str]:
        """The parameters of the link: the preset and the values that differ from it, under the family's names.

        A link that names no preset starts from ``meant``, so this preset is left out.
        """
        start = _values_of(self.preset)
        differing = {name: value for name, value in self.values().items() if value != start[name]}
        if self.preset != meant:
            differing = {"preset": self.preset, **differing}
        own_name = self.config.own_name
        return {
            own_name(name): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in differing.items()
        }


@cache
def _fields_of(kind: type[Config]) -> tuple[str, ...]:
    return tuple(filter(kind.has, FIELDS))


@cache
def _values_of(preset: str) -> Mapping[str, Any]:
    return ChosenModel().reset(preset).values()


def read(link: Mapping[str, str], meant: str = DEFAULT_PRESET) -> tuple[ChosenModel, list[Problem]]:
    """Return (model, problems): the model that a link describes, or the nearest valid one, and the link's problems.

    Values of the wrong type are ignored. A link without a preset starts from ``meant``, or from the first preset of its
    class's family if that is a different family. A field's shared name takes precedence over the family's name, as in a
    configuration. A field that the family does not have is a problem, except with the value that all models of the
    family implicitly have.
    """
    link = {**{SHARED[name]: text for name, text in link.items() if name in SHARED}, **link}
    architecture = link.get("architecture", "")
    start = meant
    if architecture in CLASSES and CLASSES[architecture] is not family_of(PRESETS[meant].config):
        start = next(iter(CLASSES[architecture].presets))
    model = ChosenModel().reset(preset_named(link.get("preset", start)) or start)
    values = {name: value for name, value in _read(link, model.values()) if name != "preset"}
    if architecture in CLASSES and CLASSES[architecture] is not family_of(model.config):
        values["architecture"] = counterpart(architecture, family_of(model.config))
    elif architecture not in CLASSES:
        values.pop("architecture", None)
    refused = list(_of_other_families(link, type(model.config)))
    while True:
        try:
            return model.changed(values), refused
        except ConfigError as error:
            problem = in_reach(_as_moved(model.config, values, error.problem))
            refused.append(problem if problem.remedies else problem._replace(remedies=(_back(model, values),)))
            values |= refused[-1].remedies[0]


def _of_other_families(link: Mapping[str, str], kind: type[Config]) -> Iterator[Problem]:
    """The problems with a link's fields that a family does not have, worded as for a config.json where possible."""
    lacking = {field: ABSENT.get(field, 1) for field in FIELDS if not kind.has(field)}
    for field, value in _read(link, lacking):
        if problem := check_field(kind, field, value):
            yield next(kind.refused({field: value}), problem)


def _back(model: ChosenModel, values: Mapping[str, Any]) -> dict[str, Any]:
    """The last remedy: the preset's hidden_size and heads or, if neither differs, its values of all changed fields."""
    start = model.values()
    differ = {name: start[name] for name, value in values.items() if name in FIELDS and value != start[name]}
    return {name: differ[name] for name in ("hidden_size", "num_attention_heads") if name in differ} or differ


def in_reach(problem: Problem) -> Problem:
    """The problem with only the remedies that a link can express; for example, a link has no pad_token_id."""
    return problem._replace(remedies=tuple(remedy for remedy in problem.remedies if remedy.keys() <= set(NAMES)))


def _as_moved(start: Config, values: Mapping[str, Any], problem: Problem) -> Problem:
    """Give the problem a typed value's remedies if the link has only hidden_size or only num_attention_heads.

    Other problems are returned unchanged.
    """
    linked = [field for field in ("hidden_size", "num_attention_heads") if field in values]
    if problem.field != "hidden_size" or len(linked) != 1:
        return problem
    try:
        followed = moved(start, linked[0], values[linked[0]])
    except ConfigError as error:
        return problem if linked == ["hidden_size"] else error.problem
    follows = {"num_attention_heads": followed.num_attention_heads}
    return problem._replace(remedies=(follows, *(remedy for remedy in problem.remedies if remedy != follows)))


def _read(link: Mapping[str, str], defaults: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, default in defaults.items():
        if name not in link:
            continue
        text = link[name]
        if isinstance(default, bool):
            if text.lower() in ("true", "false"):
                yield name, text.lower() == "true"
        elif not isinstance(default, str) or name not in OPTIONS or text in OPTIONS[name]:
            with suppress(ValueError):
                value = whole(text) if isinstance(default, int) else text
                yield name, type(default)(value)
