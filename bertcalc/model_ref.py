"""Write a model as text, for links, lists of models and the command line, and read it back.

A text is a base, followed by changes: ``bert-base-uncased~vocab_size-21128~architecture-BertForMaskedLM``. The base is
a preset, ``present`` (the model in the sidebar), or a type and a class of transformers with a discovered formula:
``llama.LlamaForCausalLM~hidden_size-2048``. A comparison is a list of models separated by spaces.

Steps, such as adapters, are written as in ``bertcalc.change_steps.step_texts``:
``bert-base-uncased~changes-lora,r=16``. The notation has only characters that browsers and Streamlit leave unescaped in
a URL. The present model has the steps of its link; ``present~changes-none`` is the model without them. Fields from the
config.json of a discovered model are written as ``config-`` followed by their JSON in base64.

>>> [bert, llama], wrong = read("bert-base-uncased~vocab_size-21128 llama.LlamaForCausalLM~hidden_size-2048")
>>> bert.model().config.vocab_size, llama.cls, wrong
(21128, 'LlamaForCausalLM', [])
>>> write([bert, ModelRef("present")])
'bert-base-uncased~vocab_size-21128 present'
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from bertcalc.change_steps.effects import ChangedModel, with_steps
from bertcalc.change_steps.step_texts import ChangeStep, read_steps
from bertcalc.change_steps.step_texts import written as written_steps
from bertcalc.config import Config, Problem, check_field
from bertcalc.explore.model_values import FIELDS, STEPS, model_of, model_of_preset, values_of
from bertcalc.families import CLASSES, SHARED, class_of, preset_named
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.model import Model
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import whole
from bertcalc.text.arguments import checked
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.suggestions import nearest

PRESENT = "present"
MOST = 12  # the maximum number of models in a comparison
LONGEST = 8_000  # the maximum length of a comparison in characters: any server accepts URLs of this length
_CONFIG = "config"  # the name under which a text contains the fields of a config.json
_Assignment = tuple[str, str, str]  # name, dash, value
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
# _VALUE matches the end of a model's text if it is the value of a step. _MORE matches a text that can follow a plus
# sign in this value: query, 3, or 0:1/2.
_VALUE, _MORE = re.compile(r"~changes-[^~]*=[^~,;]+$"), re.compile(r"[\w.]+(:[\w./]+)?(?=[~,;]|$)")


class ModelRef(NamedTuple):
    """A reference to a model: its ``base``, and its ``changes`` as (field, value) pairs.

    Steps, such as adapters, are the value of the last pair. ``config`` is the JSON text of a config.json's fields; only
    a model with a discovered formula can have it.
    """

    base: str
    changes: tuple[tuple[str, Any], ...] = ()
    config: str = ""

    @classmethod
    def of_class(
        cls, model_type: str, name: str, sizes: Mapping[str, int] = MappingProxyType({}), config: str = ""
    ) -> "ModelRef":
        """A reference to a transformers class with a discovered formula; ``sizes`` are the changed sizes."""
        return cls(f"{model_type}.{name}", tuple((sizes or {}).items()), config)

    def __str__(self) -> str:
        own_name = PRESETS[self.base].config.own_name if self.base in PRESETS else str
        encoded = urlsafe_b64encode(self.config.encode()).decode().rstrip("=")
        changes = [(own_name(field), _written(value)) for field, value in self.changes]
        changes[:0] = [(_CONFIG, encoded)] if encoded else []
        return "~".join([self.base, *map("-".join, changes)])

    @property
    def is_discovered(self) -> bool:
        """Whether the model is a transformers class with a discovered formula."""
        return self.base != PRESENT and self.base not in PRESETS

    @property
    def model_type(self) -> str:
        """The model type of a discovered model, such as llama."""
        return self.base.rpartition(".")[0]

    @property
    def cls(self) -> str:
        """The class of a discovered model, such as LlamaForCausalLM."""
        return self.base.rpartition(".")[2]

    def fields(self) -> dict[str, Any]:
        """The config.json fields that the reference contains, keyed by name."""
        fields: dict[str, Any] = json.loads(self.config) if self.config else {}
        return fields

    @property
    def steps(self) -> tuple[ChangeStep, ...] | None:
        """The steps in the reference; None if it has none. ``present`` then has the steps of the present model."""
        steps: tuple[ChangeStep, ...] | None = dict(self.changes).get(STEPS)
        return steps

    @property
    def has_steps_of_present(self) -> bool:
        """Whether the reference uses the steps of the present model."""
        return self.base == PRESENT and self.steps is None

    def with_steps(self, steps: Sequence[ChangeStep]) -> "ModelRef":
        """A copy of the reference in which ``steps`` replace its own steps."""
        fields = tuple(change for change in self.changes if change[0] != STEPS)
        return self._replace(changes=(*fields, (STEPS, tuple(steps))) if steps or self.base == PRESENT else fields)

    def changed(self, present: Model | None = None, steps: Sequence[ChangeStep] = ()) -> ChangedModel:
        """Build the model and apply its steps; only for models of built-in families.

        ``present`` is the present model without steps, ``steps`` are the present model's steps. Raises ConfigError if
        the model cannot be built, InputError if a step is not possible, and UnknownNameError if the base is not a
        preset. The base "present" is valid only with the argument ``present``.
        """
        start = model_of_preset(self.base) if present is None or self.base != PRESENT else present
        changes = {field: value for field, value in self.changes if field != STEPS}
        if architecture := changes.get("architecture"):
            changes.setdefault("add_pooling_layer", class_of(architecture).pooler)
        own = steps if self.has_steps_of_present else self.steps or ()
        return with_steps(model_of({**values_of(start), **changes}) if changes else start, own)

    def model(self, present: Model | None = None) -> Model:
        """The model that ``changed`` returns, without any quantization; ``present`` is as in ``changed``."""
        return self.changed(present).model


class Wrong(NamedTuple):
    """A part of the text that does not describe a model, and the problem with it."""

    text: str
    problem: Problem


def write(items: Iterable[ModelRef]) -> str:
    """Write the models of a comparison as text, separated by spaces."""
    return " ".join(map(str, items))


@checked
def read(text: str, present: type[Config] | None = None) -> tuple[list[ModelRef], list[Wrong]]:
    """Read the models of a comparison, without duplicates, and the problems with the rest of the text.

    ``read`` does not check whether a model can be built, because the present model may change. ``present`` is the
    present model's configuration class.
    """
    if (length := len(text)) > LONGEST:
        message = N_("a comparison can have at most {most} characters, but this one has {length}.")
        return [], [Wrong(shorten(text), Problem.of(message, "models", length, most=LONGEST, length=length))]
    items: list[ModelRef] = []
    refused = []
    parts = list(dict.fromkeys(_parts(text)))
    for part in parts[:MOST]:
        try:
            items.append(read_item(part, present))
        except InputError as error:
            refused.append(Wrong(shorten(part), error.problem))
    if parts[MOST:]:
        problem = Problem.of(N_("at most {most} models can be compared."), "models", text, most=MOST)
        refused.append(Wrong(shorten(" ".join(parts[MOST:])), problem))
    return items, refused


def _parts(text: str) -> list[str]:
    """The text of each model; plus signs that a URL turned into spaces are restored."""
    parts: list[str] = []
    for part in text.split():
        more = _MORE.match(part) if parts and _VALUE.search(parts[-1]) else None
        if more and nearest(more[0], PRESETS) is None and not _is_read(part):
            parts[-1] += f"+{part}"
        else:
            parts.append(part)
    return parts


def _is_read(part: str) -> bool:
    try:
        read_item(part)
    except InputError:
        return False
    return True


@checked
def item_of(model: Model, base: str | None = None) -> ModelRef:
    """Return a reference that describes a model by its differences from the preset ``base``.

    By default, this is the preset with the fewest differences.

    >>> from bertcalc.changes.lora import Lora
    >>> print(item_of(model_of_preset("gpt2").changed(changes=(Lora(r=16),))))
    gpt2~changes-lora,r=16
    """
    values = values_of(model)

    def changes(preset: str) -> tuple[tuple[str, Any], ...]:
        start = values_of(model_of_preset(preset))
        if model.architecture != start["architecture"]:  # as in ``changed``, start from this class's default
            start["add_pooling_layer"] = model.cls.pooler
        differing = (field for field in FIELDS if field in values and values[field] != start.get(field))
        # add_pooling_layer is an option of only some classes. The other classes have a fixed value, which is left out.
        return tuple(
            (field, values[field])
            for field in differing
            if field != "add_pooling_layer" or model.cls.pooler_is_optional
        )

    presets = [name for name, preset in PRESETS.items() if type(preset.config) is type(model.config)]
    nearest = base or min(presets, key=lambda preset: len(changes(preset)))
    return ModelRef(nearest, changes(nearest)).with_steps(model.changes)


@checked
def read_item(text: str, present: type[Config] | None = None) -> ModelRef:
    """Read the text of a single model; ``present`` is as in ``read``. Raises InputError if the text is invalid."""
    base, *assignments = text.split("~")
    parted = [assignment.partition("-") for assignment in assignments]
    base = preset_named(base) or base
    if base == PRESENT or base in PRESETS:
        preset = type(PRESETS[DEFAULT_PRESET if base == PRESENT else base].config)
        return ModelRef(base, _built_in_changes(parted, present if base == PRESENT and present else preset))
    return _read_class(base, parted)


def _read_class(base: str, parted: Sequence[_Assignment]) -> ModelRef:
    """Read a transformers class and its sizes, which are not checked. Raises InputError if there is no such class."""
    from bertcalc.discover.results.config_input import json_of, read_fields
    from bertcalc.discover.results.size_steps import read_sizes
    from bertcalc.discover.results.types import types

    model_type, _dot, cls = base.rpartition(".")
    if model_type not in types():
        message = N_("there is no preset {name}: did you mean {nearest}?")
        raise InputError(_unknown("models", base, message, [PRESENT, *PRESETS]))
    if cls not in types()[model_type]:
        near = nearest(cls, types()[model_type], similarity=0.0)
        message = N_("there is no architecture {name}: did you mean {nearest}?")
        raise wrong(message, "architecture", cls, name=shorten(cls), nearest=near)
    encoded = next((value for name, _dash, value in parted if name == _CONFIG), "")
    try:
        config = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        raise wrong(N_("the config.json in the link cannot be read.")) from None
    fields = read_fields(config) if config else {}
    sizes = read_sizes("~".join("".join(parts) for parts in parted if parts[0] != _CONFIG))
    return ModelRef.of_class(model_type, cls, sizes, json_of(fields))


def _built_in_changes(parted: Sequence[_Assignment], kind: type[Config]) -> tuple[tuple[str, Any], ...]:
    """Read the changes of a built-in model, in the order of FIELDS; ``kind`` is its configuration class."""
    for name, _dash, value_text in parted:
        if name == "architecture" and value_text in CLASSES:
            kind = CLASSES[value_text].config
    changes: dict[str, Any] = {}
    for name, dash, value_text in parted:
        # The same name can mean different fields in different families.
        field = kind.shared_name(name) if kind.has(name) else SHARED.get(name, name)
        if field not in (*FIELDS, STEPS):
            message = N_("there is no field {name}: did you mean {nearest}?")
            if nearest(field, FIELDS) is None:
                message = N_("there is no field {name}.")
            raise InputError(_unknown(field, field, message, FIELDS))
        if not dash or field in changes:
            message = N_("write each field once, with a value: {field}-{value}.")
            like = {**values_of(model_of_preset(DEFAULT_PRESET)), STEPS: "lora,r=8"}.get(field, 1)
            raise wrong(message, field, value_text, field=field, value=_written(like))
        if field == STEPS:
            changes[STEPS] = () if value_text == _written(None) else read_steps(value_text)
            continue
        value = _value(value_text)
        if isinstance(value, float) and value.is_integer() and _check(kind, field, value):
            value = int(value)  # a size may be written as 1e5
        if problem := _check(kind, field, value):
            raise InputError(problem)
        changes[field] = value
    return tuple((field, changes[field]) for field in (*FIELDS, STEPS) if field in changes)


def _check(kind: type[Config], field: str, value: Any) -> Problem | None:
    if field == "architecture":
        if value in CLASSES:
            return None
        own = [name for name, cls in CLASSES.items() if cls.config is kind]
        parts = [name for name in own if str(value).casefold() in name.casefold()]  # for a value such as MaskedLM
        exact = [name for name in CLASSES if str(value).casefold() == name.casefold()]
        similar = own if nearest(str(value), own) else CLASSES if nearest(str(value), CLASSES) else parts or own
        options = exact or similar
        return _unknown(field, str(value), N_("there is no architecture {name}: did you mean {nearest}?"), options)
    if field == "add_pooling_layer":
        # The configuration has no such field, so the check is for use_cache, which has the same type.
        problem = check_field(kind, "use_cache", value)
        return problem and problem._replace(field=field, values={**problem.values, "field": field})
    return check_field(kind, field, value)


def _unknown(field: str, name: str, message: str, options: Sequence[str] | Mapping[str, object]) -> Problem:
    near = nearest(name.rpartition("/")[2], options, similarity=0.0)
    return Problem.of(message, field, name, name=shorten(name), nearest=near)


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return written_steps(value) or _written(None)
    return next((text for text, constant in _CONSTANTS.items() if constant is value), str(value))


def _value(text: str) -> Any:
    """Read a constant such as true, a float or an integer. Any other text is returned unchanged."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if re.fullmatch(r"[0-9]{1,20}(?=[.e])(\.[0-9]{0,20})?(e[-+]?[0-9]{1,3})?", text):
        return float(text)
    return whole(text)
