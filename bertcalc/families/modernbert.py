"""ModernBERT (Warner et al. 2024, arXiv:2412.13663): rotary positions, gated feed-forward networks, no biases.

The program follows Hugging Face's modeling_modernbert.py. Two of every three layers attend only to neighboring tokens.
This changes the mask and the angles, but no parameters or matrix products.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from bertcalc.config import Config, all_or_none
from bertcalc.config.fields import is_int
from bertcalc.families import bert
from bertcalc.families.common import WITHOUT_TYPES, ClassFactory, presets
from bertcalc.model.family import LANGUAGE_MODEL, Family, Hidden
from bertcalc.model.modules import AFTER_LAYERS
from bertcalc.model.trace import AttentionOptions, Trace, Value
from bertcalc.text import N_
from bertcalc.text.arguments import quoted
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass

_GEMMA: dict[str, Any] = {"vocab_size": 256000, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}


@dataclass(frozen=True)
class ModernBertConfig(Config):
    """Hugging Face's ``ModernBertConfig``, with the same field names and defaults (ModernBERT-base).

    ``rope_parameters`` is left out, because it changes neither counts nor shapes. ``layer_types`` of a config.json
    becomes ``global_attn_every_n_layers``, its former name, which transformers 5 still reads.
    """

    vocab_size: int = 50368
    hidden_size: int = 768
    intermediate_size: int = 1152
    num_hidden_layers: int = 22
    num_attention_heads: int = 12
    hidden_activation: str = "gelu"
    max_position_embeddings: int = 8192
    initializer_range: float = 0.02
    initializer_cutoff_factor: float = 2.0
    norm_eps: float = 1e-5
    norm_bias: bool = False
    pad_token_id: int | None = 50283
    eos_token_id: int | None = 50282
    bos_token_id: int | None = 50281
    cls_token_id: int | None = 50281
    sep_token_id: int | None = 50282
    attention_bias: bool = False
    attention_dropout: float = 0.0
    local_attention: int = 128
    global_attn_every_n_layers: int = 3
    embedding_dropout: float = 0.0
    mlp_bias: bool = False
    mlp_dropout: float = 0.0
    decoder_bias: bool = True
    classifier_pooling: str = "cls"
    classifier_dropout: float | None = 0.0
    classifier_bias: bool = False
    classifier_activation: str = "gelu"
    deterministic_flash_attn: bool = False
    sparse_prediction: bool = False
    sparse_pred_ignore_index: int = -100
    tie_word_embeddings: bool = True
    num_labels: int = 2

    attribute_map: ClassVar = {
        # transformers has the following fields under the family's names only.
        "hidden_act": "hidden_activation",
        "layer_norm_eps": "norm_eps",
        "attention_probs_dropout_prob": "attention_dropout",
    }
    turns_pairs: ClassVar = True
    undeclared: ClassVar = ("global_attn_every_n_layers",)
    shaping: ClassVar = (
        *Config.shaping,
        *("norm_bias", "attention_bias", "mlp_bias", "decoder_bias", "classifier_bias"),
        *("classifier_activation", "classifier_pooling", "attention_dropout"),
        "global_attn_every_n_layers",
    )

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        if values["classifier_dropout"] is None:
            message = N_("{config} needs a classifier_dropout: a number, such as 0.0.")
            yield Problem.of(message, "classifier_dropout", None, {"classifier_dropout": 0.0}, config=cls.__name__)

    @classmethod
    def converted(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        interval = _interval(content.get("layer_types"), content.get("global_attn_every_n_layers"))
        return {} if interval is None else {"global_attn_every_n_layers": interval}

    @classmethod
    def refused(cls, content: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().refused(content)
        kinds, layers = content.get("layer_types"), content.get("num_hidden_layers", cls.num_hidden_layers)
        if isinstance(kinds, list) and len(kinds) != layers:
            message = N_("layer_types has {count} entries, but num_hidden_layers is {layers}: the two must match.")
            yield Problem.of(message, "layer_types", kinds, count=len(kinds), layers=quoted(layers))
        elif kinds is not None and _interval(kinds, None) is None:
            message = N_(
                "bertcalc does not support layer_types {value}: the first layer and every n-th after it must "
                "have full_attention, all others sliding_attention. Without layer_types, the parameters are "
                "the same."
            )
            yield Problem.of(message, "layer_types", kinds, value=quoted(kinds))

    @property
    def layer_period(self) -> int:
        return self.global_attn_every_n_layers

    @property
    def window(self) -> int:
        """The number of tokens on each side that local attention covers; shorter sequences need no mask."""
        return self.local_attention // 2

    def letters_of_sizes(self) -> dict[str, str]:
        """The letters of the family's sizes; a single layer has no L, because later layers have one more LayerNorm."""
        letters = super().letters_of_sizes()
        return {field: letters[field] for field in letters if field != "num_hidden_layers" or not self.single}

    @property
    def single(self) -> bool:
        """Whether there is only one layer; symbols count as several."""
        return all_or_none(self.num_hidden_layers == 1)


