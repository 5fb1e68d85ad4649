"""Models written as text, so that a comparison fits into a link.

A comparison is a list of models separated by spaces. A model is its base, a preset or ``present`` (the model of the
sidebar), followed by its changes: ``bert-base-uncased~vocab_size-21128~architecture-BertForMaskedLM``. It has only
characters that browsers and Streamlit leave unescaped in an address.

>>> [item], wrong = read("bert-base-uncased~vocab_size-21128")
>>> item.subject().config.vocab_size, wrong
(21128, [])
>>> write([item, WrittenModel("present")])
'bert-base-uncased~vocab_size-21128 present'
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from bertcalc.config import ABSENT, Config, ConfigError, Problem, absent, check_field
from bertcalc.config.fields import OWN_FIELDS
from bertcalc.families import CLASSES, NO_PRESET, SHARED, class_of, family_of, preset_named
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.subject import Subject
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import whole
from bertcalc.text.arguments import checked, unknown
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.suggestions import nearest

PRESENT = "present"
MOST = 12  # models in a comparison
LONGEST = 8_000  # characters of a comparison: any server accepts addresses of this length
# All fields in which models can differ, in the order in which they are written and in which differences are explained:
# the ones that make a model large first. Fields that limit each other are neighbors.
FIELDS = (
    *("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size"),
    *("vocab_size", "pad_token_id", "max_position_embeddings", "type_vocab_size"),
    *("hidden_act", "position_embedding_type", "is_decoder", "add_cross_attention"),
    *("hidden_dropout_prob", "attention_probs_dropout_prob"),
    *("add_pooling_layer", "architecture", "tie_word_embeddings", "num_labels", "classifier_dropout"),
    *("layer_norm_eps", "initializer_range", "use_cache", "bos_token_id", "eos_token_id"),
    *OWN_FIELDS,
)
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


class WrittenModel(NamedTuple):
    """A model as it is written: its base, and the changed fields with their values."""

    base: str
    changes: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        own = PRESETS[self.base].config.own_name if self.base in PRESETS else str
        return "~".join([self.base, *(f"{own(field)}-{_written(value)}" for field, value in self.changes)])

    def subject(self, present: Subject | None = None) -> Subject:
        """The model.

        Raises ConfigError if it cannot be built, KeyError if its base is the present model and that is not given.
        """
        start = subject_of_preset(self.base) if present is None or self.base != PRESENT else present
        changes = dict(self.changes)
        if architecture := changes.get("architecture"):
            changes.setdefault("add_pooling_layer", class_of(architecture).pooler)
        return subject_of({**values_of(start), **changes})


class Wrong(NamedTuple):
    """A part of the text that is not a model, and the reason."""

    text: str
    problem: Problem


def write(items: Sequence[object]) -> str:
    """The text of a comparison."""
    return " ".join(map(str, items))


@checked
def read(text: str, present: type[Config] | None = None) -> tuple[list[WrittenModel], list[Wrong]]:
    """The models of a comparison without duplicates, and the problems in the rest of its text.

    Whether a model can be built is not checked, as the present model changes. ``present`` is its configuration class.
    """
    return read_with(text, partial(read_item, present=present))


Item = TypeVar("Item")


def read_with(text: str, read_one: Callable[[str], Item]) -> tuple[list[Item], list[Wrong]]:
    """``read`` with another function for each model, which raises InputError."""
    if (length := len(text)) > LONGEST:
        message = N_("a comparison has at most {most} characters, this has {length}.")
        return [], [Wrong(shorten(text), Problem.of(message, "models", length, most=LONGEST, length=length))]
    items: list[Item] = []
    refused = []
    parts = list(dict.fromkeys(text.split()))
    for part in parts[:MOST]:
        try:
            items.append(read_one(part))
        except InputError as error:
            refused.append(Wrong(shorten(part), error.problem))
    if parts[MOST:]:
        problem = Problem.of(N_("at most {most} models can be compared."), "models", text, most=MOST)
        refused.append(Wrong(shorten(" ".join(parts[MOST:])), problem))
    return items, refused


@checked
def item_of(subject: Subject, base: str | None = None) -> WrittenModel:
    """A model written as changes of the preset ``base``; by default of the preset with the fewest differences."""
    values = values_of(subject)

    def changes(preset: str) -> tuple[tuple[str, Any], ...]:
        start = values_of(subject_of_preset(preset))
        if subject.architecture != start["architecture"]:  # as in ``subject``: another class brings its own pooler
            start["add_pooling_layer"] = subject.cls.pooler
        found = (field for field in FIELDS if field in values and values[field] != start.get(field))
        # add_pooling_layer is an option of some classes only; the others fix it.
        return tuple(
            (field, values[field]) for field in found if field != "add_pooling_layer" or subject.cls.pooler_is_optional
        )

    own = [name for name, preset in PRESETS.items() if type(preset.config) is type(subject.config)]
    nearest = base or min(own, key=lambda preset: len(changes(preset)))
    return WrittenModel(nearest, changes(nearest))


@checked
def values_of(subject: Subject) -> dict[str, Any]:
    """The model's value of each of FIELDS, without the fields of other families."""
    pooler = subject.cls.pooler and subject.add_pooling_layer
    return {
        **absent(type(subject.config)),
        **subject.config.shared(),
        "architecture": subject.architecture,
        "add_pooling_layer": pooler,
    }


