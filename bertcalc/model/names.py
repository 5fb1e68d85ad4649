"""Human-readable names for a model's parts and for the modules of its tensors, shared by all families."""

from bertcalc.model.modules import Component, Module, Norm, Place
from bertcalc.text import N_
from bertcalc.text.arguments import checked

# Names of the parts of a whole model, by component and part; ``totals.PARTS`` has their names within a component.
PART_NAMES: dict[tuple[Component, str], str] = {
    ("embeddings", "word"): N_("Word embeddings"),
    ("embeddings", "position"): N_("Position embeddings"),
    ("embeddings", "token type"): N_("Token types"),
    ("embeddings", "task type"): N_("Task types"),
    ("embeddings", "LayerNorm"): N_("LayerNorm (embeddings)"),
    ("embeddings", "projection"): N_("Projection of the embeddings"),
    ("embeddings", "adapter"): N_("Adapter (embeddings)"),
    ("encoder", "LayerNorm"): N_("LayerNorms (layers)"),
    ("encoder", "cross-attention"): N_("Cross-attention"),
    ("encoder", "attention"): N_("Attention"),
    ("encoder", "feed-forward"): N_("Feed-forward"),
    ("encoder", "relative positions"): N_("Relative positions"),
    ("encoder", "convolution"): N_("Convolution"),
    ("encoder", "projection"): N_("Projection (encoder)"),
    ("encoder", "final LayerNorm"): N_("Final LayerNorm"),
    ("encoder", "adapter"): N_("Adapter (layers)"),
    ("pooler", "dense"): N_("Pooler"),
    ("pooler", "adapter"): N_("Adapter (pooler)"),
    ("head", "transform"): N_("Transform (head)"),
    ("head", "LayerNorm"): N_("LayerNorm (head)"),
    ("head", "decoder"): N_("Decoder (head)"),
    ("head", "decoder bias"): N_("Decoder bias (head)"),
    ("head", "next sentence"): N_("Next sentence (head)"),
    ("head", "sentence order"): N_("Sentence order (head)"),
    ("head", "dense"): N_("Dense layer (head)"),
    ("head", "classifier"): N_("Classifier (head)"),
    ("head", "answer span"): N_("Answer span (head)"),
    ("head", "projection"): N_("Projection (head)"),
    ("head", "adapter"): N_("Adapter (head)"),
}

# Names of modules, by block (in layers) or component (elsewhere), and role.
TENSOR_NAMES: dict[tuple[str, str], str] = {
    ("embeddings", "word"): N_("word embeddings"),
    ("embeddings", "position"): N_("position embeddings"),
    ("embeddings", "token type"): N_("token type embeddings"),
    ("embeddings", "task type"): N_("task type embeddings"),
    ("embeddings", "norm"): N_("LayerNorm of the embeddings"),
    ("embeddings", "map"): N_("projection of the embeddings"),
    ("attention", "query"): N_("query"),
    ("attention", "key"): N_("key"),
    ("attention", "value"): N_("value"),
    ("attention", "query, key, value"): N_("query, key and value"),
    ("attention", "key, value"): N_("key and value"),
    ("attention", "position query"): N_("position query"),
    ("attention", "position key"): N_("position key"),
    ("attention", "distance"): N_("relative distances"),
    ("attention", "output"): N_("attention output"),
    ("attention", "norm"): N_("LayerNorm of the attention"),
    ("feed-forward", "up"): N_("feed-forward input"),
    ("feed-forward", "gate"): N_("feed-forward gate"),
    ("feed-forward", "up and gate"): N_("feed-forward input"),
    ("feed-forward", "activation"): N_("activation"),
    ("feed-forward", "down"): N_("feed-forward output"),
    ("feed-forward", "norm"): N_("LayerNorm of the feed-forward network"),
    ("relative positions", "relative position"): N_("relative positions"),
    ("after the layers", "norm"): N_("LayerNorm after the last layer"),
    ("relative positions", "relative embedding"): N_("relative embeddings"),
    ("relative positions", "norm"): N_("LayerNorm of the relative embeddings"),
    ("convolution", "convolution"): N_("convolution"),
    ("convolution", "norm"): N_("LayerNorm of the convolution"),
    ("projection", "map"): N_("projection of the embeddings"),
    ("pooler", "dense"): N_("pooler"),
    ("head", "transform"): N_("transform of the head"),
    ("head", "activation"): N_("activation"),
    ("head", "classifier activation"): N_("activation"),
    ("head", "norm"): N_("LayerNorm of the head"),
    ("head", "decoder bias"): N_("masked language model"),
    ("head", "decoder"): N_("decoder"),
    ("head", "next sentence"): N_("next sentence"),
    ("head", "sentence order"): N_("sentence order"),
    ("head", "dense"): N_("dense layer of the head"),
    ("head", "classifier"): N_("classifier"),
    ("head", "answer span"): N_("answer span"),
}


def meaning(place: Place) -> tuple[str, str]:
    """The key of a place in TENSOR_NAMES: its block or component, and its role; cross-attention counts as attention."""
    component, block, role = place
    where = {"cross-attention": "attention"}.get(block, block) if component == "encoder" else component
    return where, role


def tensor_name(place: Place) -> str:
    """The human-readable name of a tensor's module."""
    return TENSOR_NAMES[meaning(place)]


@checked
def norm_kind(model: Module) -> str:
    """The normalization of a model: LayerNorm or RMSNorm. PART_NAMES and TENSOR_NAMES say LayerNorm for both."""
    centers = (module.centers for _path, module, _copies in model.modules() if isinstance(module, Norm))
    return "LayerNorm" if next(centers, True) else "RMSNorm"
