"""BERT: a program that follows Hugging Face's modeling_bert.py, with its names and in its order.

This is the only place that defines the structure of BERT. Tensors, totals, formulas, the printed tree, the walk, FLOPs
and memory are derived from it.

In the programs of all families, ``t`` is the trace, ``c`` the configuration, ``kind`` the prefix of the module class
names, such as Bert, and ``hidden`` the output of the body.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar

from bertcalc.config import Config
from bertcalc.config.fields import PositionEmbeddingType
from bertcalc.families.common import CACHE, ENCODER, ClassFactory, DecoderConfig
from bertcalc.families.common import TOKENS as TOKENS
from bertcalc.model.family import LANGUAGE_MODEL, Family, Hidden, Preset, Source, model_card
from bertcalc.model.trace import AttentionOptions, Trace, Value
from bertcalc.text import N_
from bertcalc.text.problem import Problem
from bertcalc.text.records import dataclass
from bertcalc.transformers4.version import unknown_activation

EMBEDDINGS = ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm", "dropout")
_SELF = ("query", "key", "value", "dropout", "distance_embedding")
_ADD_AND_NORM = ("dense", "LayerNorm", "dropout")


@dataclass(frozen=True)
class BertConfig(DecoderConfig):
    """Hugging Face's ``BertConfig``, with the same field names and defaults (bert-base-uncased).

    transformers 5 does not declare ``num_labels`` and ``position_embedding_type``. There, ``num_labels`` is a property
    of every configuration; ``position_embedding_type`` exists in transformers 4 only.
    """

    position_embedding_type: PositionEmbeddingType = "absolute"

    chunks: ClassVar = True

    @classmethod
    def own_relations(cls, values: Mapping[str, Any]) -> Iterator[Problem]:
        yield from super().own_relations(values)
        yield from unknown_activation(values)

    @property
    def ones_matter(self) -> bool:
        """Whether a size of 1 changes which tensors autograd saves: only with relative positions.

        The matrix products of relative positions copy their inputs, except for a single sequence, head or token.
        """
        return self.position_embedding_type != "absolute"


def _body(t: Trace, c: BertConfig, pooler: bool) -> Hidden:
    with t.module("embeddings", "BertEmbeddings", component="embeddings", order=EMBEDDINGS):
        x = summed_embeddings(t, c, c.hidden_size)
    x = encoder(t, c, x, "Bert")
    return Hidden(x, pooled(t, c, x, "Bert") if pooler else None)


def words(t: Trace, c: Config, ids: Value, width: int, name: str = "word_embeddings") -> Value:
    """Look up the word embedding of each token."""
    return t.embedding(name, ids, c.vocab_size, width, role="word", padding_idx=c.pad_token_id)


def positions(
    t: Trace, c: Config, ids: Value, width: int, name: str = "position_embeddings", *, padding: int | None = None
) -> Value:
    """Look up the position embeddings.

    With ``padding``, positions are counted from this token id, and each sequence has its own position ids. Otherwise,
    all sequences of a batch share the position ids.
    """
    places = Value("position_ids", (1, ids.shape[-1]) if padding is None else ids.shape, ids=True)
    return t.embedding(name, places, c.max_position_embeddings, width, role="position", padding_idx=padding)


def summed_embeddings(
    t: Trace, c: Config, width: int, *, padding: int | None = None, extra: Callable[[Value, Value], Value] | None = None
) -> Value:
    """The sum of word, token type and position embeddings, normalized.

    ``padding`` is as in ``positions``. ``extra`` adds further embeddings, given the token ids and the sum so far.
    """
    id_buffers(t, c)
    ids, types = t.inputs("input_ids", "token_type_ids")
    x = words(t, c, ids, width)
    kinds = t.embedding("token_type_embeddings", types, c.type_vocab_size, width, role="token type")
    x = t.add("add_token_type", x, kinds)
    if c.position_embedding_type == "absolute":
        x = t.add("add_position", x, positions(t, c, ids, width, padding=padding))
    else:  # transformers 4 builds the table, but never uses it
        with t.not_run():
            positions(t, c, ids, width)
    if extra:
        x = extra(ids, x)
    return t.dropout("dropout", t.norm("LayerNorm", x, c.layer_norm_eps), c.hidden_dropout_prob)


def id_buffers(t: Trace, c: Config) -> None:
    """Declare the buffers of the embeddings: position ids and, if there are token types, token type ids of 0."""
    for name in ("position_ids", "token_type_ids")[: 1 + c.has("type_vocab_size")]:
        t.buffer(name, (1, c.max_position_embeddings), ids=True)


def encoder(t: Trace, c: Config, x: Value, kind: str) -> Value:
    """Run all layers; ``kind`` is the prefix of the module class names."""
    seen = t.encoder_hidden_states(c.hidden_size)
    with (
        t.module("encoder", f"{kind}Encoder", component="encoder"),
        t.repeat("layer", c.num_hidden_layers, f"{kind}Layer"),
    ):
        with t.module("attention", f"{kind}Attention", block="attention"):
            y = _attention(t, c, x, x, kind)
        x = t.variable("self_attention_output", y)
        if c.add_cross_attention:
            with (
                nullcontext() if seen else t.not_run(),
                t.module("crossattention", f"{kind}Attention", block="cross-attention"),
            ):
                y = _attention(t, c, x, seen or x, kind, cross=True)
            x = t.variable("cross_attention_output", y) if seen else x
        return feed_forward(t, c, x, kind)


def feed_forward(t: Trace, c: Config, x: Value, kind: str, norm: str = "LayerNorm") -> Value:
    """The feed-forward network of a layer; ``norm`` is the class of its LayerNorm."""
    with t.module("intermediate", f"{kind}Intermediate", block="feed-forward"):
        y = t.linear("dense", x, c.intermediate_size, role="up")
        y = t.activation("intermediate_act_fn", y, c.hidden_act)
    with t.module("output", f"{kind}Output", block="feed-forward", order=_ADD_AND_NORM):
        return _add_and_norm(t, c, y, x, role="down", norm=norm)


def _attention(t: Trace, c: Config, x: Value, seen: Value, kind: str, *, cross: bool = False) -> Value:
    """The attention of a layer.

    The hidden units are divided among the heads, so the number of heads does not change the parameter count.
    """
    in_4 = c.position_embedding_type != "absolute"
    # SDPA is the default of transformers 4, for self-attention and cross-attention.
    start = "SdpaSelf" if in_4 else "Cross" if cross else "Self"
    heads, size = c.num_attention_heads, c.attention_head_size
    relative = in_4 and not cross
    with t.attention("self", f"{kind}{start}Attention", heads, size, order=_SELF if relative else ()):
        query = t.linear("query", x, c.hidden_size, role="query")
        key = t.linear("key", seen, c.hidden_size, role="key")
        value = t.linear("value", seen, c.hidden_size, role="value")
        how = AttentionOptions(
            dropout=c.attention_probs_dropout_prob,
            distances=partial(_distances, t, c) if relative else None,
            mask="encoder_attention_mask" if cross else "attention_mask",
            written_out=in_4,
        )
        y = t.attend(query, key, value, how)
    y = t.variable("self_outputs", y) if in_4 else y
    block = "cross-attention" if cross else "attention"
    with t.module("output", f"{kind}SelfOutput", block=block, order=_ADD_AND_NORM):
        return _add_and_norm(t, c, y, x, role="output")


def projected(t: Trace, x: Value, *names: str, bias: bool = True) -> tuple[Value, ...]:
    """Query, key and value, each from its own dense layer; ``names`` are the names of these layers."""
    roles = zip(names, ("query", "key", "value"), strict=True)
    return tuple(t.linear(name, x, x.shape[-1], role=role, bias=bias) for name, role in roles)


def _distances(t: Trace, c: Config, scores: Value, query: Value, key: Value) -> Value:
    """Add the relative position scores of transformers 4.

    The product with the query is from Shaw et al. 2018, the additional product with the key from Huang et al. 2020.
    """
    # With a cache, transformers uses the last token's distances for all tokens.
    queries = 1 if c.is_decoder and c.use_cache and t.batch.cached else query.shape[2]
    pairs = Value("distance_ids", (queries, key.shape[2]), ids=True)
    # One row for each distance from -(P-1) to P-1, shared by the heads of a layer (Shaw et al. 2018).
    rows, size = 2 * c.max_position_embeddings - 1, c.attention_head_size
    looked_up = t.embedding("distance_embedding", pairs, rows, size, role="distance")
    product = t.step("query_distances", "matmul", query, looked_up, shape=scores.shape)
    products = [t.variable("relative_position_scores_query", product)]
    if c.position_embedding_type == "relative_key_query":
        shape = (*scores.shape[:2], queries, *scores.shape[3:])
        product = t.step("key_distances", "matmul", key, looked_up, shape=shape)
        products.append(t.variable("relative_position_scores_key", product))
    return t.add("add_distances", scores, *products)


def _add_and_norm(t: Trace, c: Config, y: Value, x: Value, *, role: str, norm: str = "LayerNorm") -> Value:
    y = t.dropout("dropout", t.linear("dense", y, c.hidden_size, role=role), c.hidden_dropout_prob)
    return t.norm("LayerNorm", t.add("add", t.variable("hidden_states", y), x), c.layer_norm_eps, kind=norm)


def pooled(t: Trace, c: Config, x: Value, kind: str) -> Value:
    """The pooler: a dense layer and tanh over the first token."""
    with t.module("pooler", f"{kind}Pooler", component="pooler"):
        return t.activation("activation", t.linear("dense", t.first_token(x), c.hidden_size, role="dense"), "tanh")


def base(t: Trace, c: Config, hidden: Hidden) -> None:
    """No head: return the outputs of the body."""
    t.output("last_hidden_state", hidden.states)
    t.output("pooler_output", hidden.pooled)


def _predictions(kind: str, t: Trace, c: Config, x: Value, prefix: str = "", norm: str = "LayerNorm") -> Value:
    """The masked-LM head. With tied weights, the decoder is the word embedding table and adds no weight matrix.

    ``prefix`` is the prefix of the body, ``norm`` the name of the LayerNorm.
    """
    tied = {}
    if c.tie_word_embeddings:
        tied["weight"] = f"{prefix or kind.lower()}.embeddings.word_embeddings.weight"
    if c.tie_word_embeddings or c.position_embedding_type != "absolute":
        # If untied, the head and its decoder have separate biases in transformers 5, but one shared bias in 4.
        tied["bias"] = "cls.predictions.bias"
    with t.module("predictions", f"{kind}LMPredictionHead", block=LANGUAGE_MODEL):
        bias = t.parameter("bias", (c.vocab_size,), role="decoder bias")
        with t.module("transform", f"{kind}PredictionHeadTransform", block=LANGUAGE_MODEL):
            x = transformed(t, c, x, norm)
        return t.linear("decoder", x, c.vocab_size, role="decoder", tied=tied, using=bias)


def decoded(t: Trace, c: Config, x: Value, name: str, table: str, *, bias: bool = True) -> None:
    """Output a score for each token of the vocabulary; a tied weight is that of the word embeddings named ``table``."""
    tied = {"weight": f"{table}.weight"} if c.tie_word_embeddings else {}
    with t.block(LANGUAGE_MODEL):
        t.output("logits", t.linear(name, x, c.vocab_size, role="decoder", bias=bias, tied=tied))


def transformed(t: Trace, c: Config, x: Value, norm: str = "LayerNorm") -> Value:
    """The layers before the decoder of the masked-LM head: a dense layer, an activation, and the LayerNorm ``norm``."""
    x = t.activation("transform_act_fn", t.linear("dense", x, c.hidden_size, role="transform"), c.hidden_act)
    return t.norm(norm, x, c.layer_norm_eps)


def pretraining(kind: str, t: Trace, c: Config, hidden: Hidden) -> None:
    """The heads for masked language modeling and next sentence prediction."""
    with t.module("cls", f"{kind}PreTrainingHeads"):
        t.output("prediction_logits", _predictions(kind, t, c, hidden.states))
        t.output("seq_relationship_logits", _relationship(t, c, hidden))


def masked_lm(kind: str, t: Trace, c: Config, hidden: Hidden, *, prefix: str = "", norm: str = "LayerNorm") -> None:
    """A score for each token of the vocabulary at each position.

    ``prefix`` is the prefix of the body, ``norm`` the name of the LayerNorm.
    """
    with t.module("cls", f"{kind}OnlyMLMHead"):
        t.output("logits", _predictions(kind, t, c, hidden.states, prefix, norm))


def next_sentence(kind: str, t: Trace, c: Config, hidden: Hidden) -> None:
    """Two scores: for a second text that follows the first, and for a second text that does not."""
    with t.module("cls", f"{kind}OnlyNSPHead"):
        t.output("logits", _relationship(t, c, hidden))


def _relationship(t: Trace, c: Config, hidden: Hidden) -> Value:
    assert hidden.pooled is not None
    return t.linear("seq_relationship", hidden.pooled, 2, role="next sentence")


def sequence_classification(t: Trace, c: Config, hidden: Hidden) -> None:
    """A classifier over the pooled vector."""
    t.output("logits", classified(t, hidden.pooled, c.num_labels, c.head_dropout))


def token_classification(t: Trace, c: Config, hidden: Hidden) -> None:
    """A classifier over each token's vector."""
    t.output("logits", classified(t, hidden.states, c.num_labels, c.head_dropout))


