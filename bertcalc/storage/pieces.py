"""The tensors that a quantization format stores for each tensor of a model: weights, scales, zero points, tables."""

from collections.abc import Iterable
from math import prod
from typing import Literal, NamedTuple

from bertcalc.model.modules import Shape
from bertcalc.storage.stored_tensors import StoredTensor, data_bytes
from bertcalc.text import N_

Kind = Literal["weights", "scales", "zero points", "tables", "unchanged"]
KINDS: dict[Kind, str] = {
    "weights": N_("quantized weights"),
    "scales": N_("scales"),
    "zero points": N_("zero points"),
    "tables": N_("tables and descriptions"),
    "unchanged": N_("not quantized"),
}


class StoredPiece(NamedTuple):
    """A stored tensor: the model's tensor that it belongs to (``source``), and its role.

    ``parameters`` is the number of parameters whose values it has. Some pieces are only in the file, such as a
    description, and some only in memory.
    """

    tensor: StoredTensor
    source: str
    kind: Kind
    parameters: int = 0
    in_memory: bool = True
    in_file: bool = True

    @classmethod
    def of(
        cls, name: str, dtype: str, shape: Shape, source: str, kind: Kind, parameters: int | None = None
    ) -> "StoredPiece":
        """A piece; ``parameters`` is left out unless several are packed into one element."""
        if parameters is None:
            parameters = prod(shape) if kind in ("weights", "unchanged") else 0
        return cls(StoredTensor(name, dtype, shape), source, kind, parameters)


def bytes_of(pieces: Iterable[StoredPiece]) -> int:
    return data_bytes(piece.tensor for piece in pieces)
