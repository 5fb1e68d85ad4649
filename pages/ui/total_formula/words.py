"""What the terms and letters of the total's formula are, in words: the tensors by name, kind and shape."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from bertcalc.formula import Term
from bertcalc.text import N_
from bertcalc.tree.nn import Shape, Tensor
from pages.ui.numbers import unbroken
from pages.ui.tables import shape_text

Translate = Callable[[str], str]

# What each letter counts, beside its value.
COUNTED: dict[str, str] = {
    "vocab_size": N_("{value} word pieces"),
    "hidden_size": N_("{value} hidden size"),
    "num_hidden_layers": N_("{value} layers"),
    "num_attention_heads": N_("{value} heads"),
    "intermediate_size": N_("{value} feed-forward"),
    "max_position_embeddings": N_("{value} positions"),
    "type_vocab_size": N_("{value} token types"),
    "num_labels": N_("{value} labels"),
}

# What people call a module: the first of these that is found in the name of its tensor.
_NAMES: dict[str, str] = {
    "word_embeddings": N_("word embeddings"),
    "position_embeddings": N_("position embeddings"),
    "token_type_embeddings": N_("token type embeddings"),
    "embeddings.LayerNorm": N_("LayerNorm of the embeddings"),
    "self.query": N_("query"),
    "self.key": N_("key"),
    "self.value": N_("value"),
    "distance_embedding": N_("relative distances"),
    "attention.output.dense": N_("attention output"),
    "attention.output.LayerNorm": N_("LayerNorm of the attention"),
    "intermediate.dense": N_("feed-forward input"),
    "act_fn": N_("activation"),
    "layer.*.output.dense": N_("feed-forward output"),
    "layer.*.output.LayerNorm": N_("LayerNorm of the feed-forward"),
    "pooler": N_("pooler"),
    "transform.dense": N_("transform of the head"),
    "transform.LayerNorm": N_("LayerNorm of the head"),
    "predictions.bias": N_("masked language model"),
    "predictions.decoder": N_("decoder"),
    "seq_relationship": N_("next sentence"),
    "classifier": N_("classifier"),
    "qa_outputs": N_("answer span"),
}
# What a size is that no field sets.
_FIXED: dict[str, str] = {"seq_relationship": N_("classes"), "act_fn": N_("activation"), "classifier": N_("score")}
_KINDS: dict[str, str] = {
    r"LayerNorm": N_("γ and β"),
    r"act_fn": N_("Learned numbers"),
    r"_embeddings?\.": N_("Table"),
    r"\.bias$": N_("Biases"),
    r"": N_("Weights"),
}


def brace_of(term: Term, _: Translate) -> str:
    """What stands under a term, so that its number does not look like another one."""
    if term.norm:
        return "γ, β"
    name = term.tensors[0].name
    return _(next(size for fragment, size in _FIXED.items() if fragment in name)) if term.fixed else ""


def _name_of(tensor: Tensor, _: Translate) -> str:
    """What people call the module of a tensor."""
    name = _(_words(tensor.name)[0])
    return _("{name} (cross-attention)").format(name=name) if ".crossattention." in tensor.name else name


def lines_of(tensors: Iterable[Tensor], here: Mapping[str, Tensor], _: Translate) -> list[str]:
    """A line for those of one kind and shape: Biases: query, key, value, 3 × [768]. ``here`` has the shapes."""
    alike: dict[tuple[str, Shape], list[str]] = {}
    for tensor in tensors:
        alike.setdefault((_words(tensor.name)[1], here[tensor.name].shape), []).append(_name_of(tensor, _))
    return [
        _("{kind}: {names}, {shapes}").format(
            kind=_(kind),
            names=_(", ").join(dict.fromkeys(names)),
            shapes=unbroken((f"{len(names)} × " if len(names) > 1 else "") + f"[{shape_text(shape)}]"),
        )
        for (kind, shape), names in alike.items()
    ]


@cache
def _words(tensor: str) -> tuple[str, str]:
    """The name and the kind that a tensor has, by its own name."""
    name = next(name for fragment, name in _NAMES.items() if fragment in tensor)
    return name, next(kind for pattern, kind in _KINDS.items() if re.search(pattern, tensor))
