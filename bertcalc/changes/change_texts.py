"""Changes as text, for links and the command line: ``lora,r=16,target_modules=query+value;bitfit``.

Steps are separated by semicolons, and their arguments by commas; arguments that have their default are left out. The
members of a list are separated by plus signs, with one at the end of a list of a single member. Other signs in a text
are percent-encoded.

>>> written([Lora(r=16, target_modules=["query", "value"])])
'lora,r=16,target_modules=query+value'
>>> read_changes("lora,r=16,target_modules=query+value") == (Lora(r=16, target_modules=["query", "value"]),)
True
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any
from urllib.parse import quote, unquote

from bertcalc.changes.bitfit import BitFit
from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.model.change import Change
from bertcalc.text import N_
from bertcalc.text.arguments import check_of, unknown
from bertcalc.text.problem import wrong

KINDS: dict[str, type[Change]] = {
    "lora": Lora,
    "ia3": IA3,
    "prompt_tuning": PromptTuning,
    "prefix_tuning": PrefixTuning,
    "p_tuning": PromptEncoder,
    "ln_tuning": LNTuning,
    "bitfit": BitFit,
}
_NO_KIND = (
    N_("There is no change {name}: did you mean {nearest}?"),
    N_("There is no change {name}: it must be one of {options}."),
)
_NO_ARGUMENT = (
    N_("{kind} has no argument {name}: did you mean {nearest}?"),
    N_("{kind} has no argument {name}: it must be one of {options}."),
)
_NO_VALUE = N_("{text} is no argument of a change: write it as r=8.")
_WHOLE, _DECIMAL = re.compile(r"-?[0-9]{1,15}"), re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
_CONSTANTS: Mapping[str, object] = {"true": True, "false": False}
_SAFE = "_.*-()|\\[]^$"


def written(changes: Iterable[Change]) -> str:
    """Changes as text, which ``read_changes`` reads."""
    names = {kind: name for name, kind in KINDS.items()}
    return ";".join(",".join((names[type(change)], *_arguments(change))) for change in changes)


def arguments(change: Change) -> dict[str, Any]:
    """The arguments of a change that differ from their defaults."""
    defaults = type(change)
    every: Any = change
    values = {part.name: getattr(every, part.name) for part in fields(every)}
    return {name: value for name, value in values.items() if value != _default(defaults, name)}


def _default(kind: Any, name: str) -> object:
    (part,) = (part for part in fields(kind) if part.name == name)
    return part.default_factory() if callable(part.default_factory) else part.default


def _arguments(change: Change) -> Iterator[str]:
    for name, value in arguments(change).items():
        yield f"{name}={_value(value)}"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "+".join(f"{quote(str(key), _SAFE)}:{_value(part)}" for key, part in value.items())
    if isinstance(value, (tuple, list)):
        return "+".join(map(_value, value)) + "+" * (len(value) < 2)
    return str(value).lower() if isinstance(value, bool) else quote(str(value), _SAFE)


def read_changes(text: str) -> tuple[Change, ...]:
    """The changes that a text describes. Raises InputError if a part of it is wrong.

    They are checked by themselves; whether a model can be changed so is known once it is built.
    """
    return tuple(_change(step) for step in text.split(";") if step.strip())


def _change(text: str) -> Change:
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
    change: Change = check_of(kind)(name, kind(**values))
    return change


def _read(text: str) -> Any:
    if ":" in text:
        pairs = (part.partition(":") for part in text.split("+") if part)
        return {unquote(key): _read(value) for key, _colon, value in pairs}
    if "+" in text:
        return tuple(_read(part) for part in text.split("+") if part)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else unquote(text)
