"""A config.json of any model type, read with care before anything is built: what is in it is somebody else's text."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bertcalc.config_json import read_object
from bertcalc.discover.types import types
from bertcalc.problem import Problem, wrong
from bertcalc.text import N_, shorten

MOST = 1_000_000_000  # of any number
MOST_COPIES = 2_000  # of what there are many of
_COPIES = re.compile("layer|block|depth|stage")
_LEVELS = 6
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]{0,79}")
_NAMED = 8
# What would load somebody's program or weights, or says how a model is run and stored. None of it changes a shape.
_NEVER = re.compile(
    "architectures|auto_map|custom_.*|(torch_)?dtype|transformers_version|quantization.*|.*_implementation|use_kernels"
    "|trust_remote_code|use_pretrained.*|name_or_path|tokenizer.*|label2id|task_specific_params|(bos|eos)_token_id"
    "|.*dropout.*|initializer_(range|factor)|.*_eps|use_cache|output_(attentions|hidden_states)|return_dict"
)


class Given(NamedTuple):
    """A model type, a class if one was named, and what a file says of the configuration."""

    model_type: str
    cls: str | None
    fields: dict[str, Any]
    remarks: tuple[Problem, ...]


def read(text: str) -> Given:
    """The model in the text of a config.json. Raises InputError."""
    found = read_object(text)
    kind = found.get("model_type")
    named = [name for name in _listed(found.get("architectures")) if isinstance(name, str)]
    if not isinstance(kind, str):
        of_class = [each for each, classes in types().items() if set(named) & {*classes}]
        if kind is not None or not of_class:
            raise wrong(N_("It has no model_type, which says what kind of model it is."))
        kind = next((each for each in of_class if _plain(named[0]).startswith(_plain(each))), of_class[0])
    if kind not in types():
        raise wrong(
            N_("The installed transformers has no model type {kind}."), "model_type", kind, kind=shorten(kind) or '""'
        )
    known = [name for name in named if name in types()[kind]]
    fields, left = _fields(found)
    remarks: list[Problem] = []
    if named and not known:
        message = N_("architectures {value}: not one of the classes that are offered here.")
        remarks.append(Problem("architectures", named, message, {"value": shorten(", ".join(named))}))
    if left:
        keys = ", ".join(map(shorten, left[:_NAMED])) + (" ..." if left[_NAMED:] else "")
        remarks.append(Problem(left[0], None, N_("Left out, as they are no names of fields: {keys}."), {"keys": keys}))
    return Given(kind, known[0] if known else None, fields, tuple(remarks))


def read_fields(text: str) -> dict[str, Any]:
    """The same of the fields alone, as a link has them. Raises InputError."""
    return _fields(read_object(text))[0]


def _fields(found: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields within the limits, and the keys that are no names. Raises InputError."""
    fields, left = clean(found)
    fields.pop("model_type", None)
    check(fields)
    return fields, left


def clean(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What may be given to a configuration class, and the keys that are no names. Labels are counted."""
    left: list[str] = []

    def within(value: Any) -> Any:
        if isinstance(value, list):
            return [within(each) for each in value]
        if not isinstance(value, dict):
            return value
        left.extend(key for key in value if not _NAME.fullmatch(key) and not key.isdigit() and key[:1] != "_")
        return {
            key: within(each)
            for key, each in value.items()
            if (_NAME.fullmatch(key) or key.isdigit()) and not _NEVER.fullmatch(key)
        }

    labels = given.get("id2label")
    fields = within({key: value for key, value in given.items() if key != "id2label"})
    if isinstance(labels, dict) and "num_labels" not in fields:
        fields["num_labels"] = len(labels)
    return fields, left


def check(fields: Mapping[str, Any]) -> None:
    """Raise InputError for sizes with which nothing is built here, and for what is nested too deeply."""
    for name, value, level in _values(fields, "", 0):
        if level > _LEVELS:
            raise wrong(N_("This is nested too deeply."))
        kind = name.rpartition(".")[2]
        if isinstance(value, list) and len(value) > MOST_COPIES:
            message = N_("{field} has {count} entries: at most {most} are read here.")
            raise wrong(message, name, None, field=kind, count=f"{len(value):,}", most=f"{MOST_COPIES:,}")
        if isinstance(value, int) and not isinstance(value, bool):
            most = MOST_COPIES if _COPIES.search(kind) else MOST
            if abs(value) > most:
                message = N_("{field} {value} is too large: at most {most} is tried here.")
                raise wrong(message, name, value, field=kind, value=_shown(value), most=f"{most:,}")


def _values(value: Any, name: str, level: int) -> Iterator[tuple[str, Any, int]]:
    yield name, value, level
    if level > _LEVELS:
        return
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _values(each, f"{name}.{key}", level + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _values(each, name, level + 1)


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _listed(names: Any) -> list[Any]:
    return names if isinstance(names, list) else [names]


def _shown(value: int) -> str:
    return f"{value:,}" if abs(value) < 10**15 else N_("too long to show")
