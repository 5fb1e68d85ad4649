"""Select tensors with a short text such as "embeddings, no norm".

>>> from bertcalc import BertConfig, build
>>> [tensor.name for tensor in filter(selector("embeddings, no norm"), build(BertConfig()).tensors())][1:]
['embeddings.position_embeddings.weight', 'embeddings.token_type_embeddings.weight']
"""

from collections.abc import Callable
from functools import lru_cache

from bertcalc.model.change import ADAPTER
from bertcalc.model.family import LANGUAGE_MODEL
from bertcalc.model.modules import AFTER_LAYERS, Place, Tensor, split_layer

Selector = Callable[[Tensor], bool]


@lru_cache(maxsize=512)
def selector(text: str) -> Selector:
    """Return a predicate that selects tensors by conditions on their places and names.

    In ``text``, ", " means "and", " + " means "or" and binds more tightly, and "no " before a condition negates it. An
    empty text selects all tensors.
    """
    conditions = [_condition(part) for part in text.split(", ") if part]
    cache: dict[tuple[str, int, Place], bool] = {}

    def concerned(tensor: Tensor) -> bool:
        # Conditions depend only on the key, not on sizes or copies.
        key = (tensor.name, len(tensor.shape), tensor.place)
        if (selected := cache.get(key)) is None:
            selected = cache[key] = all(condition(tensor) for condition in conditions)
        return selected

    return concerned


def _condition(text: str) -> Selector:
    predicates = [_NAMED.get(name) or _role(name) for name in text.removeprefix("no ").split(" + ")]
    wanted = not text.startswith("no ")
    return lambda tensor: any(predicate(tensor) for predicate in predicates) == wanted


def _role(*roles: str) -> Selector:
    return lambda tensor: tensor.place.role in roles


def _component(name: str) -> Selector:
    return lambda tensor: tensor.place.component == name


def _block(name: str) -> Selector:
    return lambda tensor: tensor.place.block == name


def in_layer(tensor: Tensor) -> bool:
    """Whether a tensor is in a layer, and not in a projection before the layers or in a LayerNorm after them."""
    return bool(split_layer(tensor.name)[0])


def is_bias(tensor: Tensor) -> bool:
    """Whether a tensor is a bias of a linear layer, not of a LayerNorm."""
    return tensor.name.endswith(("bias", "bias)")) and tensor.place.role != "norm"


_QKV = ("query", "key", "value", "query, key, value", "key, value")  # the last two are roles of fused matrices
# Special names in selectors. Any other name is the role of a tensor.
_NAMED: dict[str, Selector] = {
    **{name: _component(name) for name in ("embeddings", "pooler", "head")},
    **{f"{name} block": _block(name) for name in ("attention", "cross-attention", "feed-forward")},
    "language model": _block(LANGUAGE_MODEL),
    "after layers": _block(AFTER_LAYERS),
    "distances block": _block("relative positions"),
    "convolution block": _block("convolution"),
    "adapter block": _block(ADAPTER),
    "in layer": in_layer,
    "repeats": lambda tensor: "*" in tensor.name,
    "bias": is_bias,
    "separate": lambda tensor: " of positions." in tensor.name,  # a position projection that the model lacks
    "gamma": lambda tensor: tensor.name.endswith("weight") and tensor.place.role == "norm",
    "beta": lambda tensor: tensor.name.endswith("bias") and tensor.place.role == "norm",
    "matrix": lambda tensor: len(tensor.shape) == 2,
    "whole": lambda tensor: len(tensor.shape) == 3,  # a whole LayerNorm that the model lacks, not only its beta
    "qkv": _role(*_QKV),
    "query and value": _role("query", "value", *_QKV[3:]),
    "key and value": _role("key", "value", "key, value"),
    "attention": _role(*_QKV, "position query", "position key", "output"),
    "first": _role("up", "up and gate"),
    "feed-forward": _role("up", "gate", "up and gate", "down"),
    "words": _role("word", "decoder", "decoder bias"),
    "tables": _role(
        *("word", "position", "token type", "task type", "distance", "relative position", "relative embedding")
    ),
    "distances": _role("distance", "relative position", "relative embedding"),
    "next sentences": _role("next sentence", "sentence order"),
    "classifiers": _role("classifier", "answer span", "next sentence", "sentence order"),
}
