"""The memory of training besides activations: weights, master weights, gradients and optimizer states.

All sums are over a model's tensors. Every rule works with numbers and with symbols.
"""

from collections.abc import Callable, Iterable
from math import prod
from typing import Literal, NamedTuple

from bertcalc.model.modules import Tensor
from bertcalc.text import N_
from bertcalc.text.arguments import checked

Dtype = Literal["float32", "bfloat16", "float16"]
ITEM_BYTES: dict[Dtype, int] = {"float32": 4, "bfloat16": 2, "float16": 2}
Part = Literal["weights", "master weights", "gradients", "optimizer states"]
Precision = Literal["fp32", "amp-bf16", "amp-fp16", "bf16", "mixed-18", "mixed-16"]
Optimizer = Literal["sgd", "momentum", "adamw", "adamw-8bit", "adafactor"]

# bitsandbytes 0.50 (optim/optimizer.py): a tensor with fewer elements than _SMALL keeps its states in float32; each
# block of _BLOCK elements has one float32 scale.
_SMALL, _BLOCK = 4096, 256


class StateSizes(NamedTuple):
    """The sizes that weights, gradients and states depend on, summed over the tensors of a model."""

    elements: int = 0
    rows: int = 0  # rows of all matrices
    columns: int = 0  # columns of all matrices
    vectors: int = 0  # elements of tensors with one axis
    small: int = 0  # elements of tensors whose states 8-bit Adam leaves in float32
    blocks: int = 0  # blocks of all other tensors


class BytesRule(NamedTuple):
    """The bytes per parameter in each part, the dtype of the weights, a description, and the dtype under autocast."""

    weight: int
    master: int
    gradient: int
    dtype: Dtype
    meaning: str
    autocast: Dtype | None = None

    @property
    def state(self) -> int:
        """The bytes per state element: states have the dtype of the master weights, if any, else of the weights."""
        return self.master or self.weight


PRECISIONS: dict[Precision, BytesRule] = {
    "fp32": BytesRule(4, 0, 4, "float32", N_("Everything in float32.")),
    "amp-bf16": BytesRule(
        4,
        0,
        4,
        "float32",
        N_(
            'Automatic mixed precision, torch.autocast("cuda", torch.bfloat16). Weights, gradients and optimizer '
            "states are float32. Matrix products use bfloat16, with a 16-bit copy of each weight until its "
            "gradient is computed."
        ),
        autocast="bfloat16",
    ),
    "amp-fp16": BytesRule(
        4,
        0,
        4,
        "float32",
        N_(
            'Automatic mixed precision, torch.autocast("cuda", torch.float16) with a GradScaler. Like AMP '
            "bfloat16, except that softmax reads float16."
        ),
        autocast="float16",
    ),
    "bf16": BytesRule(
        2,
        0,
        2,
        "bfloat16",
        N_("Everything in 16 bits, including optimizer states, as after model.to(torch.bfloat16)."),
    ),
    "mixed-18": BytesRule(
        2,
        4,
        4,
        "bfloat16",
        N_("18 bytes per parameter with Adam: 16-bit weights, float32 gradients and master weights, as in Megatron."),
    ),
    "mixed-16": BytesRule(
        2,
        4,
        2,
        "bfloat16",
        N_("16 bytes per parameter with Adam: 16-bit weights and gradients, float32 master weights, as in DeepSpeed."),
    ),
}

# The bytes of the states, given the bytes per state element; step counters are left out. All except 8-bit Adam are
# PyTorch's optimizers: their states have the dtype of the weights. (transformers' Adafactor differs: it has float32
# states for 16-bit weights.)
OPTIMIZERS: dict[Optimizer, Callable[[StateSizes, int], int]] = {
    "adamw": lambda sizes, width: 2 * width * sizes.elements,  # two averages, as in Adam
    # bitsandbytes uses one byte or float32 per state element, regardless of the dtype of the weights.
    "adamw-8bit": lambda sizes, _width: 2 * (sizes.elements - sizes.small) + 8 * sizes.small + 8 * sizes.blocks,
    "adafactor": lambda sizes, width: width * (sizes.rows + sizes.columns + sizes.vectors),
    "momentum": lambda sizes, width: width * sizes.elements,  # SGD with momentum: one average
    "sgd": lambda sizes, _width: 0 * sizes.elements,
}


@checked
def sizes(tensors: Iterable[Tensor]) -> StateSizes:
    """The sizes of the tensors, summed over all their copies."""
    return StateSizes(*map(sum, zip(StateSizes(), *map(_sizes, tensors), strict=True)))


def least_training_bytes(parameters: int) -> int:
    """The bytes that float32 training with Adam always needs if all parameters are trained.

    The result is live if ``parameters`` is live.

    >>> least_training_bytes(109_482_240)
    1751715840
    """
    rule = PRECISIONS["fp32"]
    states = OPTIMIZERS["adamw"](StateSizes(elements=parameters), rule.state)
    return rule.weight * parameters + rule.gradient * parameters + states


@checked
def parts(parameters: int, trained: StateSizes, precision: Precision, optimizer: Optimizer) -> dict[Part, int]:
    """The bytes of each part of training memory besides activations; a frozen tensor has only weights."""
    rule = PRECISIONS[precision]
    return {
        "weights": rule.weight * parameters,
        "master weights": rule.master * trained.elements,
        "gradients": rule.gradient * trained.elements,
        "optimizer states": OPTIMIZERS[optimizer](trained, rule.state),
    }


def _sizes(tensor: Tensor) -> StateSizes:
    *rows, columns = tensor.shape
    elements = prod(tensor.shape)
    matrix = int(bool(rows))
    small = 0 ** (elements // _SMALL)  # 1 or 0, without a comparison, which symbols do not support
    copy = StateSizes(
        elements=elements,
        rows=prod(rows) * matrix,
        columns=prod(rows[:-1]) * columns * matrix,  # a convolution's tensor is a stack of matrices
        vectors=elements * (1 - matrix),
        small=elements * small,
        blocks=-(-elements // _BLOCK) * (1 - small),
    )
    return StateSizes(*(tensor.copies * size for size in copy))
