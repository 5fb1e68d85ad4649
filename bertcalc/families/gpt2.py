"""GPT-2 (Radford et al. 2019): a decoder with LayerNorms in front of its blocks and one matrix for query, key, value.

The program follows Hugging Face's modeling_gpt2.py.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, ClassVar

from bertcalc.config import Config
from bertcalc.config.fields import is_int
from bertcalc.families import bert
from bertcalc.families.common import ENCODER, ClassFactory, presets
from bertcalc.model.family import Family, Hidden
from bertcalc.model.modules import AFTER_LAYERS
from bertcalc.model.trace import AttentionOptions, Trace, Value, any_is_one
from bertcalc.text import N_
from bertcalc.text.records import dataclass

_LAYER = ("ln_1", "attn", "ln_2", "crossattention", "ln_cross_attn", "mlp")
_ATTENTION = ("c_attn", "q_attn", "c_proj", "attn_dropout", "resid_dropout")
_OF_ALL_CHOICES = ("first", "last")


@dataclass(frozen=True)
class GPT2Config(Config):
    """Hugging Face's ``GPT2Config``, with the same field names and defaults (gpt2).

    ``n_inner`` None means four times n_embd, and is replaced by that number.
    """

    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    n_inner: int | None = None
    activation_function: str = "gelu_new"
    resid_pdrop: float = 0.1
    embd_pdrop: float = 0.1
    attn_pdrop: float = 0.1
    layer_norm_epsilon: float = 1e-5
    initializer_range: float = 0.02
    summary_type: str = "cls_index"
    summary_use_proj: bool = True
    summary_activation: str | None = None
    summary_proj_to_labels: bool = True
    summary_first_dropout: float = 0.1
    scale_attn_weights: bool = True
    use_cache: bool = True
    bos_token_id: int | None = 50256
    eos_token_id: int | None = 50256
    pad_token_id: int | None = None
    scale_attn_by_inverse_layer_idx: bool = False
    reorder_and_upcast_attn: bool = False
    add_cross_attention: bool = False
    tie_word_embeddings: bool = True
    num_labels: int = 2

    stores_masks: ClassVar = True
    attribute_map: ClassVar = {
        "hidden_size": "n_embd",
        "max_position_embeddings": "n_positions",
        "num_attention_heads": "n_head",
        "num_hidden_layers": "n_layer",
        # transformers has the following fields under the family's names only.
        "intermediate_size": "n_inner",
        "hidden_act": "activation_function",
        "hidden_dropout_prob": "resid_pdrop",
        "attention_probs_dropout_prob": "attn_pdrop",
        "layer_norm_eps": "layer_norm_epsilon",
        # Separate shared names, because other families' summary_* fields have different valid values.
        "choice_token": "summary_type",
        "choice_activation": "summary_activation",
    }
    shaping: ClassVar = (
        *Config.shaping,
        *("use_cache", "choice_token", "summary_use_proj", "choice_activation", "summary_first_dropout"),
    )
    is_decoder = True  # in every model, so it is not a field

    @property
    def ones_matter(self) -> bool:
        """Whether a size of 1 changes which tensors autograd saves.

        With a cache, keys and values are copied, and the query is copied only with several sequences and heads. If
        summary_type is first or last, a vector of each choice is copied only with several choices.
        """
        return self.use_cache or self.summary_type in _OF_ALL_CHOICES

    @classmethod
    def if_missing(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        """None for n_inner, so that it becomes four times the file's n_embd, not four times the default n_embd."""
        return {"n_inner": None}

    def __post_init__(self) -> None:
        if self.n_inner is None:
            object.__setattr__(self, "n_inner", 4 * self.n_embd if is_int(self.n_embd) else None)
        super().__post_init__()