@checked
def subject_of_preset(name: str) -> Subject:
    """A preset in its family's base class, which has no head. Raises UnknownNameError if there is no such preset."""
    preset = preset_named(name)
    if preset is None:
        raise unknown(NO_PRESET, name, PRESETS)
    config = PRESETS[preset].config
    return Subject(config, family_of(config).base.name)


@checked
def subject_of(values: Mapping[str, Any]) -> Subject:
    """The model with these values, those of ``values_of``. Raises ConfigError if it cannot be built."""
    for name in ("architecture", "add_pooling_layer"):
        if name not in values:
            raise ConfigError(Problem.of(N_("{field} is missing."), name, None, field=name))
    architecture, pooler = values["architecture"], values["add_pooling_layer"]
    cls, family = class_of(architecture), CLASSES[architecture]
    config = {field: value for field, value in values.items() if family.config.has(field) or field in ABSENT}
    if not cls.pooler_is_optional and pooler != cls.pooler:
        message = N_("{architecture} has no option add_pooling_layer: only {base} has.")
        shown = {"architecture": architecture, "base": family.base.name}
        raise ConfigError(Problem.of(message, "add_pooling_layer", pooler, **shown))
    return Subject(family.config(**config), architecture, pooler or not cls.pooler_is_optional)


@checked
def read_item(text: str, present: type[Config] | None = None) -> WrittenModel:
    """One model. Raises InputError."""
    base, *assignments = text.split("~")
    base = preset_named(base) or base
    if base != PRESENT and base not in PRESETS:
        message = N_("there is no preset {name}: did you mean {nearest}?")
        raise InputError(_unknown("models", base, message, [PRESENT, *PRESETS]))
    kind = type(PRESETS[DEFAULT_PRESET if base == PRESENT else base].config)
    if base == PRESENT and present:
        kind = present
    parted = [assignment.partition("-") for assignment in assignments]
    for name, _dash, said in parted:
        if name == "architecture" and said in CLASSES:
            kind = CLASSES[said].config
    changes: dict[str, Any] = {}
    for name, dash, said in parted:
        # The same name can mean different fields in different families.
        field = kind.shared_name(name) if kind.has(name) else SHARED.get(name, name)
        if field not in FIELDS:
            message = N_("there is no field {name}: did you mean {nearest}?")
            raise InputError(_unknown(field, field, message, FIELDS))
        if not dash or field in changes:
            message = N_("write each field once, with a value: {field}-{value}.")
            like = values_of(subject_of_preset(DEFAULT_PRESET)).get(field, 1)
            raise wrong(message, field, said, field=field, value=_written(like))
        value = _value(said)
        if isinstance(value, float) and value.is_integer() and _check(kind, field, value):
            value = int(value)  # 1e5 where it is a size
        if problem := _check(kind, field, value):
            raise InputError(problem)
        changes[field] = value
    return WrittenModel(base, tuple((field, changes[field]) for field in FIELDS if field in changes))


def _check(kind: type[Config], field: str, value: Any) -> Problem | None:
    if field == "architecture":
        if value in CLASSES:
            return None
        return _unknown(field, str(value), N_("there is no architecture {name}: did you mean {nearest}?"), CLASSES)
    if field == "add_pooling_layer":
        # It is not a field of the configuration, but has the same type as use_cache.
        problem = check_field(kind, "use_cache", value)
        return problem and problem._replace(field=field, values={**problem.values, "field": field})
    return check_field(kind, field, value)


def _unknown(field: str, name: str, message: str, known: Sequence[str] | Mapping[str, object]) -> Problem:
    near = nearest(name.rpartition("/")[2], known, similarity=0.0)
    return Problem.of(message, field, name, name=shorten(name), nearest=near)


def _written(value: object) -> str:
    return next((text for text, constant in _CONSTANTS.items() if constant is value), str(value))


def _value(text: str) -> Any:
    """The value of a text: a constant, a float, an integer, or else the text itself."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if re.fullmatch(r"[0-9]{1,20}(?=[.e])(\.[0-9]{0,20})?(e[-+]?[0-9]{1,3})?", text):
        return float(text)
    return whole(text)
