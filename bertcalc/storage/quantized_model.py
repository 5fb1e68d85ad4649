"""A quantized model: what is stored of it, in memory and in a file, and why it is not smaller.

>>> from bertcalc.model.model import build
>>> from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
>>> nf4 = QuantizedModel(build("bert-base-uncased"), BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"))
>>> nf4.memory_bytes, nf4.file_bytes, round(nf4.bits_per_weight, 3)
(143943232, 143998631, 4.5)
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from bertcalc.model.modules import Module
from bertcalc.storage.pieces import KINDS, Kind, StoredPiece, bytes_of
from bertcalc.storage.quantization_format import FileFormat, QuantizationFormat
from bertcalc.storage.stored_tensors import CODES, Dtype
from bertcalc.text import N_
from bertcalc.text.digits import decimal, fixed, share, size
from bertcalc.text.problem import Problem

_SMALLER = N_("{size} is {ratio} times smaller than {full} in float32, not {ideal} times")
_LARGER = N_("{size} is {ratio} times as large as {full} in float32, not {ideal} times smaller")
_WHY = N_(
    "{result}: {weights} weights take {bits} bits each instead of {nominal}, with {scales} of scales, zero points and "
    "tables, and {kept} parameters ({share} %) stay as they are, the largest in {largest}."
)
_WHY_ALL = N_(
    "{result}: {weights} weights take {bits} bits each instead of {nominal}, with {scales} of scales, zero points and "
    "tables."
)
_UNPACKED = N_("{why} Each weight of {nominal} bits is stored in a whole byte, so that nothing is saved over int8.")
_COPIES = N_("{why} {copies} parameters are stored more than once, because they are tied or shared.")


@dataclass(frozen=True)
class QuantizedModel:
    """A model in a quantization format, whose other tensors are in ``dtype``."""

    model: Module
    format: QuantizationFormat
    dtype: Dtype = "float32"

    @cached_property
    def pieces(self) -> tuple[StoredPiece, ...]:
        """Every stored tensor, in the order of the model."""
        return tuple(self.format.pieces(self.model, CODES[self.dtype]))

    @cached_property
    def bytes_by_kind(self) -> dict[Kind, int]:
        """The bytes in memory of the quantized weights, of their scales, zero points and tables, and of the rest."""
        held = [piece for piece in self.pieces if piece.in_memory]
        counts = {kind: bytes_of(piece for piece in held if piece.kind == kind) for kind in KINDS}
        return {kind: count for kind, count in counts.items() if count}

    @property
    def memory_bytes(self) -> int:
        """The bytes in memory."""
        return sum(self.bytes_by_kind.values())

    @cached_property
    def file_bytes(self) -> int:
        """The size of the file that the library writes, in ``file_format``."""
        return self.format.file_bytes(self.model, CODES[self.dtype])

    @property
    def file_format(self) -> FileFormat:
        return self.format.file_format

    @cached_property
    def quantized_weights(self) -> int:
        """The number of quantized weights, as often as they are stored."""
        return sum(piece.parameters for piece in self.pieces if piece.kind == "weights")

    @cached_property
    def kept_parameters(self) -> int:
        """The number of parameters that are stored as they were."""
        return sum(piece.parameters for piece in self.pieces if piece.kind == "unchanged")

    @property
    def repeated_parameters(self) -> int:
        """The number of parameters that are stored a second time or more, because they are tied or shared."""
        return max(0, self.quantized_weights + self.kept_parameters - self.model.num_parameters())

    @property
    def bits_per_weight(self) -> float:
        """The effective bits of a quantized weight: with scales, zero points and tables, in memory."""
        quantized = self.memory_bytes - self.bytes_by_kind.get("unchanged", 0)
        return 8 * quantized / self.quantized_weights if self.quantized_weights else 0.0

    @property
    def average_bits(self) -> float:
        """The bits in memory for each parameter of the model."""
        return 8 * self.memory_bytes / self.model.num_parameters()

    @property
    def kept_tensors(self) -> list[str]:
        """The names of the tensors that stay as they are, the largest first."""
        kept = [piece for piece in self.pieces if piece.kind == "unchanged"]
        return list(dict.fromkeys(piece.source for piece in sorted(kept, key=lambda piece: -piece.parameters)))

    def why_not_smaller(self) -> Problem:
        """A sentence with numbers that says why the model is not smaller by the ratio of the bits.

        ``str`` gives it in English; ``message`` and ``values`` are for translation.
        """
        total, full = self.memory_bytes, 4 * self.model.num_parameters()
        nominal, kept = self.format.nominal_bits, self.kept_parameters
        kinds = self.bytes_by_kind
        ratio = Fraction(full, total)
        values = {
            "result": Problem.of(
                _SMALLER if ratio >= 1 else _LARGER,
                size=size(total),
                ratio=fixed(max(ratio, 1 / ratio), 2),
                full=size(full),
                ideal=decimal(Fraction(32, nominal)),
            ),
            "weights": self.quantized_weights,
            "bits": fixed(self.bits_per_weight, 2),
            "nominal": nominal,
            "scales": size(total - kinds.get("unchanged", 0) - kinds.get("weights", 0)),
            "kept": kept,
            "share": share(kept, kept + self.quantized_weights),
            "largest": next(iter(self.kept_tensors), ""),
        }
        why = Problem.of(_WHY if kept else _WHY_ALL, **values)
        if self.format.is_unpacked:
            why = Problem.of(_UNPACKED, why=why, nominal=nominal)
        return Problem.of(_COPIES, why=why, copies=self.repeated_parameters) if self.repeated_parameters else why