def _body(t: Trace, c: GPT2Config, pooler: bool) -> Hidden:
    with t.block("", component="embeddings"):
        (ids,) = t.inputs("input_ids")
        words = t.embedding("wte", ids, c.vocab_size, c.n_embd, role="word")
        words = t.variable("inputs_embeds", t.aside(words, "padding"))
        rows = t.aside(bert.positions(t, c, ids, c.n_embd, "wpe"), "positions for layers")
        rows = t.variable("position_embeds", rows)
        x = t.variable("hidden_states", t.add("add_position", words, rows))
        x = t.dropout("drop", x, c.embd_pdrop, role="embeddings dropout")
        x = t.variable("hidden_states", t.aside(x, "masks"))
    with t.block("", component="encoder"):
        seen = t.encoder_hidden_states(c.n_embd)
        with t.repeat("h", c.n_layer, "GPT2Block"), t.ordered(*_LAYER):
            x = _layer(t, c, x, seen)
        x = t.variable("hidden_states", x)
        with t.block(AFTER_LAYERS):
            x = t.variable("hidden_states", t.norm("ln_f", x, c.layer_norm_eps))
    return Hidden(x, None)


def _layer(t: Trace, c: GPT2Config, x: Value, seen: Value | None) -> Value:
    with t.block("attention"):
        y = t.variable("hidden_states", t.norm("ln_1", x, c.layer_norm_eps))
        y = t.variable("attn_output", _attention(t, c, "attn", y))
        x = t.variable("hidden_states", t.add("add_attention", y, x, role="add"))
    if c.add_cross_attention:
        with nullcontext() if seen else t.not_run(), t.block("cross-attention"):
            y = t.variable("hidden_states", t.norm("ln_cross_attn", x, c.layer_norm_eps))
            y = t.variable("cross_attn_output", _attention(t, c, "crossattention", y, seen or x))
            x = t.variable("hidden_states", t.add("add_crossattention", x, y, role="add"))
    with t.block("feed-forward"):
        y = t.variable("hidden_states", t.norm("ln_2", x, c.layer_norm_eps))
        with t.module("mlp", "GPT2MLP", block="feed-forward", order=("c_fc", "c_proj", "act", "dropout")):
            y = t.activation("act", t.conv1d("c_fc", y, c.intermediate_size, role="up"), c.hidden_act)
            y = t.dropout("dropout", t.conv1d("c_proj", y, c.n_embd, role="down"), c.resid_pdrop)
        return t.add("add_mlp", x, y, role="add")


def _attention(t: Trace, c: GPT2Config, name: str, x: Value, seen: Value | None = None) -> Value:
    """Attention with one matrix for query, key and value; cross attention has a separate matrix for the query."""
    block = "attention" if seen is None else "cross-attention"
    with t.attention(name, "GPT2Attention", c.n_head, c.attention_head_size, block=block, order=_ATTENTION):
        if seen is None:
            together = t.conv1d("c_attn", x, 3 * c.n_embd, role="query, key, value")
            query, key, value = t.cut(together, "query", "key", "value")
        else:
            query = t.conv1d("q_attn", x, c.n_embd, role="query")
            key, value = t.cut(t.conv1d("c_attn", seen, 2 * c.n_embd, role="key, value"), "key", "value")
        how = AttentionOptions(
            dropout=c.attn_pdrop,
            dropout_name="attn_dropout",
            cached=c.use_cache and t.batch.cached,
            mask="attention_mask" if seen is None else "encoder_attention_mask",
        )
        y = t.attend(query, key, value, how)
        return t.dropout("resid_dropout", t.conv1d("c_proj", y, c.n_embd, role="output"), c.resid_pdrop)


def _language_model(t: Trace, c: GPT2Config, hidden: Hidden) -> None:
    bert.decoded(t, c, hidden.states, "lm_head", "transformer.wte", bias=False)


def _sequence_classification(t: Trace, c: GPT2Config, hidden: Hidden) -> None:
    """Scores for every token; only the scores of each sequence's last token are used."""
    scores = t.linear("score", hidden.states, c.num_labels, role="classifier", bias=False)
    t.output("logits", t.step("last_token", "copy", scores, shape=(scores.shape[0], c.num_labels)))


def _token_classification(t: Trace, c: GPT2Config, hidden: Hidden) -> None:
    """A classifier over each token's vector, with a fixed dropout of 0.1."""
    t.output("logits", bert.classified(t, hidden.states, c.num_labels, 0.1))


