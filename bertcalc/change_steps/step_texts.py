"""Steps as text, for links and the command line: ``lora,r=16,target_modules=query+value;bitfit``.

Semicolons separate steps, and commas separate their arguments. Arguments with default values are left out. Plus signs
separate the members of a list. A list with a single name ends with a plus sign, because a single name may be a pattern.
A dictionary is a list of ``key:value`` pairs, where slashes separate the members of a value. Other special characters
are percent-encoded. The annotation of an argument decides how its text is parsed.

>>> written([Lora(r=16, target_modules=["query", "value"])])
'lora,r=16,target_modules=query+value'
>>> read_steps("lora,r=16,target_modules=query+value") == (Lora(r=16, target_modules=["query", "value"]),)
True
"""

import re
import types
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints
from urllib.parse import quote, unquote

from bertcalc.changes.bitfit import BitFit
from bertcalc.changes.factorized import FactorizeEmbeddings
from bertcalc.changes.feed_forward import NarrowFeedForward
from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.layers import DropLayers
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.changes.vocabulary import ResizeVocabulary
from bertcalc.model.change import Change
from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
from bertcalc.storage.documented_formats import AwqConfig, GPTQConfig
from bertcalc.storage.gguf_format import Gguf
from bertcalc.storage.onnx_format import OnnxQuantizeDynamic
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.torch_dynamic_format import TorchQuantizeDynamic
from bertcalc.storage.torchao_format import Int8WeightOnlyConfig, IntxWeightOnlyConfig
from bertcalc.text import N_
from bertcalc.text.arguments import quoted, unknown
from bertcalc.text.patterns import check_quick_patterns
from bertcalc.text.problem import InputError, wrong
from bertcalc.text.records import arguments, default
from bertcalc.text.suggestions import nearest

ChangeStep = Change | QuantizationFormat

KINDS: dict[str, type[ChangeStep]] = {
    "vocabulary": ResizeVocabulary,
    "layers": DropLayers,
    "heads": PruneHeads,
    "feed_forward": NarrowFeedForward,
    "embeddings": FactorizeEmbeddings,
    "bitsandbytes": BitsAndBytesConfig,
    "torchao_int8": Int8WeightOnlyConfig,
    "torchao_intx": IntxWeightOnlyConfig,
    "torch_dynamic": TorchQuantizeDynamic,
    "onnx_dynamic": OnnxQuantizeDynamic,
    "gguf": Gguf,
    "gptq": GPTQConfig,
    "awq": AwqConfig,
    "lora": Lora,
    "ia3": IA3,
    "prompt_tuning": PromptTuning,
    "prefix_tuning": PrefixTuning,
    "p_tuning": PromptEncoder,
    "ln_tuning": LNTuning,
    "bitfit": BitFit,
}
# Maps other common names of arguments to peft's or transformers' names.
_SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("rank", "lora_rank", "lora_r"), "r"),
    "alpha": "lora_alpha",
    "dropout": "lora_dropout",
    **dict.fromkeys(("targets", "target", "modules", "lora_target"), "target_modules"),
    **dict.fromkeys(("vocab_size", "tokens"), "new_num_tokens"),
    "virtual_tokens": "num_virtual_tokens",
}
_NO_KIND = (
    N_("There is no step {name}: did you mean {nearest}?"),
    N_("There is no step {name}: it must be one of {options}."),
)
_NO_ARGUMENT = (
    N_("{kind} has no argument {name}: did you mean {nearest}?"),
    N_("{kind} has no argument {name}: it must be one of {options}."),
)
_NO_VALUE = N_("{text} is not an argument of a step: write a name and a value, such as r=8.")
_NEEDED = N_("The step {kind} needs a value: write it as {kind},{name}=...")
_EMPTY = N_("The step {kind} has an extra comma: write it as lora,r=8.")
_TWICE = N_("{kind} has {name} twice: remove one of them.")
_WHOLE, _DECIMAL = re.compile(r"-?[0-9]{1,15}"), re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?(e-?[0-9]{1,2})?")
_NAMES = re.compile(r"[A-Za-z0-9_.]+(?:[,+ ]+[A-Za-z0-9_.]+)*[,+ ]*")
_CONSTANTS: Mapping[str, object] = {"true": True, "false": False}
_SAFE = "_.*-()|\\[]^$"


def written(steps: Iterable[ChangeStep]) -> str:
    """Write steps as a text that ``read_steps`` can parse."""
    return ";".join(
        ",".join((kind_of(step), *(f"{name}={text}" for name, text in argument_texts(step).items()))) for step in steps
    )


def argument_texts(step: ChangeStep, always: Collection[str] = ()) -> dict[str, str]:
    """Map the names of a step's arguments to their values as text.

    Arguments with default values are left out unless ``always`` names them.
    """
    return {name: _value(value) for name, value in arguments(step, always).items()}


