"""A quantization format: the tensors that it stores for a model, and the size of the file."""

from collections.abc import Iterable
from math import prod
from typing import ClassVar, Literal, NamedTuple

from bertcalc.model.change import PACKS
from bertcalc.model.modules import Module, PackedWeight, Shape, join
from bertcalc.storage.kept_layers import linear_layers, matrix
from bertcalc.storage.safetensors_file import safetensors_bytes
from bertcalc.storage.saved_names import renamed
from bertcalc.storage.stored_tensors import Dtype, StoredTensor, data_bytes, state_dict
from bertcalc.text import N_
from bertcalc.text.arguments import CheckedRecord
from bertcalc.text.problem import wrong
from bertcalc.text.records import call, dataclass

Kind = Literal["weights", "scales", "zero points", "tables", "unchanged"]
KINDS: dict[Kind, str] = {
    "weights": N_("quantized weights"),
    "scales": N_("scales"),
    "zero points": N_("zero points"),
    "tables": N_("tables and descriptions"),
    "unchanged": N_("not quantized"),
}


class StoredPiece(NamedTuple):
    """A stored tensor, the model's tensor that it belongs to (``source``), and its role (``kind``).

    ``parameters`` is the number of parameters that it stores. Some pieces are only in the file, such as a description,
    and some only in memory.
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
        """Create a stored piece; ``parameters`` is needed only if an element packs several parameters."""
        if parameters is None:
            parameters = prod(shape) if kind in ("weights", "unchanged") else 0
        return cls(StoredTensor(name, dtype, shape), source, kind, parameters)


def bytes_of(pieces: Iterable[StoredPiece]) -> int:
    return data_bytes(piece.tensor for piece in pieces)


_NOT_SIMULATED = N_(
    "The peak of a training step is not simulated for weights in {format}, only for int8 and the 4-bit types "
    "of bitsandbytes."
)
FileFormat = Literal["safetensors", "bin", "onnx", "gguf"]


@dataclass(frozen=True)
class QuantizationFormat(CheckedRecord):
    """The base of all formats. Arguments have the same names and defaults as in the library of the format."""

    title: ClassVar[str]
    source: ClassVar[str]  # where the layout is described
    file_format: ClassVar[FileFormat] = "safetensors"
    dtypes: ClassVar[tuple[Dtype, ...]] = ("float32", "bfloat16", "float16")  # possible for unquantized tensors
    takes_adapters: ClassVar[bool] = False  # whether its layers pass a gradient, so that peft 0.21 adapts them
    turn: ClassVar[int] = PACKS  # see ``Change``
    once: ClassVar[bool] = True
    caveat: ClassVar[str] = ""  # what readers must know about the sizes; empty if tests compare them with real files

    def __str__(self) -> str:
        """The format as a call, with the arguments that differ from their defaults."""
        return call(self)

    @property
    def nominal_bits(self) -> int:
        """The nominal bits per weight, such as 4 for Q4_K_M. Scales and unquantized weights are not included."""
        return 8

    @property
    def is_unpacked(self) -> bool:
        """Whether a weight with fewer than 8 bits is stored in a whole byte."""
        return False

    @property
    def product_dtype(self) -> str:
        """The dtype in which layers multiply when an adapter is trained."""
        raise NotImplementedError

    @property
    def alike_layers(self) -> bool:
        """Whether all layers have the same number of bytes, except possibly the first layer."""
        return True

    @property
    def by_layer(self) -> bool:
        """Whether the format's arguments select layers by number."""
        return False

    def layers(self, model: Module) -> list[tuple[str, Module]]:
        """The layers to quantize, as (path, module) pairs."""
        return linear_layers(model)

    def of_layer(self, path: str, rows: int, columns: int, dtype: str) -> list[StoredPiece]:
        """The tensors that the format stores instead of a layer's weight of shape (rows, columns).

        ``path`` is the path of the layer; ``dtype`` is as in ``pieces``.
        """
        raise NotImplementedError

    def pieces(self, model: Module, dtype: str) -> list[StoredPiece]:
        """All stored tensors of a model, in the model's order.

        ``dtype`` is safetensors' code for tensors that are not quantized. A tied tensor is stored once, unless only its
        second name is quantized: then each name has its own data.
        """
        layers = dict(self.layers(model))
        pieces: list[StoredPiece] = []
        seen: set[str] = set()
        for entry in state_dict(model):
            if entry.path in layers and entry.name == join(entry.path, "weight"):
                pieces += self.of_layer(entry.path, *matrix(entry.module), dtype)
                seen.add(entry.name)
            elif entry.owner not in seen:
                seen.add(entry.owner)
                pieces.append(StoredPiece.of(entry.owner, dtype, entry.shape, entry.owner, "unchanged"))
        return pieces

    def packed(self, model: Module, dtype: str) -> dict[str, PackedWeight]:
        """The packed weights of a model, keyed by layer; ``dtype`` is safetensors' code for all other tensors.

        Raises InputError if training on packed weights in this format is not simulated.
        """
        raise wrong(_NOT_SIMULATED, "changes", None, format=self.title)

    def file_bytes(self, model: Module, dtype: str) -> int:
        """The size of the file in bytes; ``dtype`` is safetensors' code for the tensors that are not quantized."""
        tensors = [piece.tensor for piece in self.pieces(model, dtype) if piece.in_file]
        return safetensors_bytes(renamed(model, tensors))

    def file_margin(self, model: Module) -> int:
        """The number of bytes by which the file may be larger or smaller, because its size depends on the weights."""
        return 0
