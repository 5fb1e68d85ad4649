"""Every configuration field, described once: its meaning, its valid values, and the letter of a size.

Families choose among these fields and set their own defaults (``bertcalc.config.Config``). If a family has a different
name for a field, its ``attribute_map`` maps the name used here to the family's.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from bertcalc.config.activations import ACTIVATIONS
from bertcalc.text import N_

PositionEmbeddingType = Literal["absolute", "relative_key", "relative_key_query"]
POSITION_EMBEDDING_TYPES: tuple[PositionEmbeddingType, ...] = ("absolute", "relative_key", "relative_key_query")

SUMMARY_TYPES = ("first", "last")
CLASSIFIER_POOLINGS = ("cls", "mean")
SCORE_POOLINGS = ("bos", "mean", "late")
_RELATIVE_NORMS = N_("layer_norm or none")
RELATIVE_NORMS = tuple(_RELATIVE_NORMS.split(" or "))
CHOICE_TOKENS = ("cls_index", "first", "last", "mean")


class Field(NamedTuple):
    """The meaning of a field, its valid values (in words and as a check), and the letter and limits of a size.

    A field with a letter but no limits appears in formulas, but cannot be a column or an axis, because its limit
    depends on a different field. ``choices`` are the valid values of a text field, except for activations.
    """

    meaning: str
    wanted: str
    is_right: Callable[[Any], bool]
    letter: str = ""
    low: int = 0
    high: int = 0
    choices: tuple[Any, ...] = ()


def is_int(value: object) -> bool:
    """Whether a value is an int, but not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return is_int(value) or (isinstance(value, float) and math.isfinite(value))


def _is_both(value: Any) -> bool:
    """Whether a text or a list contains both kinds of distance scores, c2p and p2c."""
    named = value.lower().split("|") if isinstance(value, str) else value
    return isinstance(named, list) and sorted(map(str, named)) == ["c2p", "p2c"]


def _size(meaning: str, letter: str, high: int, *, low: int = 1) -> Field:
    """A whole number that determines tensor shapes.

    Each upper limit is far above any existing model, yet low enough that every total stays below 2**63, so that Python,
    NumPy and PyTorch all count it exactly.
    """
    return Field(
        meaning,
        N_("a whole number from {low} to {high}"),
        lambda value: is_int(value) and low <= value <= high,
        letter,
        low,
        high,
    )


def _one_of(meaning: str, wanted: str, choices: tuple[str, ...]) -> Field:
    return Field(meaning, wanted, lambda value: isinstance(value, str) and value in choices, choices=choices)


