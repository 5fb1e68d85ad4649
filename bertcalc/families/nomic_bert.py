"""NomicBERT (Nussbaum et al. 2024, arXiv:2402.01613): BERT with rotary positions and gated feed-forward networks.

The program follows Hugging Face's modeling_nomic_bert.py: token types and LayerNorms after each block as in BERT, but
no position table and no biases in the layers.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from bertcalc.config import Config, uncounted
from bertcalc.config.fields import is_int
from bertcalc.families import bert, eurobert
from bertcalc.families.common import ClassFactory, EncoderConfig, presets
from bertcalc.model.family import Family, Hidden
from bertcalc.model.trace import AttentionOptions, Trace, Value
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass


@dataclass(frozen=True)
class NomicBertConfig(EncoderConfig):
    """Hugging Face's ``NomicBertConfig``, with the same field names and defaults (nomic-embed-text-v1.5).

    Two fields are left out: ``rope_parameters``, which change no count, and ``head_dim``, which is
    hidden_size / num_attention_heads.
    """

    vocab_size: int = 30528
    hidden_act: str = "silu"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    max_position_embeddings: int = 2048
    type_vocab_size: int = 2
    classifier_dropout: float | None = None

    undeclared: ClassVar = ("tie_word_embeddings",)
    turns_pairs: ClassVar = True
    numbers: ClassVar = ("rope_theta",)
    shaping: ClassVar = (*Config.shaping, "attention_probs_dropout_prob")
    decimal_numbers: ClassVar = ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout")
    heads_of = 2  # transformers rotates pairs of entries, and refuses an odd head size

    def __post_init__(self) -> None:
        for field in self.decimal_numbers:
            if is_int(value := getattr(self, field)):  # transformers accepts only floats
                object.__setattr__(self, field, float(value))
        super().__post_init__()

    @classmethod
    def refused(cls, content: Mapping[str, Any]) -> Iterator[Problem]:
        """Also refuse keys that change the tensors in nomic-ai's own program."""
        yield from super().refused(content)
        for key in ("qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "use_rms_norm"):
            if content.get(key):
                yield uncounted(key, content[key], "False")

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        if values["pad_token_id"] is None:
            message = N_("{config} needs a pad_token_id: a number, such as 0.")
            yield Problem.of(message, "pad_token_id", None, {"pad_token_id": 0}, config=cls.__name__)


def _body(t: Trace, c: NomicBertConfig, pooler: bool) -> Hidden:
    with t.ordered("embeddings", "pooler", "rotary_emb", "layers"):
        with t.module("embeddings", "NomicBertEmbeddings", component="embeddings"):
            bert.id_buffers(t, c)
            ids, types = t.inputs("input_ids", "token_type_ids")
            words = bert.words(t, c, ids, c.hidden_size)
            words = t.variable("embeddings", t.aside(words, "positions for layers"))
            rows = t.embedding("token_type_embeddings", types, c.type_vocab_size, c.hidden_size, role="token type")
            x = t.variable("embeddings", t.add("add_token_type", words, rows))
            x = t.variable("embeddings", t.norm("LayerNorm", x, c.layer_norm_eps))
            x = t.dropout("dropout", x, c.hidden_dropout_prob)
        x = layers(t, c, x, "NomicBert", bias=False)
        return Hidden(x, bert.pooled(t, c, x, "NomicBert") if pooler else None)


def layers(
    t: Trace, c: Config, x: Value, kind: str, *, bias: bool, bias_down: bool = False, dropout: float | None = None
) -> Value:
    """All layers with rotary angles; ``bias`` is the attention's, ``bias_down`` and ``dropout`` as in ``gated``."""
    with t.block("", component="encoder"):
        with t.block("rotary positions"):
            angles = t.angles("rotary_emb", f"{kind}RotaryEmbedding", x, c.attention_head_size)
        with t.repeat("layers", c.num_hidden_layers, f"{kind}Layer"), t.ordered(*_LAYER):
            heads, size = c.num_attention_heads, c.attention_head_size
            with t.attention("self_attn", f"{kind}Attention", heads, size, block="attention"):
                query, key, value = bert.projected(t, x, "q_proj", "k_proj", "v_proj", bias=bias)
                p = c.attention_probs_dropout_prob
                y = t.attend(query, key, value, AttentionOptions(dropout=p, dropout_name="", angles=(angles,)))
                y = t.linear("o_proj", y, c.hidden_size, role="output", bias=bias)
            with t.block("attention"):
                y = t.dropout("post_attention_dropout", t.variable("attention_output", y), c.hidden_dropout_prob)
                y = t.add("add_attention", x, y, role="add")
                x = t.variable("residual", t.norm("post_attention_layernorm", y, c.layer_norm_eps))
            y = eurobert.gated(t, c, x, f"{kind}MLP", bias=False, bias_down=bias_down, dropout=dropout)
            y = t.variable("hidden_states", y)
            with t.block("feed-forward"):
                y = t.dropout("post_mlp_dropout", y, c.hidden_dropout_prob)
                y = t.variable("hidden_states", t.add("add_mlp", x, y, role="add"))
                return t.norm("post_mlp_layernorm", y, c.layer_norm_eps)


_LAYER = (
    *("post_attention_layernorm", "post_attention_dropout", "post_mlp_dropout"),
    *("mlp", "self_attn", "post_mlp_layernorm"),
)
_class = ClassFactory("NomicBert")
_masked_lm = partial(bert.masked_lm, "NomicBert", prefix="nomic_bert", norm="layer_norm")
FAMILY = Family(
    "nomic_bert",
    "nomic_bert",
    NomicBertConfig,
    _body,
    (
        _class("base", bert.base),
        _class("masked-lm", _masked_lm),
        _class("sequence-classification", bert.sequence_classification, pooler=True),
        _class("token-classification", bert.token_classification),
    ),
    presets(NomicBertConfig, {"nomic-ai/nomic-embed-text-v1.5": {}}),
    peaks=True,
    prunes="no",
)
