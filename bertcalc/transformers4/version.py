"""The version of transformers that builds a model, and its differences from the other version."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from bertcalc.config import Config, Problem
from bertcalc.model.modules import Shape
from bertcalc.text import N_
from bertcalc.text.arguments import quoted

Container = Literal["", "tuple", "DynamicCache", "EncoderDecoderCache"]  # the type of past_key_values

ABSOLUTE: dict[str, Any] = {"position_embedding_type": "absolute"}
RELATIVE = {"position_embedding_type": "relative_key"}
RELATIVE_BOTH_WAYS = {"position_embedding_type": "relative_key_query"}


class Version(NamedTuple):
    """A major version of transformers: its pip requirement, its configurations, forward methods and memory.

    - ``lacks``: fields that the version's configurations do not have.
    - ``unknown``: activation functions that the version does not have.
    - ``need_weights``: activation functions that cannot be built on the meta device.
    - ``distances``: whether every self-attention module has a table of distances, as wide as a head. The table of
      position embeddings then exists but is not used.
    - ``cache``: the container of keys and values in a model without cross-attention.
    - ``whole_tuples``: whether a class with ``return_dict=False`` returns all outputs of its body, and None for a
      missing pooler.
    - ``states_first``: whether the body returns hidden_states before past_key_values.
    - ``empty_cross_attentions``: whether a decoder returns cross_attentions even without encoder_hidden_states.
    - ``empty_attentions``: whether the tuples of attention weights are empty with the default attention. With eager
      attention, they never are.
    """

    requirement: str = "transformers>=5"
    lacks: tuple[str, ...] = tuple(RELATIVE)
    unknown: tuple[str, ...] = ()
    need_weights: tuple[str, ...] = ()
    distances: bool = False
    cache: Container = "DynamicCache"
    whole_tuples: bool = False
    states_first: bool = False
    empty_cross_attentions: bool = True
    empty_attentions: bool = True

    def fields(self, config: Config) -> dict[str, Any]:
        """Return the fields of ``config`` that exist in this version, with their values."""
        return {name: value for name, value in vars(config).items() if name not in self.lacks}


FIVE = Version()
FOUR = Version(
    requirement="transformers<5",
    lacks=(),
    unknown=("hardswish", "sqrtsoftplus"),
    need_weights=("xielu",),  # its constructor reads the value of a tensor, and meta tensors have none
    distances=True,
    cache="EncoderDecoderCache",
    whole_tuples=True,
    states_first=True,
    empty_cross_attentions=False,
    empty_attentions=False,
)


def version_of(config: Config) -> Version:
    return FIVE if config.position_embedding_type == "absolute" else FOUR


def unknown_activation(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if ``values`` combine relative positions with an activation that only transformers 5 has."""
    kind, hidden_act = values["position_embedding_type"], values["hidden_act"]
    if kind != "absolute" and hidden_act in FOUR.unknown:
        message = N_(
            "hidden_act {value} came with transformers 5, which has no position_embedding_type {kind}: use "
            "hidden_act gelu, or position_embedding_type absolute."
        )
        remedies = {"hidden_act": "gelu"}, ABSOLUTE
        yield Problem.of(message, "hidden_act", hidden_act, *remedies, value=hidden_act, kind=kind)


def only_absolute(kind: type[Config], values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if ``values`` request relative positions in a family that has only absolute positions.

    ``values`` can be the content of a config.json. transformers 4 builds tables of distances for these families, too,
    but bertcalc does not support them. transformers 5 ignores the field.
    """
    field = "position_embedding_type"
    if (value := values.get(field)) not in (None, "absolute"):
        message = N_(
            "{config} supports only absolute positions: set position_embedding_type to absolute, as transformers 5 "
            "does. bertcalc does not support the distance tables that transformers 4 builds for {value}."
        )
        yield Problem.of(message, field, value, ABSOLUTE, config=kind.__name__, value=quoted(value))


def inferred_from_distances(hidden_size: int, table: Shape) -> dict[str, Any]:
    """Infer fields from the shape of a checkpoint's table of distances, assuming relative_key.

    The shape does not show whether keys as well as queries are multiplied by the distances (relative_key_query).
    """
    return {**RELATIVE, "num_attention_heads": hidden_size // max(1, table[1])}
