"""Reading what somebody gives for a configuration: a config.json of any type, or fields.

What would load code or files is left out, and sizes have limits: a configuration class makes lists as long as a number
says, before any model is built, so that a single number can take all memory and time.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bertcalc.discover.results.types import types
from bertcalc.discover.search.config_integers import left_open
from bertcalc.families.hf_json import read_object
from bertcalc.text import N_, shorten
from bertcalc.text.problem import Problem, wrong

MOST = 100_000_000  # of any number
MOST_LISTED = 1_000_000  # in a list: gpt_neo's attention_types have repetitions there
MOST_LABELS = 100_000
MOST_COPIES = 2_000  # of layers and the like; and entries of a list
_COPIES = re.compile("(?!.*(vocab|channels))(?=.*(layer|block|depth|stage))")
_LABELS = re.compile("labels$")
_LEVELS = 12
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]{0,79}|[0-9]{1,9}")
_NAMED = 8
# Fields that would load somebody's code or weights, or say how a model is run and stored. None of them changes a shape.
_NEVER = re.compile(
    "architectures|attribute_map|auto_map|custom_.*|(torch_)?dtype|transformers_version|quantization.*"
    "|.*_implementation|use_kernels|trust_remote_code|use_pretrained.*|name_or_path|tokenizer.*|label2id"
    "|task_specific_params|(bos|eos)_token_id|.*dropout.*|initializer_(range|factor)|.*_eps|use_cache"
    "|output_(attentions|hidden_states)|return_dict"
)
# Sizes for fields that are None in a default that cannot be built: of the first key that the field's name contains.
_USUAL = {"vocab": 32_000, "experts_per_tok": 2, "shared_experts": 1, "experts": 8, "budget": 64, "": 16}


class Given(NamedTuple):
    """A model type, a class if one is named, the fields of the configuration, and remarks on what was left out."""

    model_type: str
    cls: str | None
    fields: dict[str, Any]
    remarks: tuple[Problem, ...]


def read(text: str) -> Given:
    """Read the model in the text of a config.json. Raises InputError."""
    found = read_object(text)
    kind = found.get("model_type")
    named = found.get("architectures")
    named = [name for name in (named if isinstance(named, list) else [named]) if isinstance(name, str)]
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
    left: list[str] = []
    fields = structure(found, left)
    remarks: list[Problem] = []
    if named and not known:
        message = N_("architectures {value}: not one of the classes that are offered here.")
        remarks.append(Problem.of(message, "architectures", named, value=shorten(", ".join(named))))
    if left:
        keys = ", ".join(map(shorten, left[:_NAMED])) + (" ..." if left[_NAMED:] else "")
        remarks.append(
            Problem(left[0], None, N_("Left out because they are not names of fields: {keys}."), {"keys": keys})
        )
    return Given(kind, known[0] if known else None, fields, tuple(remarks))


def read_fields(text: str) -> dict[str, Any]:
    """Read the fields alone, as a link has them. Raises InputError."""
    return structure(read_object(text))


def structure(given: Mapping[str, Any], left: list[str] | None = None) -> dict[str, Any]:
    """Return the fields that say how a model is built, at every depth, with the number of labels instead of the labels.

    Keys that are not names are added to ``left``. Raises InputError for sizes that are too large to be built here.
    """
    found: dict[str, Any] = _cleaned({name: each for name, each in given.items() if name != "model_type"}, left, 1)
    for name, value, listed in _values(found):
        most = MOST_LABELS if _LABELS.search(name) else MOST_LISTED if listed else MOST
        most = MOST_COPIES if _COPIES.match(name) else most
        if isinstance(value, int) and abs(value) > most and "theta" not in name:  # not a size
            message = N_("{size} {value} is too large: at most {most} is tried here.")
            raise wrong(message, name, value, size=name, value=_shown(value), most=most)
    return found


def completions(kind: Any) -> Iterator[dict[str, int]]:
    """Yield sizes for the fields that the default configuration of a class leaves open: each alone, then all."""
    try:
        config = kind()
    except Exception:  # transformers raises exceptions of all types
        return
    found = {name: _usual(name, config) for name in left_open(config)}
    yield from ({name: value} for name, value in found.items())
    if len(found) > 1:
        yield found


def _usual(name: str, config: Any) -> int:
    heads = getattr(config, "num_attention_heads", None) or 16
    if "head_dim" in name:
        return int(getattr(config, "hidden_size", 0) // heads or 64)
    if "heads" in name:
        return int(heads)
    return next(value for word, value in _USUAL.items() if word in name)


def _cleaned(value: Any, left: list[str] | None, level: int, name: str = "") -> Any:
    if level > _LEVELS:
        raise wrong(N_("This is nested too deeply."))
    if isinstance(value, list | tuple):
        if len(value) > MOST_COPIES:
            message = N_("{size} has {count} entries: at most {most} are read here.")
            raise wrong(message, name, None, size=name, count=len(value), most=MOST_COPIES)
        return [_cleaned(each, left, level + 1, name) for each in value]
    if not isinstance(value, Mapping):
        return value
    labels = value.get("id2label")  # only their number matters
    found = {"num_labels": len(labels)} if isinstance(labels, dict) else {}
    for key, each in value.items():
        if not (isinstance(key, str) and _NAME.fullmatch(key)):
            if left is not None and str(key)[:1] != "_":
                left.append(str(key))
        elif key != "id2label" and not _NEVER.fullmatch(key):
            found[key] = _cleaned(each, left, level + 1, key)
    return found


def _values(value: Any, name: str = "", listed: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Yield everything that is neither a dictionary nor a list, with its name, and whether it is in a list."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _values(each, key, listed)
    elif isinstance(value, list):
        for each in value:
            yield from _values(each, name, True)
    else:
        yield name, value, listed


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _shown(value: int) -> str:
    return f"{value:,}" if abs(value) < 10**15 else N_("too long to show")
