"""DeBERTa, the first version (He et al. 2021, arXiv:2006.03654): attention that separates content and position.

The program follows Hugging Face's modeling_deberta.py: query, key and value of all heads come from one matrix, and each
layer has its own matrices for the distances. Code shared by both versions is in deberta_v2.py.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from bertcalc.config import uncounted
from bertcalc.config.fields import is_int
from bertcalc.families import bert, deberta_v2
from bertcalc.families.common import FLAGS, LARGE, ClassFactory, presets
from bertcalc.model.family import Family, Hidden
from bertcalc.model.trace import Operation, Trace, Value, any_is_one
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass

_NORM = "DebertaLayerNorm"


@dataclass(frozen=True)
class DebertaConfig(deberta_v2.Disentangled):
    """Hugging Face's ``DebertaConfig``, with the same field names and defaults."""

    vocab_size: int = 50265

    most: ClassVar = {"relative_attention": True, "pos_att_type": deberta_v2.BOTH}
    unlike: ClassVar = {"talking_head": False}

    def __post_init__(self) -> None:
        if is_int(self.max_relative_positions) and self.max_relative_positions == self.max_position_embeddings:
            object.__setattr__(self, "max_relative_positions", -1)  # transformers treats both values alike
        super().__post_init__()

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        if values["relative_attention"] and (most := values["max_relative_positions"]) > 0:
            remedies = ({"max_relative_positions": -1}, {"relative_attention": False})
            yield uncounted("max_relative_positions", most, "-1")._replace(remedies=remedies)

    @property
    def distances(self) -> int:
        """The number of distances with an embedding vector, in each direction."""
        return self.max_position_embeddings

    @property
    def whole(self) -> int | None:
        """The length of a sequence that uses the whole table of distances; None without relative positions."""
        return self.max_position_embeddings if self.relative_attention else None

    @property
    def ones_matter(self) -> bool:
        """True: matrix products copy their inputs, except for a single sequence, head or token."""
        return True

    @classmethod
    def inferred_from(cls, roles: Mapping[str, int]) -> dict[str, Any]:
        positions = roles.get("position")
        fields: dict[str, Any] = {"position_biased_input": positions is not None}
        if rows := roles.get("relative embedding"):
            fields |= {"relative_attention": True, "pos_att_type": deberta_v2.BOTH}
            if positions is None:
                fields["max_position_embeddings"] = rows // 2
            elif rows != 2 * positions:
                fields["max_relative_positions"] = rows // 2
        return fields


def _body(t: Trace, c: DebertaConfig, pooler: bool) -> Hidden:
    x = deberta_v2.embedded(t, c, "Deberta", _NORM)
    with t.module("encoder", "DebertaEncoder", component="encoder", order=("layer", "rel_embeddings")):
        distances = None
        if c.relative_attention:
            with t.block("relative positions"):
                role = "relative embedding"
                distances = t.table("rel_embeddings", 2 * c.distances, c.hidden_size, role=role)
        with t.repeat("layer", c.num_hidden_layers, "DebertaLayer"):
            x = deberta_v2.layer(t, c, x, "Deberta", lambda x: _attention(t, c, x, distances), _NORM)
    return Hidden(t.variable("hidden_states.*", x), None)  # the body keeps the hidden states of all layers


def _attention(t: Trace, c: DebertaConfig, x: Value, distances: Value | None) -> Value:
    """Attention by content; with ``distances``, also content-to-position and position-to-content."""
    heads, size = c.num_attention_heads, c.attention_head_size
    with t.attention("self", "DisentangledSelfAttention", heads, size, order=_SELF):
        query_bias = t.parameter("q_bias", (c.hidden_size,), role="query")
        value_bias = t.parameter("v_bias", (c.hidden_size,), role="value")
        together = t.linear("in_proj", x, 3 * c.hidden_size, role="query, key, value", bias=False)
        batch, length, _width = x.shape
        shape, square = (batch, heads, length, size), (batch, heads, length, length)
        with t.core():
            query, key, value = (
                t.step(f"{name}_heads", "view", together, shape=shape) for name in ("query", "key", "value")
            )
            query = t.add("query_biased", query, role="query bias", using=query_bias)
            value = t.add("value_biased", value, role="value bias", using=value_bias)
            query = t.divide("query_scaled", query)
        of_distances = _positions(t, c, x, distances) if distances else ()
        # The inputs of the products, in the order of c2p, p2c, scores, context: query and key twice, value once.
        taken = (query, key, query, key, value) if of_distances else (query, key, value)
        with t.core():
            *ours, query, key, value = (_laid_out(t, factor, number) for number, factor in enumerate(taken))
            products = []
            for name, factor, theirs in zip(("c2p", "p2c"), ours, of_distances, strict=False):
                wide = t.step(name, "matmul", factor, theirs, shape=(*square[:-1], theirs.shape[2]))
                products.append(t.step(f"{name}_gathered", "gather", wide, shape=square))
            scores = t.step("scores", "matmul", query, key, shape=square)
            if products:
                scores = t.add("add_distances", scores, *products)
            return deberta_v2.attended(t, c, scores, value, x)


def _laid_out(t: Trace, x: Value, number: int) -> Value:
    """Flatten the heads of all sequences into one axis for the batched matrix product.

    This copies ``x``, unless there is a single sequence, head or token.
    """
    operation: Operation = "view" if any_is_one(*x.shape[:3]) else "copy"
    return t.step(f"laid_out_{number}", operation, x, shape=x.shape, role="laid out")


def _positions(t: Trace, c: DebertaConfig, x: Value, distances: Value) -> tuple[Value, Value]:
    """Project the table of distances to keys and queries with the layer's own matrices."""
    batch, length, width = x.shape
    heads, rows = c.num_attention_heads, 2 * length  # the table has at least this many rows
    table = t.dropout("pos_dropout", distances, c.hidden_dropout_prob, role="distances_dropout")
    table = t.step("near", "view", table, shape=(1, rows, width))
    key = t.linear("pos_proj", table, width, role="position key", bias=False)
    query = t.linear("pos_q_proj", table, width, role="position query")
    query = t.divide("pos_query_scaled", query, wide=True)
    operation: Operation = "view" if any_is_one(batch, heads) else "copy"
    shape = (batch, heads, rows, c.attention_head_size)
    return t.step("pos_key_heads", operation, key, shape=shape), t.step(
        "pos_query_heads", operation, query, shape=shape
    )


_SELF = ("in_proj", "pos_dropout", "pos_proj", "pos_q_proj", "dropout")


_PUBLISHED: dict[str, Any] = {"relative_attention": True, "pos_att_type": "c2p|p2c", "position_biased_input": False}
_class = ClassFactory("Deberta", flags=FLAGS)
FAMILY = Family(
    "deberta",
    "deberta",
    DebertaConfig,
    _body,
    (
        _class("base", bert.base),
        _class("masked-lm", partial(deberta_v2.masked_lm, "Deberta")),
        _class("sequence-classification", deberta_v2.sequence_classification, flattens_regression=True),
        _class("token-classification", bert.token_classification),
        _class("question-answering", bert.question_answering),
    ),
    presets(DebertaConfig, {"microsoft/deberta-base": _PUBLISHED, "microsoft/deberta-large": LARGE | _PUBLISHED}),
    recomputes=("full",),  # not selective, because its attention core is not a separate function
    peaks=True,
    prunes="no",
)
