"""Unpack the shapes of weights that compressed-tensors, MLX and gpt-oss store in few bits.

The header of a file does not say how many bits a weight has. The bits follow from the sizes of the other tensors, if
only one number of bits makes the columns of every packed matrix a size of the model.

>>> tensors = {"q.weight_packed": (6, 2), "q.weight_scale": (6, 1), "norm.weight": (16,)}
>>> unpack_weights(tensors).shapes, unpack_weights({**tensors, "norm.weight": (9,)}).by_bits
({'q.weight_packed': (6, 16)}, {4: 96, 8: 48})
"""

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from bertcalc.model.modules import Shape

# Names of tensors beside a weight, under the name of its module.
_BESIDE_WEIGHT = (
    *("weight_scale", "weight_scale_inv", "weight_scale_2", "weight_zero_point", "weight_shape", "weight_g_idx"),
    *("weight_global_scale", "input_scale", "input_zero_point", "input_global_scale", "output_scale"),
)
_WEIGHTS = ("weight", "weight_packed")
_OF_ATTENTION = ("k_scale", "v_scale", "q_scale", "prob_output_scale")  # scales of cached keys and values
_BITS = (4, 8, 2, 3, 5, 6)
_USUAL = (4, 8)  # the bits that are possible if the sizes do not show them
_WORD, _BYTE = 32, 8  # bits of an integer
_BLOCK, _GROUP = 32, 16  # elements with one scale, in gpt-oss and in NVFP4


class UnpackedWeights(NamedTuple):
    """The real shape of each packed weight, keyed by its stored name.

    If the number of bits is unknown, ``by_bits`` maps each possible number to the elements of all packed weights.
    """

    shapes: dict[str, Shape]
    by_bits: dict[int, int]


def is_beside_weight(name: str, tensors: Mapping[str, Shape]) -> bool:
    """Whether a tensor is a scale, a zero point or a description beside a quantized weight.

    >>> is_beside_weight("q.weight_scale_inv", {"q.weight": (8, 8)})
    True
    """
    path, _dot, last = name.rpartition(".")
    if last in _BESIDE_WEIGHT:
        return any(f"{path}.{weight}" in tensors for weight in _WEIGHTS)
    if last in _OF_ATTENTION:
        return prod(tensors[name]) == 1
    if last in ("scales", "biases"):
        return _is_of_mlx(path, tensors)
    stem = name.removesuffix("_scales")
    return stem != name and f"{stem}_blocks" in tensors


def is_packed_matrix(name: str, shape: Shape) -> bool:
    """Whether a tensor of integers may be a packed weight, rather than a buffer such as position ids or a mask.

    >>> is_packed_matrix("q.W_q", (768, 96)), is_packed_matrix("embeddings.position_ids", (1, 512))
    (True, False)
    """
    last = name.rpartition(".")[2]
    is_buffer = last.endswith(("_ids", "_index", "mask", "bias", "indices", "_idx"))
    return len(shape) > 1 and min(shape) > 1 and not is_buffer


def plain_name_of(name: str) -> str:
    """Return the name of a packed weight in the model that is not quantized.

    >>> plain_name_of("q.weight_packed"), plain_name_of("experts.down_proj_blocks")
    ('q.weight', 'experts.down_proj')
    """
    return name.removesuffix("_packed").removesuffix("_blocks")


def unpack_weights(tensors: Mapping[str, Shape]) -> UnpackedWeights:
    """Return the real shapes of packed weights; ``tensors`` are the stored shapes. The module has an example."""
    blocks = {name: shape for name, shape in tensors.items() if _is_in_blocks(name, tensors)}
    shapes = {name: (*shape[:-2], shape[-2] * _BLOCK) for name, shape in blocks.items() if len(shape) > 2}
    packed = {name: shape for name, shape in tensors.items() if _is_packed(name, shape, tensors)}
    if not packed:
        return UnpackedWeights(shapes, {})
    sizes = {size for name, shape in tensors.items() if name not in packed for size in shape[:2] if _is_plain(name)}
    sizes |= {shape[0] for shape in packed.values()}
    words = {name: _word(name.rpartition(".")[0], tensors) for name in packed}
    of_bits = {bits: shapes for bits in _BITS if (shapes := _with_bits(packed, bits, words))}
    fitting = [bits for bits, shapes in of_bits.items() if all(shape[1] in sizes for shape in shapes.values())]
    possible = fitting or [bits for bits in of_bits if bits in _USUAL]
    if not possible:
        return UnpackedWeights(shapes, {})
    by_bits = {bits: sum(map(prod, of_bits[bits].values())) for bits in possible}
    return UnpackedWeights({**shapes, **of_bits[possible[0]]}, by_bits if len(by_bits) > 1 else {})


def _is_plain(name: str) -> bool:
    return name.rpartition(".")[2] not in (*_BESIDE_WEIGHT, "scales", "biases")


def _is_in_blocks(name: str, tensors: Mapping[str, Shape]) -> bool:
    stem = name.removesuffix("_blocks")
    return stem != name and f"{stem}_scales" in tensors


def _is_packed(name: str, shape: Shape, tensors: Mapping[str, Shape]) -> bool:
    path, _dot, last = name.rpartition(".")
    if len(shape) != 2 or last not in _WEIGHTS:
        return False
    return last == "weight_packed" or _is_of_mlx(path, tensors) or _word(path, tensors) == _BYTE


def _word(path: str, tensors: Mapping[str, Shape]) -> int:
    """Return the bits of the integers in which a module's weight is packed: a byte has two elements of NVFP4.

    NVFP4 has a scale for every 16 elements of a row, and a scale for the whole weight.
    """
    weight = next((tensors[name] for last in _WEIGHTS if (name := f"{path}.{last}") in tensors), ())
    scale = tensors.get(f"{path}.weight_scale", ())
    has_two = any(f"{path}.{name}" in tensors for name in ("weight_global_scale", "weight_scale_2"))
    is_nvfp4 = has_two and len(weight) == len(scale) == 2 and 2 * weight[1] == _GROUP * scale[1]
    return _BYTE if is_nvfp4 else _WORD


def _is_of_mlx(path: str, tensors: Mapping[str, Shape]) -> bool:
    """Whether a module has the three tensors of MLX: fewer columns in the scales than in the packed weight."""
    weight, scales, biases = (tensors.get(f"{path}.{name}", ()) for name in ("weight", "scales", "biases"))
    return len(weight) == 2 and scales == biases and scales[:1] == weight[:1] and len(scales) == 2


def _with_bits(packed: Mapping[str, Shape], bits: int, words: Mapping[str, int]) -> dict[str, Shape]:
    """Return the real shapes if each element has this number of bits; empty if these are not whole numbers."""
    if any(columns * words[name] % bits for name, (_rows, columns) in packed.items()):
        return {}
    return {name: (rows, columns * words[name] // bits) for name, (rows, columns) in packed.items()}
