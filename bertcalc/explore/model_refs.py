"""Read and write lists of models as text, so that a comparison fits into a link.

A comparison is a list of models separated by spaces. A model is a base, which is a preset or ``present`` (the model in
the sidebar), followed by changes: ``bert-base-uncased~vocab_size-21128~architecture-BertForMaskedLM``. Browsers and
Streamlit leave all characters unescaped in a URL, except those of steps, such as adapters, which are written as in
``bertcalc.change_steps.step_texts``: ``bert-base-uncased~changes-lora,r=16``. The present model has the steps of its
link; ``present~changes-none`` is the model without them.

>>> [item], wrong = read("bert-base-uncased~vocab_size-21128")
>>> item.model().config.vocab_size, wrong
(21128, [])
>>> write([item, ModelRef("present")])
'bert-base-uncased~vocab_size-21128 present'
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from bertcalc.change_steps.effects import ChangedModel, with_steps
from bertcalc.change_steps.step_texts import ChangeStep, read_steps
from bertcalc.change_steps.step_texts import written as written_steps
from bertcalc.config import ABSENT, Config, ConfigError, Problem, absent, check_field
from bertcalc.config.fields import OWN_FIELDS
from bertcalc.families import CLASSES, NO_PRESET, SHARED, class_of, family_of, preset_named
from bertcalc.families.presets import DEFAULT_PRESET, PRESETS
from bertcalc.model.model import Model
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import whole
from bertcalc.text.arguments import checked, unknown
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.suggestions import nearest

PRESENT = "present"
MOST = 12  # models in a comparison
LONGEST = 8_000  # characters of a comparison: any server accepts URLs of this length
# All fields in which models can differ, in the order in which they are written and differences are explained: the most
# important sizes first. Fields that constrain each other are next to each other.
FIELDS = (
    *("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size"),
    *("vocab_size", "pad_token_id", "max_position_embeddings", "type_vocab_size"),
    *("hidden_act", "position_embedding_type", "is_decoder", "add_cross_attention"),
    *("hidden_dropout_prob", "attention_probs_dropout_prob"),
    *("add_pooling_layer", "architecture", "tie_word_embeddings", "num_labels", "classifier_dropout"),
    *("layer_norm_eps", "initializer_range", "use_cache", "bos_token_id", "eos_token_id"),
    *OWN_FIELDS,
)
STEPS = "changes"  # the name of the steps among the changes of a model; their value is a tuple
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


class ModelRef(NamedTuple):
    """A model as text: its base, and the changed fields with their values, the steps last."""

    base: str
    changes: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        own_name = PRESETS[self.base].config.own_name if self.base in PRESETS else str
        return "~".join([self.base, *(f"{own_name(field)}-{_written(value)}" for field, value in self.changes)])

    @property
    def steps(self) -> tuple[ChangeStep, ...] | None:
        """The steps that the reference names; None if it takes those of the present model."""
        steps: tuple[ChangeStep, ...] | None = dict(self.changes).get(STEPS)
        return steps

    @property
    def has_steps_of_present(self) -> bool:
        """Whether the reference takes the present model's steps."""
        return self.base == PRESENT and self.steps is None

    def with_steps(self, steps: Sequence[ChangeStep]) -> "ModelRef":
        """The model with these steps instead of its own."""
        fields = tuple(change for change in self.changes if change[0] != STEPS)
        return self._replace(changes=(*fields, (STEPS, tuple(steps))) if steps or self.base == PRESENT else fields)

    def changed(self, present: Model | None = None, steps: Sequence[ChangeStep] = ()) -> ChangedModel:
        """The model with its steps; ``present`` is the present model without steps, ``steps`` are the present model's.

        Raises ConfigError if it cannot be built, InputError if a step is not possible, KeyError if its base is the
        present model but ``present`` is None.
        """
        start = model_of_preset(self.base) if present is None or self.base != PRESENT else present
        changes = {field: value for field, value in self.changes if field != STEPS}
        if architecture := changes.get("architecture"):
            changes.setdefault("add_pooling_layer", class_of(architecture).pooler)
        own = steps if self.has_steps_of_present else self.steps or ()
        return with_steps(model_of({**values_of(start), **changes}), own)

    def model(self, present: Model | None = None) -> Model:
        """The model of ``changed``, without its quantization, if any."""
        return self.changed(present).model


class Wrong(NamedTuple):
    """A part of the text that is not a model, and the reason."""

    text: str
    problem: Problem


def write(items: Sequence[object]) -> str:
    """Write a comparison as text."""
    return " ".join(map(str, items))


@checked
def read(text: str, present: type[Config] | None = None) -> tuple[list[ModelRef], list[Wrong]]:
    """Read the models of a comparison, without duplicates, and the problems with the rest of the text.

    Whether a model can be built is not checked, as the present model may change. ``present`` is the present model's
    configuration class.
    """
    return read_with(text, partial(read_item, present=present))


Item = TypeVar("Item")


def read_with(text: str, read_one: Callable[[str], Item]) -> tuple[list[Item], list[Wrong]]:
    """Like ``read``, with a function that reads one model or raises InputError."""
    if (length := len(text)) > LONGEST:
        message = N_("a comparison can have at most {most} characters, but this one has {length}.")
        return [], [Wrong(shorten(text), Problem.of(message, "models", length, most=LONGEST, length=length))]
    items: list[Item] = []
    refused = []
    parts = list(dict.fromkeys(_parts(text, read_one)))
    for part in parts[:MOST]:
        try:
            items.append(read_one(part))
        except InputError as error:
            refused.append(Wrong(shorten(part), error.problem))
    if parts[MOST:]:
        problem = Problem.of(N_("at most {most} models can be compared."), "models", text, most=MOST)
        refused.append(Wrong(shorten(" ".join(parts[MOST:])), problem))
    return items, refused