def with_argument(step: ChangeStep, name: str, text: str) -> ChangeStep:
    """Return a copy of a step with an argument that the user typed; an empty text stands for the default.

    A list is typed as one name, or as several names separated by commas. If two flags exclude each other, setting one
    flag changes the other. Raises InputError for a wrong value.

    >>> with_argument(Lora(), "target_modules", "query, value").target_modules
    ('query', 'value')
    """
    kind, record = type(step), cast(Any, step)
    value = next(default(part) for part in fields(record) if part.name == name)
    if text:
        hint = get_type_hints(kind)[name]
        if text != "all-linear" and _list_of(hint) and _NAMES.fullmatch(text):
            text = "+".join(re.findall(r"[^,+ ]+", text)) + "+"
        value = _read(text, hint)
        check_quick_patterns(name, value)
    if value is MISSING:
        raise wrong(_NEEDED, name, None, kind=kind_of(step), name=name)
    flags: tuple[str, ...] = getattr(kind, "one_of", ())
    others = {other: not value for other in flags if name in flags and other != name}
    changed: ChangeStep = replace(record, **{name: value}, **others)
    return changed


def kind_of(step: ChangeStep) -> str:
    """Return the name of a step's kind.

    >>> kind_of(Lora())
    'lora'
    """
    return next(name for name, kind in KINDS.items() if type(step) is kind)


def _quoted(value: object) -> str:
    """Percent-encode a value for a link, including "~", which separates changes in ``bertcalc.model_ref``."""
    return quote(str(value), _SAFE).replace("~", "%7E")


def _value(value: object, between: str = "+") -> str:
    if isinstance(value, Mapping):
        return "+".join(f"{_quoted(key)}:{_value(part, '/')}" for key, part in value.items())
    if isinstance(value, (tuple, list)):
        return between.join(map(_value, value)) + between * (len(value) < 2)
    if is_dataclass(value):  # a granularity, which has a single field
        return _value(getattr(value, fields(value)[0].name))
    return str(value).lower() if isinstance(value, bool) else _quoted(value)


def without_spaces(text: str) -> str:
    """Remove the spaces around commas and semicolons in steps that the user typed.

    >>> without_spaces("layers, layers=3+4; lora")
    'layers,layers=3+4;lora'
    """
    return re.sub(r"\s*([,;])\s*", r"\1", text.strip())


def read_steps(text: str) -> tuple[ChangeStep, ...]:
    """Parse steps that are written as text. Raises InputError if a part of the text is wrong.

    Each step is checked separately. Only building a model shows whether the steps suit it. Arguments have the names
    that peft and transformers use. Short names such as ``rank``, ``alpha``, ``dropout`` and ``targets`` are also
    accepted.

    >>> written(read_steps("lora,rank=16,alpha=32"))
    'lora,r=16,lora_alpha=32'
    """
    return tuple(_step(step) for step in text.split(";") if step.strip())


def _step(text: str) -> ChangeStep:
    name, *rest = (part.strip() for part in text.split(","))
    if name not in KINDS:
        if nearest(name, KINDS) is None:
            raise wrong(_NO_KIND[1], "changes", name, name=quoted(name), options=", ".join(KINDS))
        raise unknown(_NO_KIND, name, KINDS)
    kind: Any = KINDS[name]
    hints = get_type_hints(kind)
    names = [part.name for part in fields(kind)]
    values: dict[str, Any] = {}
    for part in rest:
        if not part:
            raise wrong(_EMPTY, name, part, kind=name)
        field, equals, value = map(str.strip, part.partition("="))
        if not (equals and value):
            raise wrong(_NO_VALUE, name, part, text=part)
        if field not in names and _SYNONYMS.get(field) in names:
            field = _SYNONYMS[field]
        if field not in names:
            raise unknown(_NO_ARGUMENT, field, names, kind=name)
        if field in values:
            raise wrong(_TWICE, field, part, kind=name, name=field)
        values[field] = _read(value, hints[field])
        check_quick_patterns(field, values[field])
    if missing := [part.name for part in fields(kind) if default(part) is MISSING and part.name not in values]:
        raise wrong(_NEEDED, name, None, kind=name, name=missing[0])
    step: ChangeStep = kind(**values)
    return step


def _read(text: str, hint: Any, between: str = "+") -> Any:
    """Convert a text to the annotated type. If this is not possible, return the text; the step's checks reject it."""
    if mapping := _dictionary_of(hint) if ":" in text else None:
        key, member = get_args(mapping)
        pairs = (part.partition(":") for part in text.split("+") if part)
        return {_read(name, key): _read(value, member, "/") for name, _colon, value in pairs}
    options = [option for option in _options(hint) if get_origin(option) not in (Mapping, Collection, tuple)]
    several = _list_of(hint)
    if several and (between in text or not options):
        return tuple(_read(part, get_args(several)[0]) for part in text.split(between) if part)
    if records := [option for option in options if is_dataclass(option)]:
        return _read_record(text, records)
    if text.lower() in _CONSTANTS and bool in options:
        return _CONSTANTS[text.lower()]
    choices = [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]
    number = int in options or any(isinstance(choice, int) for choice in choices)
    if number and _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if float in options and _DECIMAL.fullmatch(text) else unquote(text)


def _read_record(text: str, kinds: Iterable[Any]) -> Any:
    for kind in kinds:
        (part,) = fields(kind)
        try:
            return kind(_read(text, get_type_hints(kind)[part.name]))
        except InputError as error:
            refused = error
    raise refused


def _options(hint: Any) -> tuple[Any, ...]:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return tuple(option for option in options if option is not type(None))


def _dictionary_of(hint: Any) -> Any:
    return next((option for option in _options(hint) if get_origin(option) is Mapping), None)


def _list_of(hint: Any) -> Any:
    return next((option for option in _options(hint) if get_origin(option) in (Collection, tuple)), None)