def _question_answering(t: Trace, c: GPT2Config, hidden: Hidden) -> None:
    with t.block("two scores"):
        logits = t.linear("qa_outputs", hidden.states, 2, role="answer span")
    bert.split_answers(t, logits)


def _double_heads(t: Trace, c: GPT2Config, hidden: Hidden) -> None:
    """Scores for the tokens of the vocabulary, and a score for each choice."""
    batch, x = t.batch, hidden.states
    apart = (batch.batch_size, batch.num_choices, *x.shape[1:])
    x = t.step("choices_apart", "view", x, shape=apart)
    _language_model(t, c, Hidden(x, None))
    width = 1 if c.summary_use_proj else None
    with t.module("multiple_choice_head", "GPT2SequenceSummary", block="choice"):
        x = _of_each_choice(t, c, x)
        x = bert.summarized(t, x, width, c.summary_activation, role="classifier", first=c.summary_first_dropout)
        shape = x.shape[:-1] if any_is_one(x.shape[-1]) else x.shape
        t.output("mc_logits", t.step("squeeze", "view", x, shape=shape))


def _of_each_choice(t: Trace, c: GPT2Config, x: Value) -> Value:
    """The vector that summary_type selects for each choice: with cls_index, the vector of one token.

    With other values, transformers picks or averages along the axis of choices instead of tokens.
    """
    batch, choices, length, width = x.shape
    if c.summary_type == "cls_index":
        return t.step("chosen_token", "gather", x, shape=(batch, choices, width))
    shape = (batch, length, width)
    if c.summary_type == "mean":
        return t.step("tokens", "mean", x, shape=shape)
    # A matrix product copies an input that is not contiguous; after a dropout it is contiguous.
    copied = not any_is_one(batch, choices, length) and c.summary_use_proj and c.summary_first_dropout == 0
    return t.step("tokens", "copy" if copied else "view", x, shape=shape)


_TOKENS = ("attention_mask", "token_type_ids", "position_ids", "inputs_embeds")
_class = ClassFactory("GPT2", ("input_ids", "past_key_values", *_TOKENS))
_language_modelling = _class(
    "causal-lm", _language_model, *ENCODER, after=("use_cache", "logits_to_keep"), caches_with_labels=True
)
_WITHOUT_CROSS: dict[str, Any] = {
    "after": ("use_cache",),
    "caches_with_labels": True,
    "withholds": ("cross_attentions",),
}
FAMILY = Family(
    "gpt2",
    "transformer",
    GPT2Config,
    _body,
    (
        _class("base", bert.base, *ENCODER, after=("use_cache",)),
        _language_modelling._replace(name="GPT2LMHeadModel"),
        _class(
            "double-heads",
            _double_heads,
            "mc_token_ids",
            laid_out=("position_ids", "inputs_embeds"),
            **_WITHOUT_CROSS | {"after": ("mc_labels", "use_cache")},
        ),
        _class("sequence-classification", _sequence_classification, finds_last_token=True, **_WITHOUT_CROSS),
        _class(
            "token-classification",
            _token_classification,
            **_WITHOUT_CROSS | {"withholds": ("past_key_values", "cross_attentions")},
        ),
        ClassFactory("GPT2", ("input_ids", *_TOKENS))("question-answering", _question_answering),
    ),
    presets(
        GPT2Config,
        {
            "openai-community/gpt2": {},
            "openai-community/gpt2-medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
            "openai-community/gpt2-large": {"n_embd": 1280, "n_layer": 36, "n_head": 20},
            "openai-community/gpt2-xl": {"n_embd": 1600, "n_layer": 48, "n_head": 25},
            "distilbert/distilgpt2": {"n_layer": 6},
        },
    ),
    cross_cache=True,
    buffers=(".attn.bias", ".attn.masked_bias"),
    meanings={
        "token_type_ids": N_("Further token ids, whose vectors are added to the vectors of input_ids; none by default.")
    },
    peaks=True,
)