def _interval(kinds: Any, usual: Any) -> int | None:
    """The number n for which the first layer and every n-th layer after it are global; None if there is no such n.

    If several intervals fit, ``usual`` is preferred.
    """
    if not isinstance(kinds, list) or not kinds:
        return None
    second = next((number for number, kind in enumerate(kinds) if number and kind == "full_attention"), len(kinds))
    for interval in (usual, ModernBertConfig.global_attn_every_n_layers, second):
        if is_int(interval) and interval > 0 and _is_every(interval, kinds):
            return interval
    return None


def _is_every(interval: int, kinds: list[Any]) -> bool:
    return all(
        kind == ("sliding_attention" if number % interval else "full_attention") for number, kind in enumerate(kinds)
    )


def _body(t: Trace, c: ModernBertConfig, pooler: bool) -> Hidden:
    with t.ordered("embeddings", "layers", "final_norm", "rotary_emb"):
        with t.module("embeddings", "ModernBertEmbeddings", component="embeddings"):
            (ids,) = t.inputs("input_ids")
            x = t.aside(bert.words(t, c, ids, c.hidden_size, "tok_embeddings"), "positions")
            x = t.variable("hidden_states", x)
            x = t.variable("hidden_states", _norm(t, c, "norm", x))
            x = t.dropout("drop", x, c.embedding_dropout)
        with t.block("", component="encoder"):
            one_kind = (c.single and not t.drops) or c.layer_period == 1
            with t.block("rotary positions"):
                kinds = [
                    t.angles("rotary_emb", "ModernBertRotaryEmbedding", x, c.attention_head_size)
                    for _kind in range(1 if one_kind else 2)
                ]
            angles = _in_turn(t, c, kinds)
            first = t.former_number(0) == 0
            if first:
                with t.repeat("layers", 1, "ModernBertEncoderLayer", start=None if c.single else 0):
                    x = _layer(t, c, x, angles[:1], first=True)
                x = t.variable("hidden_states", x)
            if not first or not c.single:
                later, start = (c.num_hidden_layers - 1, 1) if first else (c.num_hidden_layers, None)
                with t.repeat("layers", later, "ModernBertEncoderLayer", start=start):
                    x = _layer(t, c, x, angles)
                x = t.variable("hidden_states", x)
            with t.block(AFTER_LAYERS):
                return Hidden(_norm(t, c, "final_norm", x), None)


def _in_turn(t: Trace, c: ModernBertConfig, kinds: list[Value]) -> tuple[Value, ...]:
    """The angles for each layer of one period, or for all remaining layers if layers were dropped."""
    period = c.layer_period
    if not t.drops or not is_int(c.num_hidden_layers):
        return (kinds[0], *kinds[1:] * (period - 1))
    return tuple(
        kinds[0] if t.former_number(layer) % period == 0 else kinds[-1] for layer in range(c.num_hidden_layers)
    )


def _norm(t: Trace, c: ModernBertConfig, name: str, x: Value) -> Value:
    return t.norm(name, x, c.norm_eps, bias=c.norm_bias)


def _layer(t: Trace, c: ModernBertConfig, x: Value, angles: tuple[Value, ...], *, first: bool = False) -> Value:
    """A layer with norms in front of its blocks.

    The attention of the ``first`` layer has no norm, because the embeddings are normalized already.
    """
    with t.block("attention"):
        if first:
            t.idle("attn_norm", "Identity")
            y = x
        else:
            y = _norm(t, c, "attn_norm", x)
    heads, size = c.num_attention_heads, c.attention_head_size
    with t.attention("attn", "ModernBertAttention", heads, size, block="attention"):
        together = t.linear("Wqkv", y, 3 * c.hidden_size, role="query, key, value", bias=c.attention_bias)
        query, key, value = t.cut(together, "query", "key", "value", by_heads=True)
        p = c.attention_dropout
        how = AttentionOptions(dropout=p, dropout_name="", angles=angles, wide=True, wide_angles=True)
        y = t.attend(query, key, value, how)
        y = t.variable("attn_output", y)
        y = t.linear("Wo", y, c.hidden_size, role="output", bias=c.attention_bias)
        y = t.dropout_or_identity("out_drop", y, p)
    y = t.variable("attn_output", y)
    with t.block("attention"):
        x = t.add("add_attention", x, y, role="add")
    with t.block("feed-forward"):
        y = _norm(t, c, "mlp_norm", x)
    with t.module("mlp", "ModernBertMLP", block="feed-forward"):
        halves = t.linear("Wi", y, 2 * c.intermediate_size, role="up and gate", bias=c.mlp_bias)
        y, gate = map(t.variable, ("input", "gate"), t.cut(halves, "input", "gate"))
        y = t.multiply("gated", t.activation("act", y, c.hidden_activation), gate)
        y = t.dropout("drop", y, c.mlp_dropout)
        y = t.linear("Wo", y, c.hidden_size, role="down", bias=c.mlp_bias)
    with t.block("feed-forward"):
        return t.add("add_mlp", x, y, role="add")