def multiple_choice(t: Trace, c: Config, hidden: Hidden) -> None:
    """A score for each choice, from the choice's pooled vector."""
    side_by_side(t, classified(t, hidden.pooled, 1, c.head_dropout))


def side_by_side(t: Trace, scores: Value) -> None:
    """Output the scores with separate axes for batch and choices; in ``scores``, they share an axis."""
    t.output("logits", t.step("reshape", "view", scores, shape=(t.batch.batch_size, t.batch.num_choices)))


def classified(t: Trace, x: Value | None, classes: int, p: float) -> Value:
    """The scores of a classifier for ``classes`` classes, after dropout with probability ``p``."""
    assert x is not None
    return t.linear("classifier", t.dropout("dropout", x, p), classes, role="classifier")


def summarized(
    t: Trace, x: Value, width: int | None, activation: str | None, *, role: str, first: float = 0, last: float = 0
) -> Value:
    """The modules of transformers' SequenceSummary; a module that is switched off is an Identity.

    ``width`` is the output size of the dense layer (None for no dense layer); ``first`` and ``last`` are dropout
    probabilities.
    """
    with t.ordered("summary", "activation", "first_dropout", "last_dropout"):
        x = t.dropout_or_identity("first_dropout", x, first)
        if width is None:
            t.idle("summary", "Identity")
        else:
            x = t.linear("summary", x, width, role=role)
        if activation is None:
            t.idle("activation", "Identity")
        else:
            x = t.activation("activation", x, activation)
        return t.dropout_or_identity("last_dropout", x, last)


