"""Ways of counting that are one idea each, and make several miscounts.

>>> HABITS["words and layers"].miscounts
('positions', 'token types', 'embedding LayerNorm', 'pooler')
"""

from collections.abc import Mapping
from typing import NamedTuple

from bertcalc.text import N_


class Habit(NamedTuple):
    """A way of counting that is one idea and makes several miscounts: in words, and how rare it is."""

    said: str
    miscounts: tuple[str, ...]
    bits: float


def _habit(bits: float, said: str, miscounts: str) -> Habit:
    return Habit(said, tuple(miscounts.split(" + ")), bits)


_AS_BERT = (
    "pooler added + positions added + token types added + embedding LayerNorm added + layer biases added + betas added"
    " + first layer alike + final LayerNorm + distances + distances' LayerNorm + task types + gate + keys for all heads"
    " + embeddings of H + layers not shared"
)

# Ways of counting that are one idea each: how rare it is, in words, and the mistakes that belong together. What of one
# a model has not is left out.
HABITS: Mapping[str, Habit] = {
    "words and layers": _habit(
        4.0,
        N_("only the word embeddings and the layers are counted"),
        "positions + token types + embedding LayerNorm + pooler",
    ),
    "words, positions and layers": _habit(
        5.5, N_("only words, positions and the layers are counted"), "token types + embedding LayerNorm + pooler"
    ),
    "words without other tables": _habit(
        5.0, N_("of the embeddings only the words are counted"), "positions + token types + embedding LayerNorm"
    ),
    "words and layers without biases": _habit(
        5.5,
        N_("only words and layers are counted, and no bias"),
        "layer biases + positions + token types + embedding LayerNorm + pooler",
    ),
    "tables and layers": _habit(4.5, N_("only tables and layers are counted"), "embedding LayerNorm + pooler"),
    "matrices": _habit(4.0, N_("only matrices are counted, no vector"), "biases + LayerNorm"),
    "matrices of tables and layers": _habit(
        4.5, N_("only the matrices of embeddings and layers are counted"), "biases + LayerNorm + pooler"
    ),
    "matrices of words, positions and layers": _habit(
        5.5,
        N_("only the matrices of words, positions and layers are counted"),
        "biases + LayerNorm + token types + pooler",
    ),
    "matrices of words and layers": _habit(
        5.0,
        N_("only the matrices of words and layers are counted"),
        "biases + LayerNorm + positions + token types + pooler",
    ),
    "matrices of words": _habit(
        5.0,
        N_("only matrices are counted, and of the tables that of words"),
        "biases + LayerNorm + positions + token types",
    ),
    "matrices of the layers": _habit(
        4.5, N_("of the layers only the matrices are counted"), "layer biases + layer LayerNorms"
    ),
    "large parts": _habit(
        6.5,
        N_("only tables and matrices are counted, and one LayerNorm in each layer"),
        "layer biases + embedding LayerNorm + second LayerNorm + pooler",
    ),
    "one LayerNorm": _habit(
        6.0,
        N_("a single LayerNorm is counted in each layer, and none elsewhere"),
        "embedding LayerNorm + second LayerNorm",
    ),
    "three matrices of the attention": _habit(
        5.5,
        N_("of the attention only the matrices of query, key and value are counted"),
        "qkv biases + output projection",
    ),
    "head is its decoder": _habit(3.5, N_("of the head only the decoder is counted"), "head LayerNorm + transform"),
    "separate decoder": _habit(
        4.0,
        N_("the decoder is counted as a Linear of its own, with a matrix and a bias"),
        "decoder again + decoder bias again",
    ),
    "head is a Linear": _habit(
        4.5,
        N_("the head is counted as a single Linear to the vocabulary"),
        "decoder again + head LayerNorm + transform",
    ),
    "head is a matrix": _habit(
        5.0,
        N_("the head is counted as a single matrix to the vocabulary"),
        "decoder again + decoder bias + head LayerNorm + transform",
    ),
    "matrices of the head": _habit(
        5.0, N_("of the head only the matrices are counted"), "decoder again + head biases + head LayerNorm"
    ),
    "one head": _habit(5.5, N_("the attention is counted for one head"), "one head + small output projection"),
    "full heads": _habit(
        5.5,
        N_("each head is counted with the full hidden size, and so is what it gives"),
        "heads times + wide output projection",
    ),
    "as BERT": _habit(4.5, N_("the sizes of BERT's tables are taken"), "P=512 + T=2"),
    "as BERT with types": _habit(5.0, N_("the sizes of BERT's tables are taken"), "token types added + P=512"),
    "tables as in BERT": _habit(
        4.5,
        N_("the embeddings are counted like BERT's, with positions and token types"),
        "positions added + token types added",
    ),
    "vectors as in BERT": _habit(
        4.0, N_("biases and LayerNorms are counted like BERT's"), "layer biases added + betas added"
    ),
    "BERT's formula": _habit(4.0, N_("it is counted by BERT's formula, with its own sizes"), _AS_BERT),
    "BERT's formula, 4 H": _habit(
        5.0,
        N_("it is counted by BERT's formula, with 512 positions and a feed-forward of 4 H"),
        f"{_AS_BERT} + four times + P=512",
    ),
    "Llama's formula": _habit(
        5.0,
        N_("it is counted like a Llama: no bias, one vector for a LayerNorm, a gate, no table but that of words"),
        "biases + LayerNorm half + positions + token types + pooler + gated",
    ),
    "no bias, no position": _habit(
        5.5,
        N_("it is counted like a newer model: no bias, one vector for a LayerNorm, no table but that of words"),
        "biases + LayerNorm half + positions + token types + pooler",
    ),
    "no bias": _habit(5.0, N_("nothing has a bias, no Linear and no LayerNorm"), "biases + LayerNorm half"),
    "plain feed-forward": _habit(
        5.0, N_("the feed-forward is counted as a plain one of 4 H, without a gate"), "gate + four times"
    ),
    "usable positions": _habit(
        5.5,
        N_("only positions that a text can have are counted, no token type and no pooler"),
        "token types + pooler + P=512",
    ),
    "unshared BERT": _habit(
        3.5,
        N_("it is counted like a BERT: layers of their own, embeddings as wide as they are"),
        "embeddings of H + layers not shared",
    ),
}
