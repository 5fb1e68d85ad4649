"""Compute the tensors of printed modules from the arguments that ``print(model)`` shows.

>>> tensors_of("Linear", "in_features=768, out_features=2, bias=True").shapes
{'weight': (2, 768), 'bias': (2,)}
>>> tensors_of("LayerNorm", "(768,), eps=1e-12, elementwise_affine=True").unsure
('bias',)
>>> tensors_of("Mixture", "experts=8") is None
True
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from bertcalc.config.activations import ACTIVATIONS
from bertcalc.families import FAMILIES, build
from bertcalc.model.modules import NO_TENSORS, Shape

_MOST_DIGITS = 18  # maximum number of digits in a size
_MOST_ARGUMENTS = 40
_MOST_LAYERS = 100  # maximum number of layers of a recurrent module


class LeafTensors(NamedTuple):
    """The shapes of a module's tensors.

    ``unsure`` has the names of tensors that may be absent, because the arguments do not show whether they exist.
    """

    shapes: Mapping[str, Shape] = NO_TENSORS
    unsure: tuple[str, ...] = ()


class Arguments(NamedTuple):
    """The positional and named arguments in the parentheses of a printed module."""

    positional: tuple[str, ...]
    named: Mapping[str, str]

    def sizes(self, at: int, *names: str) -> Shape:
        """Return the integers in the argument at position ``at`` or with one of the names; empty if it is absent."""
        text = next((self.named[name] for name in names if name in self.named), "")
        if not text and at < len(self.positional):
            text = self.positional[at]
        return tuple(int(size) for size in re.findall(r"[0-9]+", text) if len(size) <= _MOST_DIGITS)

    def size(self, at: int, *names: str) -> int:
        """Return the integer in an argument. Raises ValueError if it is absent or has several integers."""
        [size] = self.sizes(at, *names)
        return size

    def has(self, name: str, default: bool = True) -> bool:
        """Return whether the flag ``name`` is True; ``default`` if it is absent."""
        return self.named.get(name, f"{default}") == "True"


def arguments_of(text: str) -> Arguments:
    """Split the arguments of a printed module at the commas outside brackets.

    >>> arguments_of("(768,), eps=1e-12")
    Arguments(positional=('(768,)',), named={'eps': '1e-12'})
    """
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    parts = [part for part in (*parts, text[start:].strip()) if part][:_MOST_ARGUMENTS]
    split = [part.partition("=") for part in parts]
    named = {name.strip(): value.strip() for name, equals, value in split if equals}
    return Arguments(tuple(name for name, equals, _value in split if not equals), named)


def tensors_of(kind: str, arguments: str) -> LeafTensors | None:
    """Return the tensors of a printed module without children; None if its class and arguments do not show them."""
    if kind.endswith(_QUIET) and kind not in _RULES:
        return LeafTensors()
    rule = _RULES.get(kind) or next((rule for end, rule in _ENDS.items() if kind.endswith(end)), None)
    if rule is None:
        return LeafTensors() if kind in _without_tensors() else None
    try:
        return rule(arguments_of(arguments))
    except ValueError:
        return None


def _with_bias(weight: Shape, arguments: Arguments, rows: int) -> LeafTensors:
    bias = {"bias": (rows,)} if arguments.has("bias") else {}
    return LeafTensors({"weight": weight, **bias}, () if "bias" in arguments.named or not bias else ("bias",))


def _linear(arguments: Arguments) -> LeafTensors:
    rows = arguments.size(1, "out_features", "output_dims")  # MLX prints the second names
    return _with_bias((rows, arguments.size(0, "in_features", "input_dims")), arguments, rows)


def _dense(arguments: Arguments) -> LeafTensors:
    """Return the tensors of a Dense layer of sentence-transformers, printed as Dense({'in_features': 768, ...})."""
    sizes = dict(_ENTRY.findall(arguments.positional[0] if arguments.positional else ""))
    if not sizes.keys() >= {"in_features", "out_features"}:
        raise ValueError
    rows = int(sizes["out_features"])
    bias = {} if sizes.get("bias") == "False" else {"bias": (rows,)}
    return LeafTensors(
        {"linear.weight": (rows, int(sizes["in_features"])), **{f"linear.{name}": bias[name] for name in bias}}
    )


_ENTRY = re.compile(r"'(in_features|out_features|bias)': (?:(?=[0-9]{1,9}\b)|(?=False))(\w+)")


def _conv1d_of_transformers(arguments: Arguments) -> LeafTensors:
    units = arguments.size(0, "nf")
    return LeafTensors({"weight": (arguments.size(1, "nx"), units), "bias": (units,)})


def _convolution(arguments: Arguments) -> LeafTensors:
    """Return the tensors of a convolution. PyTorch prints its ``bias`` only if it is False."""
    units, groups = arguments.size(1, "out_channels"), (arguments.sizes(99, "groups") or (1,))[0]
    kernel = arguments.sizes(2, "kernel_size")
    weight = (units, arguments.size(0, "in_channels") // max(1, groups), *kernel)
    return LeafTensors({"weight": weight, **({"bias": (units,)} if arguments.has("bias") else {})})


def _bilinear(arguments: Arguments) -> LeafTensors:
    rows = arguments.size(2, "out_features")
    weight = rows, arguments.size(0, "in1_features"), arguments.size(1, "in2_features")
    return _with_bias(weight, arguments, rows)


def _transposed_convolution(arguments: Arguments) -> LeafTensors:
    units, groups = arguments.size(1, "out_channels"), (arguments.sizes(99, "groups") or (1,))[0]
    weight = arguments.size(0, "in_channels"), units // max(1, groups), *arguments.sizes(2, "kernel_size")
    return LeafTensors({"weight": weight, **({"bias": (units,)} if arguments.has("bias") else {})})


def _recurrent_cell(gates: int) -> Callable[[Arguments], LeafTensors]:
    def tensors(arguments: Arguments) -> LeafTensors:
        inputs, units = arguments.size(0, "input_size"), arguments.size(1, "hidden_size")
        rows = gates * units
        biases = {"bias_ih": (rows,), "bias_hh": (rows,)} if arguments.has("bias") else {}
        return LeafTensors({"weight_ih": (rows, inputs), "weight_hh": (rows, units), **biases})

    return tensors


def _crf(arguments: Arguments) -> LeafTensors:
    """Return the tensors of pytorch-crf's layer, printed as CRF(num_tags=9)."""
    tags = arguments.size(99, "num_tags")
    return LeafTensors({"start_transitions": (tags,), "end_transitions": (tags,), "transitions": (tags, tags)})


