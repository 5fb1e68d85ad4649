"""Values that keep transformers from loading a config.json, although they change no count.

>>> from bertcalc.families.bert import BertConfig
>>> [problem] = refused_values(BertConfig, {"rope_scaling": True}, vars(BertConfig()))
>>> print(problem)
rope_scaling True is invalid: it must be null or an object, such as {"rope_type": "default"}.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bertcalc.config import Config
from bertcalc.families.config_files.size_names import MAPPED
from bertcalc.text import N_
from bertcalc.text.arguments import quoted
from bertcalc.text.problem import Problem

# The layer types that transformers accepts.
LAYER_TYPES = frozenset(
    (
        *("full_attention", "sliding_attention", "chunked_attention", "window_attention", "indexed_attention"),
        *("compressed_sparse_attention", "heavily_compressed_attention", "minimax_m3_sparse", "conv", "moe", "hybrid"),
        *("hybrid_sliding", "reference_sliding_attention", "linear_attention", "sparse", "dense"),
    )
)
_NO_ROPE = N_("{field} {value} is invalid: it must be null or an object, such as {example}.")
_NO_LAYERS = N_("{field} {value} is invalid: it must be null or a list with a type for each of the {layers} layers.")
_NO_DECIMAL = N_("{field} {value} is invalid: transformers accepts only decimals, such as {example}.")
_NO_NUMBER = N_("{field} {value} is invalid: it must be a number, such as {example}.")
_NO_SIZE = N_("{field} {value} is invalid: it must be a whole number.")
_NO_SECOND = N_("{field} {value} is invalid even though {other} is also given: transformers checks both.")


def refused_values(kind: type[Config], content: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield problems with values that transformers does not load; ``values`` has the values of the family's fields."""
    yield from _of_rope(kind, content)
    yield from _of_layers(kind, content, values)
    yield from _second_names(kind, content)
    for key in kind.whole_numbers:
        if key in content and type(content[key]) is not int:
            yield _problem(key, content[key], _NO_SIZE)
    for key in kind.numbers:
        if key in content and not isinstance(value := content[key], int | float):
            yield _problem(key, value, _NO_NUMBER, example="10000.0")
    for key in kind.decimal_numbers:
        if type(value := content.get(key)) is int:
            yield _problem(key, value, _NO_DECIMAL, example=f"{float(value)}")


def _problem(key: str, value: Any, message: str, **words: object) -> Problem:
    return Problem.of(message, key, value, field=key, value=quoted(value), **words)


def _of_rope(kind: type[Config], content: Mapping[str, Any]) -> Iterator[Problem]:
    for key in ("rope_scaling", "rope_parameters"):
        value = content.get(key)
        if value is not None and not isinstance(value, dict) and (value or kind.turns_pairs):
            yield _problem(key, value, _NO_ROPE, example='{"rope_type": "default"}')


def _of_layers(kind: type[Config], content: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Problem]:
    types, layers = content.get("layer_types"), values[kind.own_name("num_hidden_layers")]
    known = isinstance(types, list) and all(isinstance(name, str) and name in LAYER_TYPES for name in types)
    if types is not None and not (known and len(types) == layers):
        yield _problem("layer_types", types, _NO_LAYERS, layers=layers)


def _second_names(kind: type[Config], content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield problems with sizes under the family's own names, in files that also have the shared names.

    The shared name takes precedence, but transformers checks both values.
    """
    for shared in MAPPED:
        name = kind.own_name(shared)
        if name != shared and content.keys() >= {name, shared} and type(content[name]) is not int:
            yield _problem(name, content[name], _NO_SECOND, other=shared)