_MOST_TOKENS = 10_000_000
_ACTIVATION = (
    N_("the name of a transformers activation function"),
    lambda value: isinstance(value, str) and value in ACTIVATIONS,
)
_ACTIVATION_WITHOUT_TENSORS = (
    N_("the name of a transformers activation function without parameters"),
    lambda value: isinstance(value, str) and value in ACTIVATIONS and not ACTIVATIONS[value].parameters,
)
_PROBABILITY = (N_("a probability from 0 to 1"), lambda value: is_number(value) and 0 <= value <= 1)
_PROBABILITY_OR_NONE = (
    N_("a probability from 0 to 1, or None"),
    lambda value: value is None or (is_number(value) and 0 <= value <= 1),
)
# transformers refuses an int for these fields.
_POSITIVE = (N_("a decimal number above 0"), lambda value: isinstance(value, float) and 0 < value < math.inf)
_TOKEN_ID = (
    N_("a token id below 10,000,000, or None"),
    lambda value: value is None or (is_int(value) and 0 <= value < _MOST_TOKENS),
)
_ONE = (N_("1"), lambda value: is_int(value) and value == 1)
_TRUE = (N_("True"), lambda value: value is True)
_FALSE = (N_("False"), lambda value: value is False)
_BOOL = (N_("True or False"), lambda value: isinstance(value, bool))
# A size has the same letter in every formula: V, H, L and A as in the papers, I, P and T as in the tensor names. The
# limit of num_labels is low because Hugging Face's configurations have a dictionary entry for every label.
FIELDS: dict[str, Field] = {
    "vocab_size": _size(
        N_("Size of the vocabulary in word pieces: rows of the word embedding table."), "V", _MOST_TOKENS
    ),
    "hidden_size": _size(N_("Size of the vector for each token, from the embeddings to the last layer."), "H", 65_536),
    "num_hidden_layers": _size(N_("Number of Transformer layers."), "L", 1_000),
    "num_attention_heads": _size(
        N_("Number of attention heads. They divide the hidden units evenly, so their number must divide hidden_size."),
        "A",
        65_536,
    ),
    "intermediate_size": _size(
        N_("Size of the vector for each token inside the feed-forward network of a layer."), "I", 1_000_000
    ),
    "hidden_act": Field(
        N_(
            "The activation function in the feed-forward network and in the masked-LM head; only prelu and xielu "
            "have parameters."
        ),
        *_ACTIVATION,
    ),
    "hidden_dropout_prob": Field(
        N_("Dropout probability after the embeddings and after the dense layers of each layer."),
        *_PROBABILITY,
    ),
    "attention_probs_dropout_prob": Field(N_("Dropout probability applied to the attention weights."), *_PROBABILITY),
    "max_position_embeddings": _size(
        N_("The longest sequence: rows of the position embedding table, if there is one."), "P", 1_000_000
    ),
    "type_vocab_size": _size(
        N_("Number of token types (first sentence, second sentence): rows of the token type embedding table."),
        "T",
        1_000_000,
    ),
    "initializer_range": Field(N_("Standard deviation of the initial weights."), *_POSITIVE),
    "layer_norm_eps": Field(N_("A small constant that keeps LayerNorm from dividing by 0."), *_POSITIVE),
    "pad_token_id": Field(
        N_(
            "The id of the token that pads short sequences; its embedding is stored, but looking it up does not "
            "train it."
        ),
        *_TOKEN_ID,
    ),
    "position_embedding_type": _one_of(
        N_(
            "How positions are encoded: by a learned embedding for each position or (transformers 4) for each distance."
        ),
        N_("absolute, relative_key or relative_key_query"),
        POSITION_EMBEDDING_TYPES,
    ),
    "use_cache": Field(
        N_("Whether a decoder returns keys and values, so that they are not computed again for the next token."),
        *_BOOL,
    ),
    "classifier_dropout": Field(
        N_("Dropout probability before the classifier; None means hidden_dropout_prob."), *_PROBABILITY_OR_NONE
    ),
    "is_decoder": Field(
        N_("Whether each token attends only to itself and to earlier tokens, so that keys and values can be cached."),
        *_BOOL,
    ),
    "add_cross_attention": Field(
        N_("Whether each layer also has cross-attention, which attends to an encoder's output; for decoders only."),
        *_BOOL,
    ),
    "bos_token_id": Field(N_("The id of the token that starts a generated text."), *_TOKEN_ID),
    "eos_token_id": Field(N_("The id of the token that ends a generated text."), *_TOKEN_ID),
    "tie_word_embeddings": Field(N_("Whether the masked-LM head's decoder shares the word embedding table."), *_BOOL),
    "num_labels": _size(
        N_("Number of classes of a classifier, or of scores for each token in question answering."), "C", 100_000
    ),
}
# Fields that only some families have. Their letters differ from the letters of all other sizes.
OWN_FIELDS: dict[str, Field] = {
    "embedding_size": _size(
        N_("Size of the embedding vectors, before they are projected to hidden_size."), "E", 65_536
    ),
    "task_type_vocab_size": _size(
        N_("Number of tasks: rows of the task embedding table, if there is one."), "K", 1_000_000
    ),
    "use_task_id": Field(N_("Whether there is a table of task embeddings, which are added to each token."), *_BOOL),
    "num_hidden_groups": Field(N_("Number of layer groups; the layers of a group share their tensors."), *_ONE),
    "inner_group_num": Field(N_("Number of layers in each group."), *_ONE),
    "relative_attention_num_buckets": _size(
        N_(
            "Number of distance buckets: rows of the table of relative positions. Each short distance has its own "
            "bucket."
        ),
        "R",
        1_000_000,
        low=32,  # transformers sorts distances into 32 buckets, whatever this field says
    ),
    "classifier_dropout_prob": Field(N_("Dropout probability before the classifier."), *_PROBABILITY),
    "summary_type": _one_of(
        N_("Which token represents a choice in multiple choice: the first or the last."),
        N_("first or last"),
        SUMMARY_TYPES,
    ),
    "summary_use_proj": Field(N_("Whether multiple choice has a dense layer over the token of each choice."), *_BOOL),
    "summary_activation": Field(N_("The activation function after the dense layer of multiple choice."), *_ACTIVATION),
    "summary_last_dropout": Field(
        N_("Dropout probability after the activation, before the scores of the choices."), *_PROBABILITY
    ),
    "relative_attention": Field(N_("Whether attention scores depend on the distance between two tokens."), *_BOOL),
    "max_relative_positions": Field(
        N_(
            "Distances beyond this value are clipped; -1 means max_position_embeddings. Without buckets, the table of "
            "relative embeddings has twice this number of rows."
        ),
        N_("a whole number up to 1,000,000"),
        lambda value: is_int(value) and value <= 1_000_000,
    ),
    "position_buckets": Field(
        N_(
            "Number of distance buckets in each direction: the table of relative embeddings has twice as many "
            "rows. With -1, each distance has its own row."
        ),
        N_("a whole number from {low} to {high}, or -1"),
        lambda value: is_int(value) and (value < 1 or 2 <= value <= 1_000_000),
        "D",
        2,  # not 1, because transformers divides by half of this value, rounded down
        1_000_000,
    ),
    "norm_rel_ebd": _one_of(
        N_("Whether there is a LayerNorm over the table of relative embeddings."), _RELATIVE_NORMS, RELATIVE_NORMS
    ),
    "share_att_key": Field(
        N_(
            "Whether position queries and position keys use the matrices of the tokens' queries and keys, "
            "instead of their own."
        ),
        *_BOOL,
    ),
    "pos_att_type": Field(
        N_("Additional terms of the attention scores: content to position (c2p) and position to content (p2c)."),
        N_("p2c|c2p or None"),
        lambda value: value is None or _is_both(value),
        choices=("p2c|c2p", None),
    ),
    "conv_kernel_size": Field(
        N_("Width, in tokens, of a convolution in parallel with the first layer; 0 means no convolution."),
        N_("0, or an odd number from 1 to 99"),
        lambda value: is_int(value) and (value == 0 or (0 < value < 100 and value % 2 == 1)),
    ),
    "conv_act": Field(N_("The activation function after the convolution."), *_ACTIVATION_WITHOUT_TENSORS),
    "position_biased_input": Field(
        N_("Whether there is a table of position embeddings, which are added to each token."), *_BOOL
    ),
    "pooler_dropout": Field(N_("Dropout probability before the dense layer of a classifier."), *_PROBABILITY),
    "pooler_hidden_act": Field(
        N_("The activation function after the dense layer of a classifier."), *_ACTIVATION_WITHOUT_TENSORS
    ),
    "legacy": Field(
        N_(
            "Whether the masked-LM head is the same as BERT's; otherwise it multiplies by the word "
            "embeddings, tied or not."
        ),
        *_BOOL,
    ),
    "embd_pdrop": Field(N_("Dropout probability after the embeddings."), *_PROBABILITY),
    "choice_token": _one_of(
        N_(
            "How a choice is represented: by the token with a given index (cls_index), the first "
            "token, the last token, or the mean."
        ),
        N_("cls_index, first, last or mean"),
        CHOICE_TOKENS,
    ),
    "choice_activation": Field(
        N_("The activation function after the scores of the choices, if there is one."),
        N_("the name of a transformers activation function, or None"),
        lambda value: value is None or (isinstance(value, str) and value in ACTIVATIONS),
    ),
    "summary_proj_to_labels": Field(
        N_("Whether the dense layer of multiple choice gives a score for each choice."), *_TRUE
    ),
    "summary_first_dropout": Field(
        N_("Dropout probability before the dense layer that scores the choices."), *_PROBABILITY
    ),
    "scale_attn_weights": Field(
        N_("Whether attention scores are divided by the square root of the head size."), *_BOOL
    ),
    "scale_attn_by_inverse_layer_idx": Field(
        N_("Whether the attention scores of layer i are also divided by i + 1."), *_BOOL
    ),
    "reorder_and_upcast_attn": Field(
        N_("Whether attention scores are computed in float32 and in a different order."), *_FALSE
    ),
    "sinusoidal_pos_embds": Field(
        N_("Whether the position embeddings are initialized with sines and cosines."), *_BOOL
    ),
    "qa_dropout": Field(N_("Dropout probability before the question-answering scores."), *_PROBABILITY),
    "seq_classif_dropout": Field(
        N_("Dropout probability before the classifier in sequence classification and multiple choice."), *_PROBABILITY
    ),
    "initializer_cutoff_factor": Field(
        N_("Number of standard deviations at which the initial weights are truncated."), *_POSITIVE
    ),
    "norm_bias": Field(N_("Whether LayerNorms have a bias (beta) in addition to their weight (gamma)."), *_BOOL),
    "attention_bias": Field(N_("Whether the dense layers of the attention have biases."), *_BOOL),
    "mlp_bias": Field(N_("Whether the dense layers of the feed-forward network have biases."), *_BOOL),
    "decoder_bias": Field(N_("Whether the decoder of the masked-LM head has a bias."), *_BOOL),
    "classifier_bias": Field(N_("Whether the dense layer of each head has a bias."), *_BOOL),
    "cls_token_id": Field(N_("The id of the token that begins a text."), *_TOKEN_ID),
    "sep_token_id": Field(N_("The id of the token that separates two texts."), *_TOKEN_ID),
    "local_attention": Field(
        N_("Number of tokens that a token attends to in layers with local attention, half of them on each side."),
        N_("a whole number from 1 to 1,000,000"),
        lambda value: is_int(value) and 1 <= value <= 1_000_000,
    ),
    "global_attn_every_n_layers": Field(
        N_("One in this many layers, starting with the first, attends to all tokens; the others use local attention."),
        N_("a whole number from 1 to 50"),
        lambda value: is_int(value) and 1 <= value <= 50,
    ),
    "embedding_dropout": Field(N_("Dropout probability after the embeddings."), *_PROBABILITY),
    "mlp_dropout": Field(N_("Dropout probability inside the feed-forward network."), *_PROBABILITY),
    "classifier_pooling": _one_of(
        N_("How a classifier represents a sequence: by its first token, or by the mean of all tokens."),
        N_("cls or mean"),
        CLASSIFIER_POOLINGS,
    ),
    "score_pooling": _one_of(
        N_(
            "The input of a classifier: the first token (bos), the mean of all tokens (mean), or each token, "
            "with the scores averaged (late)."
        ),
        N_("bos, mean or late"),
        SCORE_POOLINGS,
    ),
    "num_key_value_heads": Field(
        N_("Number of key and value heads, each shared by several query heads; None means as many as query heads."),
        N_("a whole number, 1 or more, or None"),
        lambda value: value is None or (is_int(value) and value >= 1),
        "G",
    ),
    "pretraining_tp": Field(N_("Number of parts into which the matrices were split in training."), *_ONE),
    "mask_token_id": Field(
        N_("The id of the token that replaces a masked token."),
        N_("a token id below 10,000,000"),
        lambda value: is_int(value) and 0 <= value < _MOST_TOKENS,
    ),
    "classifier_activation": Field(N_("The activation function in each head."), *_ACTIVATION),
    "deterministic_flash_attn": Field(N_("Whether to use deterministic flash attention, which is slower."), *_BOOL),
    "sparse_prediction": Field(
        N_("Whether the masked-LM head runs only at positions that have a label, if labels are given."), *_BOOL
    ),
    "sparse_pred_ignore_index": Field(
        N_("With sparse_prediction, the label that means “no label”."),
        N_("a whole number"),
        lambda value: is_int(value),
    ),
}
DIMENSIONS: dict[str, tuple[int, int]] = {
    name: (field.low, field.high) for name, field in FIELDS.items() if field.letter
}
LETTERS: dict[str, str] = {name: field.letter for name, field in FIELDS.items() if field.letter}
MEANINGS: dict[str, str] = {name: field.meaning for name, field in FIELDS.items()}
OWN_DIMENSIONS: dict[str, tuple[int, int]] = {
    name: (field.low, field.high) for name, field in OWN_FIELDS.items() if field.high
}
OWN_LETTERS: dict[str, str] = {name: OWN_FIELDS[name].letter for name in OWN_DIMENSIONS}
SIZES = {**LETTERS, **OWN_LETTERS}
EVERY_FIELD = {**FIELDS, **OWN_FIELDS}
EVERY_LETTER = {name: field.letter for name, field in EVERY_FIELD.items() if field.letter}


def field_named(name: str) -> Field:
    """The field with this name. Raises KeyError if there is none."""
    return EVERY_FIELD[name]
