"""The architecture: Hugging Face's modeling_bert.py, module by module, under its names and in its order.

This is the only place where the structure of BERT is written down. Everything that bertcalc shows (tensors,
totals, formulas, the printed tree) is read from the trees that are built here.
"""

from collections.abc import Callable
from typing import NamedTuple

from bertcalc.activations import ACTIVATIONS, OUTPUT
from bertcalc.config import BertConfig
from bertcalc.tree.nn import Activation, Attention, Dropout, Embedding, LayerNorm, Linear, Module, ModuleList


def build(config: BertConfig, architecture: str = "BertModel", *, add_pooling_layer: bool = True) -> Module:
    """The module tree of a Hugging Face class, for instance ``build(BertConfig(), "BertForMaskedLM")``.

    ``add_pooling_layer`` is BertModel's own option; every other class decides by itself, and passing False
    with one of those raises TypeError, as transformers does. An unknown class name raises ValueError.
    """
    if architecture not in ARCHITECTURES:
        raise ValueError(f"architecture {architecture!r} is unknown: it must be one of {', '.join(ARCHITECTURES)}")
    pooler, head = ARCHITECTURES[architecture]
    if architecture == "BertModel":
        return _model(config, add_pooling_layer)
    if not add_pooling_layer:
        raise TypeError(f"{architecture} has no option add_pooling_layer: only BertModel has")
    return Module(architecture, bert=_model(config, pooler), **head(config))


def _model(c: BertConfig, pooler: bool) -> Module:
    body = {"embeddings": _embeddings(c), "encoder": Module("BertEncoder", layer=_layers(c))}
    if pooler:
        body["pooler"] = Module(
            "BertPooler", dense=Linear(c.hidden_size, c.hidden_size), activation=Activation("Tanh", OUTPUT)
        )
    return Module("BertModel", **body)


def _embeddings(c: BertConfig) -> Module:
    return Module(
        "BertEmbeddings",
        word_embeddings=Embedding(c.vocab_size, c.hidden_size, c.pad_token_id),
        position_embeddings=Embedding(c.max_position_embeddings, c.hidden_size),
        token_type_embeddings=Embedding(c.type_vocab_size, c.hidden_size),
        LayerNorm=LayerNorm(c.hidden_size, c.layer_norm_eps),
        dropout=Dropout(c.hidden_dropout_prob),
    )


def _layers(c: BertConfig) -> ModuleList:
    parts = {"attention": _attention(c)}
    if c.add_cross_attention:
        parts["crossattention"] = _attention(c, cross=True)
    parts["intermediate"] = Module(
        "BertIntermediate", dense=Linear(c.hidden_size, c.intermediate_size), intermediate_act_fn=_activation(c)
    )
    parts["output"] = _add_and_norm("BertOutput", c.intermediate_size, c)
    return ModuleList(Module("BertLayer", **parts), c.num_hidden_layers)


def _attention(c: BertConfig, *, cross: bool = False) -> Module:
    """All heads at once: they share out the hidden units, so their number does not change the count."""
    if c.transformers_version == 4:
        kind = "BertSdpaSelfAttention"  # the class that transformers 4 picks by default, for both attentions
    else:
        kind = "BertCrossAttention" if cross else "BertSelfAttention"
    parts: dict[str, Module] = {name: Linear(c.hidden_size, c.hidden_size) for name in ("query", "key", "value")}
    parts["dropout"] = Dropout(c.attention_probs_dropout_prob)
    if c.position_embedding_type != "absolute" and not cross:
        # One row for each distance from -(P-1) to P-1, shared by the heads of a layer (Shaw et al. 2018).
        parts["distance_embedding"] = Embedding(2 * c.max_position_embeddings - 1, c.attention_head_size)
    attention = Attention(kind, c.num_attention_heads, c.attention_head_size, c.position_embedding_type, **parts)
    return Module("BertAttention", self=attention, output=_add_and_norm("BertSelfOutput", c.hidden_size, c))


def _add_and_norm(kind: str, in_features: int, c: BertConfig) -> Module:
    return Module(
        kind,
        dense=Linear(in_features, c.hidden_size),
        LayerNorm=LayerNorm(c.hidden_size, c.layer_norm_eps),
        dropout=Dropout(c.hidden_dropout_prob),
    )


def _activation(c: BertConfig) -> Activation:
    facts = ACTIVATIONS[c.hidden_act]
    return Activation(facts.kind, facts.kept, facts.extra, dict(facts.parameters))


def _predictions(c: BertConfig) -> Module:
    """The masked-LM head. Tied, its decoder is the word embedding table over again and costs nothing."""
    tied = {}
    if c.tie_word_embeddings:
        tied["weight"] = "bert.embeddings.word_embeddings.weight"
    if c.tie_word_embeddings or c.transformers_version == 4:
        # Untied, transformers 5 keeps the head's bias and the decoder's apart; 4 shares them all the same.
        tied["bias"] = "cls.predictions.bias"
    return Module(
        "BertLMPredictionHead",
        {"bias": (c.vocab_size,)},
        transform=Module(
            "BertPredictionHeadTransform",
            dense=Linear(c.hidden_size, c.hidden_size),
            transform_act_fn=_activation(c),
            LayerNorm=LayerNorm(c.hidden_size, c.layer_norm_eps),
        ),
        decoder=Linear(c.hidden_size, c.vocab_size, tied),
    )


def _pretraining(c: BertConfig) -> dict[str, Module]:
    heads = {"predictions": _predictions(c), "seq_relationship": Linear(c.hidden_size, 2)}
    return {"cls": Module("BertPreTrainingHeads", **heads)}


def _masked_lm(c: BertConfig) -> dict[str, Module]:
    return {"cls": Module("BertOnlyMLMHead", predictions=_predictions(c))}


def _next_sentence(c: BertConfig) -> dict[str, Module]:
    return {"cls": Module("BertOnlyNSPHead", seq_relationship=Linear(c.hidden_size, 2))}


def _classifier(c: BertConfig) -> dict[str, Module]:
    return _dropout_and_classifier(c, c.num_labels)


def _multiple_choice(c: BertConfig) -> dict[str, Module]:
    return _dropout_and_classifier(c, 1)


def _dropout_and_classifier(c: BertConfig, classes: int) -> dict[str, Module]:
    p = c.hidden_dropout_prob if c.classifier_dropout is None else c.classifier_dropout
    return {"dropout": Dropout(p), "classifier": Linear(c.hidden_size, classes)}


def _question_answering(c: BertConfig) -> dict[str, Module]:
    return {"qa_outputs": Linear(c.hidden_size, c.num_labels)}


class Architecture(NamedTuple):
    """What a class adds to the embeddings and the encoder."""

    pooler: bool
    head: Callable[[BertConfig], dict[str, Module]]


ARCHITECTURES: dict[str, Architecture] = {
    "BertModel": Architecture(True, lambda c: {}),
    "BertForPreTraining": Architecture(True, _pretraining),
    "BertForMaskedLM": Architecture(False, _masked_lm),
    "BertLMHeadModel": Architecture(False, _masked_lm),
    "BertForNextSentencePrediction": Architecture(True, _next_sentence),
    "BertForSequenceClassification": Architecture(True, _classifier),
    "BertForTokenClassification": Architecture(False, _classifier),
    "BertForQuestionAnswering": Architecture(False, _question_answering),
    "BertForMultipleChoice": Architecture(True, _multiple_choice),
}
