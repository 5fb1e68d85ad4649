"""Steps as text, for links and the command line: ``lora,r=16,target_modules=query+value;bitfit``.

Steps are separated by semicolons, and their arguments by commas; arguments that have their default are left out. The
members of a list are separated by plus signs, with one at the end of a list of a single member: in a dictionary, whose
members are ``key:value``, by slashes. Other signs in a text are percent-encoded.

>>> written([Lora(r=16, target_modules=["query", "value"])])
'lora,r=16,target_modules=query+value'
>>> read_steps("lora,r=16,target_modules=query+value") == (Lora(r=16, target_modules=["query", "value"]),)
True
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any
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
from bertcalc.text.arguments import check_of, unknown
from bertcalc.text.patterns import check_quick_patterns
from bertcalc.text.problem import wrong

Step = Change | QuantizationFormat

KINDS: dict[str, type[Step]] = {
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
_NO_KIND = (
    N_("There is no step {name}: did you mean {nearest}?"),
    N_("There is no step {name}: it must be one of {options}."),
)
_NO_ARGUMENT = (
    N_("{kind} has no argument {name}: did you mean {nearest}?"),
    N_("{kind} has no argument {name}: it must be one of {options}."),
)
_NO_VALUE = N_("{text} is no argument of a step: write it as r=8.")
_NEEDED = N_("{kind} needs {name}: write it as {kind},{name}=...")
_WHOLE, _DECIMAL = re.compile(r"-?[0-9]{1,15}"), re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
_CONSTANTS: Mapping[str, object] = {"true": True, "false": False}
_SAFE = "_.*-()|\\[]^$"


def written(steps: Iterable[Step]) -> str:
    """Steps as text, which ``read_steps`` reads."""
    names = {kind: name for name, kind in KINDS.items()}
    return ";".join(
        ",".join((names[type(step)], *(f"{name}={text}" for name, text in argument_texts(step).items())))
        for step in steps
    )


def arguments(step: Step) -> dict[str, Any]:
    """The arguments of a step that differ from their defaults."""
    values: Any = step
    return {
        part.name: getattr(values, part.name) for part in fields(values) if getattr(values, part.name) != default(part)
    }


def default(part: Field[Any]) -> object:
    """The default of an argument; MISSING if it has none."""
    return part.default_factory() if callable(part.default_factory) else part.default


def argument_texts(step: Step) -> dict[str, str]:
    """The arguments of a step that differ from their defaults, as text."""
    return {name: _value(value) for name, value in arguments(step).items()}


def with_argument(step: Step, name: str, text: str) -> Step:
    """A step with another argument; an empty text stands for the default. Raises InputError for a wrong value."""
    texts = {**argument_texts(step), name: text}
    kind = next(kind for kind, cls in KINDS.items() if type(step) is cls)
    (changed,) = read_steps(",".join((kind, *(f"{field}={value}" for field, value in texts.items() if value))))
    return changed


def _value(value: object, between: str = "+") -> str:
    if isinstance(value, Mapping):
        return "+".join(f"{quote(str(key), _SAFE)}:{_value(part, '/')}" for key, part in value.items())
    if isinstance(value, (tuple, list)):
        return between.join(map(_value, value)) + between * (len(value) < 2)
    return str(value).lower() if isinstance(value, bool) else quote(str(value), _SAFE)


def read_steps(text: str) -> tuple[Step, ...]:
    """The steps that a text describes. Raises InputError if a part of it is wrong.

    They are checked by themselves; whether a model can be changed so is known once it is built.
    """
    return tuple(_step(step) for step in text.split(";") if step.strip())


def _step(text: str) -> Step:
    name, *rest = (part.strip() for part in text.split(","))
    if name not in KINDS:
        raise unknown(_NO_KIND, name, KINDS)
    kind: Any = KINDS[name]
    names = [part.name for part in fields(kind)]
    values: dict[str, Any] = {}
    for part in rest:
        field, equals, value = part.partition("=")
        if not equals:
            raise wrong(_NO_VALUE, name, part, text=part)
        if field not in names:
            raise unknown(_NO_ARGUMENT, field, names, kind=name)
        values[field] = _read(value)
        check_quick_patterns(field, values[field])
    if missing := [part.name for part in fields(kind) if default(part) is MISSING and part.name not in values]:
        raise wrong(_NEEDED, name, None, kind=name, name=missing[0])
    step: Step = check_of(kind)(name, kind(**values))
    return step


def _read(text: str) -> Any:
    if ":" in text:
        pairs = (part.partition(":") for part in text.split("+") if part)
        return {_read(key): _read(value) for key, _colon, value in pairs}
    if between := next((sign for sign in "+/" if sign in text), ""):
        return tuple(_read(part) for part in text.split(between) if part)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else unquote(text)