def question_answering(t: Trace, c: Config, hidden: Hidden) -> None:
    """Two scores for each token: whether the answer starts there, and whether it ends there."""
    answers(t, hidden.states, c.num_labels)


def answers(t: Trace, x: Value, labels: int) -> None:
    """Output question-answering scores for ``x``, which has a vector for each token."""
    split_answers(t, t.linear("qa_outputs", x, labels, role="answer span"))


def split_answers(t: Trace, logits: Value) -> None:
    """Output the start scores and the end scores of an answer separately."""
    for name in ("start_logits", "end_logits"):
        t.output(name, t.step(name, "copy", logits, shape=logits.shape[:-1]))


_BERT = "https://github.com/google-research/bert/blob/master/"
_GOOGLE = Source(N_("The README of Google's BERT"), f"{_BERT}README.md")
_MULTILINGUAL = Source(N_("The list of multilingual models of Google's BERT"), f"{_BERT}multilingual.md")
_AS_BGE = Source(
    N_("bert-large with the vocabulary of bert-base-chinese, as in bge-large-zh"), model_card("BAAI/bge-large-zh").url
)
_MINIATURES = Source(N_("Turc et al. 2019, smaller BERT models"), "https://arxiv.org/abs/1908.08962")


def _preset(vocab: int, hidden: int, layers: int, heads: int, source: Source, positions: int = 512) -> Preset:
    config = BertConfig(
        vocab_size=vocab,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
        max_position_embeddings=positions,
    )
    return Preset(config, source)


