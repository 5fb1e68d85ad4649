"""What somebody gives for a configuration: what would load code or files is left out, and sizes have limits.

A configuration class makes lists as long as a number says, before any model is built, so that a number can cost all
the memory and time there is.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bertcalc.discover.build import Refused

# They say nothing of the model's structure, or name code, files and programs.
_NEVER = {
    "architectures",
    "attn_implementation",
    "attribute_map",
    "auto_map",
    "dtype",
    "experts_implementation",
    "label2id",
    "name_or_path",
    "quantization_config",
    "torch_dtype",
    "transformers_version",
    "trust_remote_code",
}
# A default that cannot be built has None for a size; what is put there by its name, the first that fits.
_USUAL = {
    "vocab": 32_000,
    "experts_per_tok": 2,
    "shared_experts": 1,
    "experts": 8,
    "budget": 64,
    "": 16,
}
_DEEPEST = 12
_MOST_VALUES = 200_000  # a hundred thousand labels and their numbers
_LARGEST = 10**8
_LARGEST_LISTED = 10**6  # gpt_neo's attention_types say in a list how often it is repeated
_MOST = 100_000
_MANY = re.compile("(?:layers?|blocks|depths?|labels)$")


def structure(given: Mapping[str, Any]) -> dict[str, Any]:
    """What of it says how a model is built, at every depth. Raises Refused for what is beyond the limits."""
    found: dict[str, Any] = _cleaned({name: value for name, value in given.items() if name != "model_type"}, 1)
    for number, (name, value, listed) in enumerate(_values(found)):
        if number >= _MOST_VALUES:
            raise Refused(f"more than {_MOST_VALUES:,} values")
        most = _MOST if _MANY.search(name) else _LARGEST_LISTED if listed else _LARGEST
        if isinstance(value, int) and abs(value) > most and "theta" not in name:  # that is no size
            raise Refused(f"{name} is more than {most:,}")
    return found


def completions(kind: Any) -> Iterator[dict[str, int]]:
    """Sizes for fields that the default configuration of a class leaves open: one alone, then all."""
    try:
        config = kind()
    except Exception:  # transformers raises whatever it likes
        return
    types = {name: str(each) for above in kind.__mro__ for name, each in vars(above).get("__annotations__", {}).items()}
    found = {
        name: _usual(name, config)
        for name, value in vars(config).items()
        if value is None and "int" in types.get(name, "") and not name.endswith("token_id")
    }
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


def _counts(name: Any) -> bool:
    return not (isinstance(name, str) and (name.startswith("_") or name in _NEVER))


def _cleaned(value: Any, level: int) -> Any:
    if level > _DEEPEST:
        raise Refused(f"more than {_DEEPEST} levels")
    if isinstance(value, Mapping):
        found = {name: _cleaned(each, level + 1) for name, each in value.items() if _counts(name)}
        labels = found.pop("id2label", None)  # their number matters, and not what they are
        return {"num_labels": len(labels), **found} if isinstance(labels, dict) else found
    if isinstance(value, list | tuple):
        return [_cleaned(each, level + 1) for each in value]
    return value


def _values(value: Any, name: str = "", listed: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Everything that is neither a dictionary nor a list, with the name that it stands under."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _values(each, str(key), listed)
    elif isinstance(value, list):
        for each in value:
            yield from _values(each, name, True)
    else:
        yield name, value, listed
