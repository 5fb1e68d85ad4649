"""Read configurations from users: a config.json of any model type, or single fields.

Fields that would load code or files are dropped. Sizes are limited, because a configuration class creates lists of the
given lengths before any model is built. A single large number could use up all memory and time.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bertcalc.discover.results.types import types
from bertcalc.discover.results.value_types import refused
from bertcalc.families import FAMILIES
from bertcalc.families.config_files import other_programs
from bertcalc.families.config_files.keys_of_families import of_remote_type
from bertcalc.families.hf_json import read_object
from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, Problem, wrong
from bertcalc.transformers4 import pruned_heads

MOST = 100_000_000  # limit for any number
MOST_LISTED = 1_000_000  # limit for a number in a list, where it can be a repetition count (gpt_neo's attention_types)
MOST_LABELS = 100_000
MOST_COPIES = 2_000  # limit for numbers of layers, blocks and stages, and for the length of a list
_COPIES = re.compile("(?!.*(vocab|channels))(?=.*(layer|block|depth|stage))")
_LABELS = re.compile("labels$")
_LEVELS = 12
# OPT has a field that begins with an underscore and removes a tensor. All other keys with an underscore are internal to
# transformers.
_NAME = re.compile("(?:_remove_)?[A-Za-z][A-Za-z0-9_]{0,79}|[0-9]{1,9}")
_NAMED = 8
# Fields that would load code or weights, or that control how a model is run or stored. None of them changes the shape
# of a tensor.
_NEVER = re.compile(
    "architectures|attribute_map|auto_map|custom_.*|(torch_)?dtype|transformers_version|quantization.*"
    "|.*_implementation|use_kernels|trust_remote_code|use_pretrained.*|name_or_path|tokenizer.*|label2id"
    "|task_specific_params|(bos|eos)_token_id|.*dropout.*|initializer_(range|factor)|.*_eps|use_cache"
    "|output_(attentions|hidden_states)|return_dict"
)


class ParsedConfig(NamedTuple):
    """A parsed config.json: its model type, its class (None if it names no available one), its fields, and remarks."""

    model_type: str
    cls: str | None
    fields: dict[str, Any]
    remarks: tuple[Problem, ...]


def read_config(text: str) -> ParsedConfig:
    """Parse the text of a config.json. Raises InputError if the text is invalid or its model type is not supported."""
    data = read_object(text)
    kind = data.get("model_type")
    named = data.get("architectures")
    named = [name for name in (named if isinstance(named, list) else [named]) if isinstance(name, str)]
    if not isinstance(kind, str):
        of_class = [model_type for model_type, classes in types().items() if set(named) & {*classes}]
        if kind is not None or not of_class:
            raise wrong(N_("The file has no model_type, so the kind of model is unknown."))
        kind = next(
            (model_type for model_type in of_class if _plain(named[0]).startswith(_plain(model_type))), of_class[0]
        )
    other = (*other_programs.refused(data), *pruned_heads.refused(data)) if kind in (*FAMILIES, "nezha") else ()
    if problem := next(iter(other), None) or of_remote_type(kind):
        raise InputError(problem)
    if kind not in types():
        raise wrong(
            N_("The installed transformers has no model type {kind}."), "model_type", kind, kind=shorten(kind) or '""'
        )
    if problems := tuple(refused(kind, data)):
        raise InputError(*problems)
    offered = [name for name in named if name in types()[kind]]
    left: list[str] = []
    fields = structural_fields(data, left)
    remarks = [*other_programs.guess(data)]
    if named and not offered:
        message = N_("architectures {value}: bertcalc offers none of these classes for this model type.")
        remarks.append(Problem.of(message, "architectures", named, value=shorten(", ".join(named))))
    if left:
        keys = ", ".join(map(shorten, left[:_NAMED])) + (" ..." if left[_NAMED:] else "")
        remarks.append(Problem(left[0], None, N_("Ignored, because they are not field names: {keys}."), {"keys": keys}))
    return ParsedConfig(kind, offered[0] if offered else None, fields, tuple(remarks))


def read_fields(text: str) -> dict[str, Any]:
    """Parse the JSON fields in a URL. Raises InputError if they are invalid or too large."""
    return structural_fields(read_object(text))


def json_of(fields: Mapping[str, Any]) -> str:
    """Return fields of a configuration as JSON for a URL; "" if there are none."""
    return json.dumps(dict(fields), separators=(",", ":"), ensure_ascii=False) if fields else ""


def structural_fields(config: Mapping[str, Any], left: list[str] | None = None) -> dict[str, Any]:
    """Return the fields that affect the structure of a model, including nested ones.

    ``num_labels`` replaces the list of labels. Keys that are not field names are appended to ``left``. Raises
    InputError for sizes that are too large.
    """
    fields: dict[str, Any] = _cleaned({name: value for name, value in config.items() if name != "model_type"}, left, 1)
    for name, value, listed in _values(fields):
        most = MOST_LABELS if _LABELS.search(name) else MOST_LISTED if listed else MOST
        most = MOST_COPIES if _COPIES.match(name) else most
        if isinstance(value, int) and abs(value) > most and "theta" not in name:  # a theta is not a size
            message = N_("{size} {value} is too large: the limit is {most}.")
            shown = f"{value:,}" if abs(value) < 10**15 else N_("too long to show")
            raise wrong(message, name, value, size=name, value=shown, most=most)
    return fields


def _cleaned(value: Any, left: list[str] | None, level: int, name: str = "") -> Any:
    if level > _LEVELS:
        raise wrong(N_("This JSON is nested too deeply."))
    if isinstance(value, list | tuple):
        if len(value) > MOST_COPIES:
            message = N_("{size} has {count} entries: the limit is {most}.")
            raise wrong(message, name, None, size=name, count=len(value), most=MOST_COPIES)
        return [_cleaned(entry, left, level + 1, name) for entry in value]
    if not isinstance(value, Mapping):
        return value
    labels = value.get("id2label")  # only the number of labels matters
    fields = {"num_labels": len(labels)} if isinstance(labels, dict) else {}
    for key, entry in value.items():
        if not (isinstance(key, str) and _NAME.fullmatch(key)):
            if left is not None and str(key)[:1] != "_":
                left.append(str(key))
        elif key != "id2label" and not _NEVER.fullmatch(key):
            fields[key] = _cleaned(entry, left, level + 1, key)
    return fields


def _values(value: Any, name: str = "", listed: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Yield a (name, value, whether it is in a list) triple for every scalar."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _values(entry, key, listed)
    elif isinstance(value, list):
        for entry in value:
            yield from _values(entry, name, True)
    else:
        yield name, value, listed


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())