def _parts(text: str, read_one: Callable[[str], object]) -> list[str]:
    """The text of each model, with plus signs restored where a URL turned them into spaces."""
    parts: list[str] = []
    for part in text.split():
        more = _MORE.match(part) if parts and _VALUE.search(parts[-1]) else None
        if more and nearest(more[0], PRESETS) is None and not _is_read(part, read_one):
            parts[-1] += f"+{part}"
        else:
            parts.append(part)
    return parts


def _is_read(part: str, read_one: Callable[[str], object]) -> bool:
    try:
        read_one(part)
    except InputError:
        return False
    return True


# A model that ends in the value of a step, and what can follow after a plus sign: query, 3, or 0:1/2.
_VALUE, _MORE = re.compile(r"~changes-[^~]*=[^~,;]+$"), re.compile(r"[\w.]+(:[\w./]+)?(?=[~,;]|$)")


@checked
def item_of(model: Model, base: str | None = None) -> ModelRef:
    """Write a model as changes of the preset ``base``, by default of the preset with the fewest differences.

    >>> from bertcalc.changes.lora import Lora
    >>> print(item_of(model_of_preset("gpt2").changed(changes=(Lora(r=16),))))
    gpt2~changes-lora,r=16
    """
    values = values_of(model)

    def changes(preset: str) -> tuple[tuple[str, Any], ...]:
        start = values_of(model_of_preset(preset))
        if model.architecture != start["architecture"]:  # as in ``model``: a different class has its own pooler
            start["add_pooling_layer"] = model.cls.pooler
        differing = (field for field in FIELDS if field in values and values[field] != start.get(field))
        # add_pooling_layer is an option of only some classes; in the others it is fixed.
        return tuple(
            (field, values[field])
            for field in differing
            if field != "add_pooling_layer" or model.cls.pooler_is_optional
        )

    presets = [name for name, preset in PRESETS.items() if type(preset.config) is type(model.config)]
    nearest = base or min(presets, key=lambda preset: len(changes(preset)))
    return ModelRef(nearest, changes(nearest)).with_steps(model.changes)


@checked
def values_of(model: Model) -> dict[str, Any]:
    """The model's values of FIELDS, without the fields of other families."""
    pooler = model.cls.pooler and model.add_pooling_layer
    return {
        **absent(type(model.config)),
        **model.config.shared(),
        "architecture": model.architecture,
        "add_pooling_layer": pooler,
    }


@checked
def model_of_preset(name: str) -> Model:
    """A preset in its family's base class, without a head. Raises UnknownNameError if there is no such preset."""
    preset = preset_named(name)
    if preset is None:
        raise unknown(NO_PRESET, name, PRESETS)
    config = PRESETS[preset].config
    return Model(config, family_of(config).base.name)


@checked
def model_of(values: Mapping[str, Any]) -> Model:
    """The model with these values (see ``values_of``). Raises ConfigError if it cannot be built."""
    for name in ("architecture", "add_pooling_layer"):
        if name not in values:
            raise ConfigError(Problem.of(N_("{field} is missing."), name, None, field=name))
    architecture, pooler = values["architecture"], values["add_pooling_layer"]
    cls, family = class_of(architecture), CLASSES[architecture]
    config = {field: value for field, value in values.items() if family.config.has(field) or field in ABSENT}
    if not cls.pooler_is_optional and pooler != cls.pooler:
        message = N_("{architecture} does not have the option add_pooling_layer: only {base} does.")
        words = {"architecture": architecture, "base": family.base.name}
        raise ConfigError(Problem.of(message, "add_pooling_layer", pooler, **words))
    return Model(family.config(**config), architecture, pooler or not cls.pooler_is_optional)


@checked
def read_item(text: str, present: type[Config] | None = None) -> ModelRef:
    """Read one model. Raises InputError."""
    base, *assignments = text.split("~")
    base = preset_named(base) or base
    if base != PRESENT and base not in PRESETS:
        message = N_("there is no preset {name}: did you mean {nearest}?")
        raise InputError(_unknown("models", base, message, [PRESENT, *PRESETS]))
    kind = type(PRESETS[DEFAULT_PRESET if base == PRESENT else base].config)
    if base == PRESENT and present:
        kind = present
    parted = [assignment.partition("-") for assignment in assignments]
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
            value = int(value)  # 1e5 for a size
        if problem := _check(kind, field, value):
            raise InputError(problem)
        changes[field] = value
    return ModelRef(base, tuple((field, changes[field]) for field in (*FIELDS, STEPS) if field in changes))


def _check(kind: type[Config], field: str, value: Any) -> Problem | None:
    if field == "architecture":
        if value in CLASSES:
            return None
        own = [name for name, cls in CLASSES.items() if cls.config is kind]
        parts = [name for name in own if str(value).casefold() in name.casefold()]  # MaskedLM
        exact = [name for name in CLASSES if str(value).casefold() == name.casefold()]
        similar = own if nearest(str(value), own) else CLASSES if nearest(str(value), CLASSES) else parts or own
        options = exact or similar
        return _unknown(field, str(value), N_("there is no architecture {name}: did you mean {nearest}?"), options)
    if field == "add_pooling_layer":
        # Not a field of the configuration, but of the same type as use_cache.
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
    """Read a value: a constant, a float or an integer, otherwise the text itself."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if re.fullmatch(r"[0-9]{1,20}(?=[.e])(\.[0-9]{0,20})?(e[-+]?[0-9]{1,3})?", text):
        return float(text)
    return whole(text)
