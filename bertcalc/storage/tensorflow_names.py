"""Convert the names and shapes of TensorFlow variables to PyTorch's.

>>> pytorch_tensor("bert/encoder/layer_0/intermediate/dense/kernel:0", (768, 3072))
('bert.encoder.layer.0.intermediate.dense.weight', (3072, 768))
>>> pytorch_tensor("bert/embeddings/LayerNorm/gamma", (768,))
('bert.embeddings.LayerNorm.weight', (768,))
"""

import re

from bertcalc.model.modules import Shape

# The last parts of the names of optimizer states, which training checkpoints contain.
OF_OPTIMIZER = ("adam_m", "adam_v", "Adam", "Adam_1", "global_step", "LAMB", "LAMB_1", "m", "v", "AdamWeightDecay")
_LAYER = re.compile(r"layer_(?:\._)?([0-9]{1,9})")
_LAST = {"kernel": "weight", "gamma": "weight", "beta": "bias", "embeddings": "weight", "output_bias": "bias"}
_LAST |= dict.fromkeys(("output_weights", "scale", "embedding"), "weight")  # the last two are Flax's
# The names of the classifier's variables in run_classifier.py.
OF_CLASSIFIER = {"output_weights": "classifier.weight", "output_bias": "classifier.bias"}
_TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")
# The replacements with which transformers renames ALBERT's variables, in the same order.
_OF_ALBERT = (
    *(
        ("/transform/", "/"),
        ("ffn_1/", "ffn/"),
        ("attention_1/", "attention/"),
        ("LayerNorm_1/", "full_layer_layer_norm/"),
    ),
    *(("inner_group_", "albert_layers/"), ("group_", "albert_layer_groups/"), ("encoder/transformer/", "encoder/")),
    *(("/ffn/intermediate/output/dense/", "/ffn_output/"), ("/ffn/intermediate/dense/", "/ffn/")),
    *(("/attention/output/", "/attention/"), ("/attention/self/", "/attention/"), ("pooler/dense/", "pooler/")),
)


def is_of_optimizer(name: str) -> bool:
    """Whether a variable is an optimizer state, not a parameter."""
    return name.removesuffix(":0").rpartition("/")[2] in OF_OPTIMIZER


def is_of_albert(name: str) -> bool:
    """Whether a variable belongs to a layer of ALBERT; other variables of an ALBERT checkpoint have BERT's names."""
    return "inner_group_" in name


def pytorch_tensor(name: str, shape: Shape, albert: bool = False) -> tuple[str, Shape]:
    """The name and shape of the same tensor in PyTorch; matrices are transposed.

    ``albert``: whether the variable is from an ALBERT checkpoint.
    """
    path = name.removesuffix(":0")
    if path in OF_CLASSIFIER:
        return OF_CLASSIFIER[path], shape
    if albert:
        path = _of_albert(path)
    parts = [_LAYER.sub(r"layer/\1", part) for part in path.split("/")]
    if parts[0].startswith("tf_"):  # Keras puts the model's name first
        parts = parts[1:]
    last = parts[-1]
    is_matrix = last == "kernel" and len(shape) == 2
    if last in _TABLES:
        parts = [*parts, "weight"]
    elif last in _LAST:
        parts[-1] = _LAST[last]
    if parts[0] == "cls" and last == "output_bias" and parts[-2] == "predictions":
        parts = [*parts[:-1], "bias"]
    return ".".join("/".join(parts).split("/")), tuple(reversed(shape)) if is_matrix else shape


def _of_albert(path: str) -> str:
    norm = "/LayerNorm/"
    for old, new in _OF_ALBERT:
        path = path.replace(old, new)
    path = path.replace("cls/predictions/", "predictions/")
    if "albert_layers" in path and norm in path:
        path = path.replace(norm, "/attention/LayerNorm/") if "/attention/" not in path else path
    return f"albert/{path.removeprefix('bert/')}" if path.startswith("bert/") else path