def _own_tensors(arguments: Arguments) -> LeafTensors:
    """Return the tensors of a ParameterDict or ParameterList, which prints the size of each tensor."""
    return LeafTensors({name: size_of(size) for name, size in _PARAMETER.findall(" ".join(arguments.positional))})


_PARAMETER = re.compile(r"\((\w{1,100})\): Parameter containing: \[[\w.]{1,60} of size ([0-9x]{0,100})")


def size_of(text: str) -> Shape:
    """Parse the size of a tensor in PyTorch's notation.

    >>> size_of("768x1")
    (768, 1)
    """
    return tuple(int(size[:_MOST_DIGITS]) for size in text.split("x") if size)


def _embedding(arguments: Arguments) -> LeafTensors:
    return LeafTensors({"weight": (arguments.size(0, "num_embeddings"), arguments.size(1, "embedding_dim"))})


def _norm(arguments: Arguments) -> LeafTensors:
    """Return the tensors of a LayerNorm. Older releases of PyTorch do not print whether it has a bias."""
    if not arguments.has("elementwise_affine") or not arguments.has("affine"):  # the second name is MLX's
        return LeafTensors()
    shape = arguments.sizes(0, "normalized_shape")
    if not shape:
        raise ValueError
    bias = {"bias": shape} if arguments.has("bias") else {}
    return LeafTensors({"weight": shape, **bias}, () if "bias" in arguments.named else ("bias",))


def _rms_norm(arguments: Arguments) -> LeafTensors:
    shape = arguments.sizes(0, "normalized_shape")
    if not shape:
        raise ValueError
    return LeafTensors({"weight": shape}) if arguments.has("elementwise_affine") else LeafTensors()


def _batch_norm(at: int) -> Callable[[Arguments], LeafTensors]:
    def tensors(arguments: Arguments) -> LeafTensors:
        units = (arguments.size(at),)
        return LeafTensors({"weight": units, "bias": units}) if arguments.has("affine") else LeafTensors()

    return tensors


