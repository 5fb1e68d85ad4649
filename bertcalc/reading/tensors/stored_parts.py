"""Distinguish parameters from other stored tensors, such as scales and optimizer states.

>>> unpacked({"query.weight": (294912, 1), "query.bias": (768,), "query.weight.absmax": (9216,)})
({'query.weight': (768, 768), 'query.bias': (768,)}, 1)
>>> unpacked({"q_proj.qweight": (512, 4096), "q_proj.scales": (32, 4096), "q_proj.g_idx": (4096,)})
({'q_proj.weight': (4096, 4096)}, 1)
"""

from collections.abc import Iterable, Mapping
from math import prod

from bertcalc.model.modules import Shape
from bertcalc.reading.tensors.packed_weights import is_beside_weight, plain_name_of, unpack_weights

# Names of optimizer states in PyTorch, apex and bitsandbytes.
_STATES = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_inf", "momentum_buffer", "square_avg", "acc_delta")
# These names denote optimizer states only directly below a number.
_NUMBERED = ("state1", "state2", "qmap1", "qmap2", "absmax1", "absmax2", "exp_avg_sq_row", "exp_avg_sq_col", "sum")
# Keys of a checkpoint that contain the optimizer.
_OPTIMIZERS = ("optimizer", "optimizers", "optimizer_states", "optimizer_state_dict", "optim")
# Tensors that bitsandbytes stores beside a 4-bit weight, under the weight's name.
_OF_FOUR_BITS = ("absmax", "quant_map", "nested_absmax", "nested_quant_map", "offset")
_QUANTIZED = (
    ".absmax",
    ".SCB",
    ".qweight",
    ".scales",
    ".weight_scale",
    ".weight_scale_inv",
    ".weight_packed",
    "_blocks",
)
_DESCRIPTION = ".quant_state.bitsandbytes__"


def is_of_torch_optimizer(name: str) -> bool:
    """Whether a tensor in a PyTorch checkpoint is an optimizer state, not a parameter.

    >>> is_of_torch_optimizer("optimizer.state.0.step"), is_of_torch_optimizer("state.12.exp_avg")
    (True, True)
    """
    first, *inside, last = name.split(".") if "." in name else (name, "")
    is_numbered = bool(inside) and inside[-1].isdecimal()
    return first in _OPTIMIZERS or last in _STATES or (is_numbered and last in _NUMBERED)


def are_quantized(names: Iterable[str]) -> bool:
    """Whether a list of names has scales or tables of quantized weights.

    >>> are_quantized(["q.weight", "q.weight.absmax"]), are_quantized(["q.weight", "q.bias"])
    (True, False)
    """
    return any(name.endswith(_QUANTIZED) or _DESCRIPTION in name for name in names)


def unpacked(tensors: Mapping[str, Shape]) -> tuple[dict[str, Shape], int]:
    """Return the tensors without scales, with quantized weights in their real shapes, and the number of such weights.

    A weight packed by bitsandbytes has its real shape only if a bias shows its rows; otherwise it has one dimension.
    GPTQ, AWQ, compressed-tensors and MLX pack several weights into an integer.
    """
    plain: dict[str, Shape] = {}
    packed = unpack_weights(tensors).shapes
    count = 0
    for name, shape in tensors.items():
        path, _dot, last = name.rpartition(".")
        if _is_beside(name, path, last, tensors):
            continue
        if name in packed:
            plain[plain_name_of(name)] = packed[name]
            count += 1
            continue
        real = shape if last == "weight" and f"{path}.weight_scale_inv" in tensors else None
        if last == "weight" and f"{path}.weight_scale" in tensors:
            real = shape
        elif last == "weight" and (f"{name}.absmax" in tensors or f"{name}.quant_map" in tensors):
            real = _with_rows(2 * prod(shape), tensors.get(f"{path}.bias", ()))
        elif last == "weight" and f"{path}.SCB" in tensors:
            real = shape
        elif last == "qweight":
            real = _of_int32(tensors, path)
        count += real is not None
        plain[f"{path}.weight" if real and path else name] = real or shape
    return plain, count


def _is_beside(name: str, path: str, last: str, tensors: Mapping[str, Shape]) -> bool:
    """Whether a tensor is stored beside a quantized weight: scales, zero points, tables, descriptions."""
    if is_beside_weight(name, tensors):
        return True
    if _DESCRIPTION in name:
        return name.partition(_DESCRIPTION)[0] in tensors
    if last in _OF_FOUR_BITS:
        return path in tensors
    if last in ("SCB", "weight_format"):
        return f"{path}.weight" in tensors
    return last in ("qzeros", "scales", "g_idx") and f"{path}.qweight" in tensors


def _with_rows(count: int, bias: Shape) -> Shape:
    rows = bias[0] if len(bias) == 1 else 0
    return (rows, count // rows) if rows and count % rows == 0 else (count,)


def _of_int32(tensors: Mapping[str, Shape], path: str) -> Shape | None:
    """Return the shape of a weight packed by GPTQ or AWQ; None if the tensors beside it do not show the shape.

    GPTQ packs along the columns, and AWQ along the rows.
    """
    packed, scales = tensors[f"{path}.qweight"], tensors.get(f"{path}.scales", ())
    zeros, order = tensors.get(f"{path}.qzeros", ()), tensors.get(f"{path}.g_idx", ())
    if len(packed) != 2 or len(scales) != 2:
        return None
    rows = scales[1]
    if packed[1] != rows:
        return rows, packed[0]
    if len(order) == 1:
        return rows, order[0]
    return (rows, packed[0] * rows // zeros[1]) if len(zeros) == 2 and zeros[1] else None