_PRESETS: dict[str, Preset] = {
    "bert-base-uncased": _preset(30522, 768, 12, 12, _GOOGLE),
    "bert-large-uncased": _preset(30522, 1024, 24, 16, _GOOGLE),
    "bert-base-cased": _preset(28996, 768, 12, 12, _GOOGLE),
    "bert-large-cased": _preset(28996, 1024, 24, 16, _GOOGLE),
    "bert-base-multilingual-cased": _preset(119547, 768, 12, 12, _MULTILINGUAL),
    "bert-base-chinese": _preset(21128, 768, 12, 12, _MULTILINGUAL),
    "bert-base-japanese-v3": _preset(32768, 768, 12, 12, model_card("tohoku-nlp/bert-base-japanese-v3")),
    # An example from a Chinese blog post; bge-large-zh, gte-large-zh and m3e-large have exactly these sizes.
    "bert-large-chinese": _preset(21128, 1024, 24, 16, _AS_BGE),
    "all-MiniLM-L6-v2": _preset(30522, 384, 6, 12, model_card("sentence-transformers/all-MiniLM-L6-v2")),
    "all-MiniLM-L12-v2": _preset(30522, 384, 12, 12, model_card("sentence-transformers/all-MiniLM-L12-v2")),
    **{
        f"bert_uncased_L-{layers}_H-{hidden}_A-{hidden // 64}": _preset(
            30522, hidden, layers, hidden // 64, _MINIATURES
        )
        for layers in (2, 4, 6, 8, 10, 12)
        for hidden in (128, 256, 512, 768)
    },
    "bge-small-zh-v1.5": _preset(21128, 512, 4, 8, model_card("BAAI/bge-small-zh-v1.5")),
    # A BERT with XLM-RoBERTa's vocabulary: 82 % of its parameters are word embeddings. LaBSE, with a different
    # vocabulary, has the same share.
    "multilingual-e5-small": _preset(250037, 384, 12, 12, model_card("intfloat/multilingual-e5-small")),
    "LaBSE": _preset(501153, 768, 12, 12, model_card("sentence-transformers/LaBSE")),
    "mxbai-embed-xsmall-v1": _preset(
        30522, 384, 6, 12, model_card("mixedbread-ai/mxbai-embed-xsmall-v1"), positions=4096
    ),
}

_class = ClassFactory("Bert")
_masked_lm = partial(masked_lm, "Bert")
FAMILY = Family(
    "bert",
    "bert",
    BertConfig,
    _body,
    (
        _class("base", base, *ENCODER, *CACHE, pooler=True),
        _class("pretraining", partial(pretraining, "Bert"), after=("next_sentence_label",), pooler=True),
        _class("masked-lm", _masked_lm, *ENCODER),
        _class("causal-lm", _masked_lm, *ENCODER, after=(*CACHE, "logits_to_keep"))._replace(name="BertLMHeadModel"),
        _class("next-sentence", partial(next_sentence, "Bert"), pooler=True),
        _class("sequence-classification", sequence_classification, pooler=True),
        _class("token-classification", token_classification),
        _class("question-answering", question_answering),
        _class("multiple-choice", multiple_choice, pooler=True),
    ),
    _PRESETS,
    like_bert=True,
    peaks=True,
)