def _prelu(arguments: Arguments) -> LeafTensors:
    return LeafTensors({"weight": (arguments.size(0, "num_parameters"),)})


def _recurrent(gates: int) -> Callable[[Arguments], LeafTensors]:
    """Return the rule for an LSTM, GRU or RNN.

    Each layer and direction has an input matrix and a recurrent matrix, with biases.
    """

    def tensors(arguments: Arguments) -> LeafTensors:
        size, state = arguments.size(0, "input_size"), arguments.size(1, "hidden_size")
        layers = min((arguments.sizes(2, "num_layers") or (1,))[0], _MOST_LAYERS)
        ways = ("", "_reverse") if arguments.has("bidirectional", default=False) else ("",)
        output = (arguments.sizes(99, "proj_size") or (0,))[0] or state
        shapes: dict[str, Shape] = {}
        for layer in range(layers):
            for way in ways:
                end = f"_l{layer}{way}"
                shapes[f"weight_ih{end}"] = (gates * state, size if not layer else len(ways) * output)
                shapes[f"weight_hh{end}"] = (gates * state, output)
                if arguments.has("bias"):
                    shapes[f"bias_ih{end}"] = shapes[f"bias_hh{end}"] = (gates * state,)
                if output != state:
                    shapes[f"weight_hr{end}"] = (output, state)
        return LeafTensors(shapes)

    return tensors


_RULES: dict[str, Callable[[Arguments], LeafTensors]] = {
    **dict.fromkeys(("Linear", "NonDynamicallyQuantizableLinear", "Linear8bitLt", "Linear4bit"), _linear),
    **dict.fromkeys(("DynamicQuantizedLinear", "QuantizedLinear"), _linear),
    **dict.fromkeys(("WQLinear_GEMM", "WQLinear_GEMV", "WQLinear_GEMVFast", "WQLinear_Marlin"), _linear),  # AutoAWQ
    "Bilinear": _bilinear,
    "Dense": _dense,
    "Conv1D": _conv1d_of_transformers,
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), _convolution),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"), _transposed_convolution),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"), _batch_norm(0)),
    "GroupNorm": _batch_norm(1),
    "PReLU": _prelu,
    **dict.fromkeys(("ParameterDict", "ParameterList"), _own_tensors),
    "LSTM": _recurrent(4),
    "GRU": _recurrent(3),
    "RNN": _recurrent(1),
    "LSTMCell": _recurrent_cell(4),
    "GRUCell": _recurrent_cell(3),
    "RNNCell": _recurrent_cell(1),
    "CRF": _crf,
}
_ENDS: dict[str, Callable[[Arguments], LeafTensors]] = {
    "LayerNorm": _norm,
    "RMSNorm": _rms_norm,
    "Embedding": _embedding,
    "EmbeddingBag": _embedding,
}
# Endings of the class names of modules without tensors, in PyTorch and in most other programs.
_QUIET = (
    *("Activation", "RotaryEmbedding", "Dropout", "Dropout1d", "Dropout2d", "DropPath", "Identity", "Loss"),
    *("Softmax", "LogSoftmax", "Pool1d", "Pool2d", "Flatten", "Unflatten", "ReLU", "GELU", "SiLU", "ELU", "SELU"),
    *("Softplus", "Tanhshrink", "GELUTanh", "Hardtanh", "GLU", "CELU", "Swish", "Threshold", "Softsign", "LogSigmoid"),
    *(
        "ModuleList",
        "ModuleDict",
        "Sequential",
        *("BufferDict", "LinearPackedParams"),
        "CosineSimilarity",
        "PairwiseDistance",
        "Upsample",
    ),
    *("ZeroPad2d", "ConstantPad1d", "ConstantPad2d", "LambdaLayer", "Pooling", "Normalize"),
)


@cache
def _without_tensors() -> frozenset[str]:
    """Return the class names of modules without tensors: childless modules of all families, and activations."""
    kinds = {facts.kind for facts in ACTIVATIONS.values() if not facts.parameters}
    for family in FAMILIES.values():
        for _path, module, _copies in build(family.config.default()).modules():
            if not module.parameters and not any(module.named_children(folded=True)):
                kinds.add(module.class_name)
    return frozenset(kinds)