def _head(t: Trace, c: ModernBertConfig, x: Value, *, block: str = "", role: str = "dense") -> Value:
    with t.module("head", "ModernBertPredictionHead", component="head", block=block):
        x = t.linear("dense", x, c.hidden_size, role=role, bias=c.classifier_bias)
        return _norm(t, c, "norm", t.activation("act", x, c.classifier_activation, role="classifier activation"))


def _masked_lm(t: Trace, c: ModernBertConfig, hidden: Hidden) -> None:
    x = _head(t, c, hidden.states, block=LANGUAGE_MODEL, role="transform")
    bert.decoded(t, c, x, "decoder", "model.embeddings.tok_embeddings", bias=c.decoder_bias)


def _classified(t: Trace, c: ModernBertConfig, x: Value, classes: int, *, role: str = "classifier") -> Value:
    assert c.classifier_dropout is not None
    x = t.variable("pooled_output", _head(t, c, x))
    x = t.variable("pooled_output", t.dropout("drop", x, c.classifier_dropout))
    return t.linear("classifier", x, classes, role=role)


def _sequence_classification(t: Trace, c: ModernBertConfig, hidden: Hidden) -> None:
    batch, length, _width = hidden.states.shape
    if c.classifier_pooling == "mean":
        x = t.mean("mean", hidden.states, Value("ones", (batch, length, 1)))
    else:
        x = t.first_token(hidden.states)
    t.output("logits", _classified(t, c, x, c.num_labels))


def _token_classification(t: Trace, c: ModernBertConfig, hidden: Hidden) -> None:
    t.output("logits", _classified(t, c, hidden.states, c.num_labels))


def _question_answering(t: Trace, c: ModernBertConfig, hidden: Hidden) -> None:
    bert.split_answers(t, _classified(t, c, hidden.states, c.num_labels, role="answer span"))


def _multiple_choice(t: Trace, c: ModernBertConfig, hidden: Hidden) -> None:
    """A score for each choice, from the mean (which needs an attention_mask) or the first non-padding token."""
    batch, length, width = hidden.states.shape
    if c.classifier_pooling == "mean":
        x = t.mean("mean", hidden.states, Value("attention_mask", (batch, length, 1), ids=True))
    else:
        x = t.step("first_token", "copy", hidden.states, shape=(batch, width))
    bert.side_by_side(t, _classified(t, c, x, 1))


def _sizes(hidden: int, layers: int, inner: int) -> dict[str, int]:
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 64,
        "intermediate_size": inner,
    }


_class = ClassFactory("ModernBert", WITHOUT_TYPES)
FAMILY = Family(
    "modernbert",
    "model",
    ModernBertConfig,
    _body,
    (
        _class("base", bert.base),
        _class("masked-lm", _masked_lm, widens_scores=True, by_labels="sparse_prediction"),
        _class("sequence-classification", _sequence_classification),
        _class("token-classification", _token_classification),
        ClassFactory("ModernBert", WITHOUT_TYPES[:3])("question-answering", _question_answering),
        _class("multiple-choice", _multiple_choice),
    ),
    presets(
        ModernBertConfig,
        {
            "answerdotai/ModernBERT-base": {},
            "answerdotai/ModernBERT-large": _sizes(1024, 28, 2624),
            "jhu-clsp/ettin-encoder-17m": _sizes(256, 7, 384),
            "jhu-clsp/ettin-encoder-32m": _sizes(384, 10, 576),
            "jhu-clsp/ettin-encoder-68m": _sizes(512, 19, 768),
            "jhu-clsp/ettin-encoder-1b": _sizes(1792, 28, 3840),
            # These have the vocabulary of Gemma 2.
            "jhu-clsp/mmBERT-base": _GEMMA,
            "jhu-clsp/mmBERT-small": {"hidden_size": 384, "num_attention_heads": 6, **_GEMMA},
        },
    ),
    peaks=True,
    prunes="no",
)
