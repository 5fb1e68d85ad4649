"""A quantization format: what it stores of a model, and the size of the file."""

from typing import ClassVar, Literal, Self

from bertcalc.model.change import PACKS
from bertcalc.model.modules import Module, PackedWeight
from bertcalc.storage.pieces import StoredPiece
from bertcalc.storage.safetensors_file import safetensors_bytes
from bertcalc.storage.saved_names import renamed
from bertcalc.storage.stored_tensors import Dtype, state_dict
from bertcalc.text import N_
from bertcalc.text.arguments import check_fields, check_names
from bertcalc.text.problem import wrong
from bertcalc.text.records import call, dataclass

_NOT_SIMULATED = N_(
    "The peak of a training step is not simulated for weights in {format}, only for int8 and the 4-bit types "
    "of bitsandbytes."
)
FileFormat = Literal["safetensors", "bin", "onnx", "gguf"]


@dataclass(frozen=True)
class QuantizationFormat:
    """The base of all formats. Their arguments have the names and defaults that the library gives them."""

    title: ClassVar[str]
    source: ClassVar[str]  # where the layout is described
    file_format: ClassVar[FileFormat] = "safetensors"
    dtypes: ClassVar[tuple[Dtype, ...]] = ("float32", "bfloat16", "float16")  # of what is not quantized
    takes_adapters: ClassVar[bool] = False  # whether its layers pass a gradient, so that peft 0.21 adapts them
    turn: ClassVar[int] = PACKS  # see ``Change``
    once: ClassVar[bool] = True
    caveat: ClassVar[str] = ""  # what readers must know of the sizes, unless tests compare them with real files

    def __new__(cls, *_values: object, **named: object) -> Self:
        check_names(cls, named)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check the arguments. Raises ArgumentError, which is an InputError and a TypeError."""
        check_fields(self)

    def __str__(self) -> str:
        """The format as a call, with the arguments that are not the default."""
        return call(self)

    @property
    def nominal_bits(self) -> int:
        """The bits of a weight that the format is named after."""
        return 8

    @property
    def is_unpacked(self) -> bool:
        """Whether a weight of fewer bits takes a whole byte."""
        return False

    @property
    def product_dtype(self) -> str:
        """The dtype in which layers multiply when an adapter is trained."""
        raise NotImplementedError

    @property
    def alike_layers(self) -> bool:
        """Whether all layers but the first take as many bytes."""
        return True

    @property
    def by_layer(self) -> bool:
        """Whether it names layers by their numbers."""
        return False

    def pieces(self, model: Module, dtype: str) -> list[StoredPiece]:
        """Everything that is stored of a model whose other tensors have a dtype (safetensors' code)."""
        raise NotImplementedError

    def packed(self, model: Module, dtype: str) -> dict[str, PackedWeight]:
        """How the weights of a model of a dtype are stored, by the names of their layers.

        Raises InputError if training on such weights is not simulated.
        """
        raise wrong(_NOT_SIMULATED, "changes", None, format=self.title)

    def file_bytes(self, model: Module, dtype: str) -> int:
        """The size of the file."""
        tensors = [piece.tensor for piece in self.pieces(model, dtype) if piece.in_file]
        return safetensors_bytes(renamed(model, tensors))

    def file_margin(self, model: Module) -> int:
        """By how many bytes the file may be larger or smaller, because it depends on the weights."""
        return 0


def with_unchanged(model: Module, dtype: str, replaced: dict[str, list[StoredPiece]]) -> list[StoredPiece]:
    """The pieces of quantized tensors, by the tensor's name, in the order of the model, with all other tensors.

    A tied tensor is stored once, unless only its second name is quantized: then each name has its own data.
    """
    pieces: list[StoredPiece] = []
    seen: set[str] = set()
    for entry in state_dict(model):
        if entry.name in replaced:
            pieces += replaced[entry.name]
            seen.add(entry.name)
        elif entry.owner not in seen:
            seen.add(entry.owner)
            pieces.append(StoredPiece.of(entry.owner, dtype, entry.shape, entry.owner, "unchanged"))
    return pieces
