"""EuroBERT (Boizard et al. 2025, arXiv:2503.05500): Llama's layers with bidirectional attention.

The program follows Hugging Face's modeling_eurobert.py: RMSNorms in front of the blocks, rotary positions, a gated
feed-forward network with three matrices, and optional grouped-query attention.
"""

from collections.abc import Iterator, Mapping
from math import gcd
from typing import Any, ClassVar

from bertcalc.config import Config
from bertcalc.families import bert
from bertcalc.families.common import WITHOUT_TYPES, ClassFactory, presets
from bertcalc.model.family import Family, Hidden
from bertcalc.model.modules import AFTER_LAYERS
from bertcalc.model.trace import AttentionOptions, Trace, Value
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass

_HEAD_SIZE = 64  # the head size of the published models
_LAYER = ("self_attn", "mlp", "input_layernorm", "post_attention_layernorm")


@dataclass(frozen=True)
class EuroBertConfig(Config):
    """Hugging Face's ``EuroBertConfig``, with the same field names and defaults (EuroBERT-210m).

    If ``num_key_value_heads`` equals num_attention_heads, it is stored as None. Two fields are left out:
    ``rope_parameters``, which change no count, and ``head_dim``, which is hidden_size / num_attention_heads.
    """

    vocab_size: int = 128256
    hidden_size: int = 768
    intermediate_size: int = 3072
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    num_key_value_heads: int | None = None
    hidden_act: str = "silu"
    max_position_embeddings: int = 8192
    initializer_range: float = 0.02
    rms_norm_eps: float = 1e-5
    use_cache: bool = True
    pad_token_id: int | None = 128001
    bos_token_id: int | None = 128000
    eos_token_id: int | None = 128001
    pretraining_tp: int = 1
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    attention_dropout: float = 0.0
    mlp_bias: bool = False
    mask_token_id: int = 128002
    classifier_pooling: str = "late"
    num_labels: int = 2

    attribute_map: ClassVar = {
        # transformers has the following fields under the family's names only.
        "layer_norm_eps": "rms_norm_eps",
        "attention_probs_dropout_prob": "attention_dropout",
        # A separate shared name, because ModernBERT's classifier_pooling has different valid values.
        "score_pooling": "classifier_pooling",
    }
    heads_of = 2  # transformers rotates pairs of entries, and refuses an odd head size
    turns_pairs: ClassVar = True
    numbers: ClassVar = ("rope_theta",)
    most: ClassVar = {"attention_bias": True, "mlp_bias": True}
    shaping: ClassVar = (
        *Config.shaping,
        *("num_key_value_heads", "attention_bias", "mlp_bias", "score_pooling", "attention_dropout"),
    )

    def __post_init__(self) -> None:
        if self.num_key_value_heads == self.num_attention_heads and isinstance(self.num_key_value_heads, int):
            object.__setattr__(self, "num_key_value_heads", None)
        super().__post_init__()

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        heads, shared = values["num_attention_heads"], values["num_key_value_heads"]
        if shared is not None and heads % shared:
            nearest = max(count for count in range(1, heads + 1) if heads % count == 0 and count <= shared)
            message = N_("num_key_value_heads {value} does not divide num_attention_heads {heads}: use {nearest}.")
            field, details = "num_key_value_heads", {"value": shared, "heads": heads, "nearest": nearest}
            yield Problem.of(message, field, shared, {field: nearest}, **details)

    @classmethod
    def inferred_from(cls, roles: Mapping[str, int]) -> dict[str, Any]:
        """Infer the numbers of heads if keys have fewer rows than queries.

        The head size is 64, as in published models, if this is possible; otherwise, it is the largest possible size.
        """
        rows, hidden_size = roles.get("key", 0), roles.get("query", 0)
        size = gcd(rows, hidden_size)
        if rows == hidden_size or not size:
            return {}
        size = _HEAD_SIZE if size % _HEAD_SIZE == 0 else size
        return {"num_attention_heads": hidden_size // size, "num_key_value_heads": rows // size}

    def letters_of_sizes(self) -> dict[str, str]:
        """The letters of the family's sizes.

        The number of key/value heads has a letter only if it is above 1 and differs from the number of attention heads.
        A single key/value head has none, because repeating it is a view, not a copy.
        """
        grouped = self.num_key_value_heads not in (None, 1)
        return super().letters_of_sizes() | ({"num_key_value_heads": "num_key_value_heads"} if grouped else {})


def _body(t: Trace, c: EuroBertConfig, pooler: bool) -> Hidden:
    with t.ordered("embed_tokens", "layers", "norm", "rotary_emb"):
        with t.block("", component="embeddings"):
            (ids,) = t.inputs("input_ids")
            x = t.variable("inputs_embeds", bert.words(t, c, ids, c.hidden_size, "embed_tokens"))
        with t.block("", component="encoder"):
            with t.block("rotary positions"):
                angles = t.angles("rotary_emb", "EuroBertRotaryEmbedding", x, c.attention_head_size)
                angles = t.aside(angles, "positions for layers")
            with t.repeat("layers", c.num_hidden_layers, "EuroBertDecoderLayer"), t.ordered(*_LAYER):
                x = _layer(t, c, x, angles)
            with t.block(AFTER_LAYERS):
                return Hidden(_norm(t, c, "norm", x), None)


def _norm(t: Trace, c: EuroBertConfig, name: str, x: Value) -> Value:
    return t.norm(name, x, c.layer_norm_eps, kind="EuroBertRMSNorm", bias=False)


def _layer(t: Trace, c: EuroBertConfig, x: Value, angles: Value) -> Value:
    """A layer, with norms in front of the blocks, not after them."""
    with t.block("attention"):
        y = _norm(t, c, "input_layernorm", x)
    heads, size, shared = c.num_attention_heads, c.attention_head_size, c.num_key_value_heads
    width = c.hidden_size if shared is None else shared * size
    with t.attention("self_attn", "EuroBertAttention", heads, size, block="attention"):
        query = t.linear("q_proj", y, c.hidden_size, role="query", bias=c.attention_bias)
        key = t.linear("k_proj", y, width, role="key", bias=c.attention_bias)
        value = t.linear("v_proj", y, width, role="value", bias=c.attention_bias)
        p = c.attention_probs_dropout_prob
        how = AttentionOptions(dropout=p, dropout_name="", angles=(angles,), wide=True, shared_by=shared)
        y = t.attend(query, key, value, how)
        y = t.linear("o_proj", y, c.hidden_size, role="output", bias=c.attention_bias)
    with t.block("attention"):
        x = t.add("add_attention", x, y, role="add")
    with t.block("feed-forward"):
        y = _norm(t, c, "post_attention_layernorm", x)
    y = gated(t, c, y, "EuroBertMLP", bias=c.mlp_bias, bias_down=c.mlp_bias)
    with t.block("feed-forward"):
        return t.add("add_mlp", x, y, role="add")


def gated(
    t: Trace, c: Config, x: Value, kind: str, *, bias: bool, bias_down: bool, dropout: float | None = None
) -> Value:
    """A gated feed-forward network: its inner vector is multiplied by a gate with its own matrix and activation.

    ``kind`` is the class of the module. ``bias_down``: whether the last dense layer has a bias. ``dropout``: the
    dropout probability in front of that layer; None means no dropout.
    """
    width = c.intermediate_size
    order = ("gate_proj", "up_proj", "down_proj", "act_fn", "dropout")
    with t.module("mlp", kind, block="feed-forward", order=order):
        gate = t.activation("act_fn", t.linear("gate_proj", x, width, role="gate", bias=bias), c.hidden_act)
        y = t.multiply("gated", gate, t.linear("up_proj", x, width, role="up", bias=bias))
        if dropout is not None:
            y = t.variable("hidden_states", t.dropout("dropout", t.variable("hidden_states", y), dropout))
        return t.linear("down_proj", y, x.shape[-1], role="down", bias=bias_down)


def _masked_lm(t: Trace, c: EuroBertConfig, hidden: Hidden) -> None:
    """A score for each token of the vocabulary at each position.

    The head has a bias if the feed-forward networks have biases.
    """
    bert.decoded(t, c, hidden.states, "lm_head", "model.embed_tokens", bias=c.mlp_bias)


def _sequence_classification(t: Trace, c: EuroBertConfig, hidden: Hidden) -> None:
    """A classifier over the first token, over the mean of the tokens, or over each token.

    In the last case, the scores of the tokens are averaged. Without an attention_mask, means are over all tokens.
    """
    x = hidden.states
    batch, length, _width = x.shape
    mask = Value("attention_mask", (batch, length, 1), ids=True)
    if c.classifier_pooling == "bos":
        x = t.first_token(x)
    elif c.classifier_pooling == "mean":
        x = t.variable("pooled_output", t.mean("mean", x, mask, in_place=True))
    x = t.variable("pooled_output", t.linear("dense", x, c.hidden_size, role="dense"))
    x = t.variable("pooled_output", t.gelu("activation", x))
    scores = t.variable("logits", t.linear("classifier", x, c.num_labels, role="classifier"))
    if c.classifier_pooling == "late":
        scores = t.variable("logits", t.mean("mean", scores, mask, in_place=True))
    t.output("logits", scores)


def _token_classification(t: Trace, c: EuroBertConfig, hidden: Hidden) -> None:
    t.output("logits", t.linear("classifier", hidden.states, c.num_labels, role="classifier"))


_class = ClassFactory("EuroBert", WITHOUT_TYPES)
_LARGER: dict[str, Any] = {
    "hidden_size": 1152,
    "num_hidden_layers": 26,
    "num_attention_heads": 18,
    "num_key_value_heads": 6,
    "intermediate_size": 4096,
}
FAMILY = Family(
    "eurobert",
    "model",
    EuroBertConfig,
    _body,
    (
        _class("base", bert.base),
        _class("masked-lm", _masked_lm, widens_scores=True),
        _class("sequence-classification", _sequence_classification),
        _class("token-classification", _token_classification),
    ),
    presets(EuroBertConfig, {"EuroBERT/EuroBERT-210m": {}, "EuroBERT/EuroBERT-610m": _LARGER}),
    peaks=True,
    prunes="no",
    passes_cache=True,
)
