"""A quantized model: its bytes in memory and in a file, why it is not smaller, and its training with an adapter.

>>> from bertcalc.model.model import build
>>> from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
>>> nf4 = QuantizedModel(build("bert-base-uncased"), BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"))
>>> nf4.memory_bytes, nf4.file_bytes, round(nf4.bits_per_weight, 3)
(143943232, 143998631, 4.5)

QLoRA is an adapter on a quantized model:

>>> from bertcalc.changes.lora import Lora
>>> lora = nf4.adapted(Lora(r=8, target_modules=["query", "value"]))
>>> lora.trainable_parameters, lora.memory_bytes - nf4.memory_bytes
(294912, 1179648)
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

from bertcalc.changes.adapter import ADAPTER_NAME, COPY
from bertcalc.changes.rewriting import Rewriting
from bertcalc.memory.peak import training_peak_bytes
from bertcalc.model.change import PACKS, Change, check_order
from bertcalc.model.model import Model
from bertcalc.model.modules import Module
from bertcalc.model.trace import Step
from bertcalc.storage.adapter_file import adapter_file_bytes
from bertcalc.storage.quantization_format import KINDS, FileFormat, Kind, QuantizationFormat, StoredPiece, bytes_of
from bertcalc.storage.stored_tensors import CODES, DTYPES, Dtype, dtype_of
from bertcalc.text import N_
from bertcalc.text.arguments import Single, checked
from bertcalc.text.digits import decimal, fixed, share, size
from bertcalc.text.problem import Problem, wrong
from bertcalc.text.records import dataclass

_SHARED = N_(
    "{module} shares a tensor with another module, so it cannot be quantized: exclude it from the quantization."
)


@dataclass(frozen=True)
class PackWeights(Change):
    """A change that packs and freezes the weights of a model's layers; all other tensors are in ``dtype``.

    >>> from bertcalc.model.model import build
    >>> from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
    >>> nf4 = PackWeights(BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"))
    >>> build("bert-base-uncased").changed(changes=(nf4,)).get_submodule("encoder.layer.*.output.dense").packed_weight
    Packed4Bits(num_bytes=(1179648, 147456, 64), shape=(768, 3072), item=4, scales=0)
    """

    format: QuantizationFormat
    dtype: Dtype = "float32"
    turn = PACKS
    title = N_("Quantize")

    @property
    def packs(self) -> str:
        return self.format.product_dtype

    @property
    def by_layer(self) -> bool:
        return self.format.by_layer

    def rewrite(self, model: Model, root: Module, steps: list[Step] | None) -> None:
        rewriting = Rewriting(model, root, steps)
        packed = self.format.packed(root, CODES[self.dtype])
        owners = {owner for _path, module, _copies in root.modules() for owner in module.tied.values()}
        rewriting.split_layers(packed.__contains__)
        for spot in rewriting.spots():
            name = rewriting.full_names(spot)[0]
            if name in packed:
                if spot.module.tied or f"{name}.weight" in owners:
                    raise wrong(_SHARED, "changes", None, module=name)
                spot.module.packed_weight = packed[name]
                spot.module.frozen = frozenset(spot.module.parameters)


_SMALLER = N_("{size} is smaller than {full} in float32 by a factor of {ratio}, not {ideal}")
_NEARLY = N_("{size} is smaller than {full} in float32 by a factor of {ratio}, nearly {ideal}")
_LARGER = N_("{size} is {ratio} times as large as {full} in float32, not smaller by a factor of {ideal}")
_WHY = N_(
    "{result}: {weights} weights take {bits}, including {scales} for scales, zero points and tables, and {kept} "
    "parameters ({share} %) are not quantized, the largest in {largest}."
)
_WHY_ALL = N_("{result}: {weights} weights take {bits}, including {scales} for scales, zero points and tables.")
_MORE_BITS, _BITS = N_("{bits} bits each instead of {nominal}"), N_("{nominal} bits each")
_CLOSE = Fraction(99, 100)  # the share of the ideal ratio above which a ratio is called nearly ideal
_UNPACKED = N_("{why} Each {nominal}-bit weight is stored in a whole byte, so this saves nothing compared with int8.")
_PART = N_("Adapters are added to a whole model, not to a part of it.")
_NO_GRADIENT = N_(
    "Layers in {format} do not propagate gradients: choose a different quantization, or leave {change} out."
)
_TRAINED = N_(
    "{change} trains {module}, which is quantized: exclude it from quantization (llm_int8_skip_modules in "
    "bitsandbytes)."
)
_COPIES = N_("{why} {copies} parameters are stored more than once, because they are tied or shared.")


@dataclass(frozen=True)
class QuantizedModel:
    """A model in a quantization format; tensors that are not quantized are in ``dtype``."""

    model: Module
    format: QuantizationFormat
    dtype: Dtype = "float32"

    @cached_property
    def pieces(self) -> tuple[StoredPiece, ...]:
        """Every stored tensor, in the order of the model."""
        return tuple(self.format.pieces(self.model, CODES[self.dtype]))

    @cached_property
    def bytes_by_kind(self) -> dict[Kind, int]:
        """The bytes in memory by kind: quantized weights, scales, zero points, tables, and unquantized tensors."""
        held = [piece for piece in self.pieces if piece.in_memory]
        counts = {kind: bytes_of(piece for piece in held if piece.kind == kind) for kind in KINDS}
        return {kind: count for kind, count in counts.items() if count}

    @property
    def memory_bytes(self) -> int:
        """The bytes of all tensors in memory."""
        return sum(self.bytes_by_kind.values())

    @cached_property
    def file_bytes(self) -> int:
        """The size in bytes of the file that the library writes."""
        return self.format.file_bytes(self.model, CODES[self.dtype])

    @property
    def file_format(self) -> FileFormat:
        return self.format.file_format

    @cached_property
    def quantized_weights(self) -> int:
        """The number of quantized weights; a weight that is stored twice counts twice."""
        return sum(piece.parameters for piece in self.pieces if piece.kind == "weights")

    @cached_property
    def kept_parameters(self) -> int:
        """The number of parameters that are not quantized; a parameter that is stored twice counts twice."""
        return sum(piece.parameters for piece in self.pieces if piece.kind == "unchanged")

    @property
    def repeated_parameters(self) -> int:
        """The number of stored duplicates of tied or shared parameters."""
        return max(0, self.quantized_weights + self.kept_parameters - self.model.num_parameters())

    @property
    def bits_per_weight(self) -> float:
        """The effective bits of a quantized weight in memory; 0.0 if no weight is quantized.

        Scales, zero points and tables are included.
        """
        quantized = self.memory_bytes - self.bytes_by_kind.get("unchanged", 0)
        return 8 * quantized / self.quantized_weights if self.quantized_weights else 0.0

    @property
    def kept_tensors(self) -> list[str]:
        """The names of the tensors that are not quantized, the largest first."""
        kept = [piece for piece in self.pieces if piece.kind == "unchanged"]
        return list(dict.fromkeys(piece.source for piece in sorted(kept, key=lambda piece: -piece.parameters)))

    @checked
    def adapted(self, adapter: Change) -> "AdaptedModel":
        """The model with an adapter on its frozen weights, such as ``Lora``, ``IA3`` or ``BitFit``.

        Raises InputError if the adapter cannot be trained on weights in this format.
        """
        if not isinstance(self.model, Model):
            raise wrong(_PART, "model")
        return AdaptedModel(self, self.model.changed(changes=(*self.model.changes, adapter)))

    def why_not_smaller(self) -> Problem:
        """Explain in a sentence with numbers why the model is larger than its nominal bits per weight suggest.

        The comparison is with the same tensors in float32: for GGUF, without the pooler and the head of a language
        model. ``str`` of the result is the sentence in English; ``message`` and ``values`` are for translation.
        """
        nominal, kept = self.format.nominal_bits, self.kept_parameters
        total, stored = self.memory_bytes, kept + self.quantized_weights - self.repeated_parameters
        kinds = self.bytes_by_kind
        ratio, ideal = Fraction(4 * stored, total), Fraction(32, nominal)
        bits = fixed(self.bits_per_weight, 2)
        values = {
            "result": Problem.of(
                _LARGER if ratio < 1 else _NEARLY if ratio > _CLOSE * ideal else _SMALLER,
                size=size(total),
                ratio=fixed(max(ratio, 1 / ratio), 2),
                full=size(4 * stored),
                ideal=decimal(ideal),
            ),
            "weights": self.quantized_weights,
            "bits": Problem.of(_BITS if bits == fixed(nominal, 2) else _MORE_BITS, bits=bits, nominal=nominal),
            "scales": size(total - kinds.get("unchanged", 0) - kinds.get("weights", 0)),
            "kept": kept,
            "share": share(kept, kept + self.quantized_weights),
            "largest": next(iter(self.kept_tensors), ""),
        }
        why = Problem.of(_WHY if kept else _WHY_ALL, **values)
        if self.format.is_unpacked:
            why = Problem.of(_UNPACKED, why=why, nominal=nominal)
        return Problem.of(_COPIES, why=why, copies=self.repeated_parameters) if self.repeated_parameters else why


@dataclass(frozen=True)
class AdaptedModel:
    """A quantized model with frozen weights, and an adapter in float32.

    ``model`` is the model with its adapter, but not quantized. Modules that are trained as a whole are copies in the
    dtype of the quantized model. Raises InputError if a change would train quantized weights, or if the format's layers
    pass no gradient.
    """

    base: QuantizedModel
    model: Model

    def __post_init__(self) -> None:
        assert isinstance(self.base.model, Model)
        form = self.base.format
        for change in self.model.changes[len(self.base.model.changes) :]:
            check_order((form, change))
            if not form.takes_adapters:
                raise wrong(_NO_GRADIENT, "changes", None, change=change.title, format=form.title)
            if module := next(self._trained_and_quantized(), ""):
                raise wrong(_TRAINED, "changes", None, change=change.title, module=module)

    def _trained_and_quantized(self) -> Iterator[str]:
        quantized = {piece.source for piece in self.base.pieces if piece.kind == "weights"}
        for tensor in self.model.tensors(folded=False):
            name = tensor.name.replace(COPY, "")
            if not tensor.frozen and name in quantized:
                yield name.rpartition(".")[0]

    @checked
    def training_peak_bytes(
        self, batch_size: Single, sequence_length: Single, *, dtype: Dtype = "float32", **options: Any
    ) -> int:
        """The peak bytes of all tensors in a training step; options are the same as in ``Model.training_peak_bytes``.

        ``dtype`` is the dtype of weights that are neither quantized nor part of the adapter. Raises InputError if
        training on weights in this format, or with this adapter, is not simulated.

        The ``caveat`` of the format says what the peak leaves out, such as the outliers of int8.

        >>> from bertcalc.changes.lora import Lora
        >>> from bertcalc.model.model import build
        >>> from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
        >>> nf4 = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
        >>> lora = QuantizedModel(build("bert-base-uncased"), nf4).adapted(Lora(r=8))
        >>> lora.training_peak_bytes(8, 128, keep_outputs=False)
        846833412
        """
        return training_peak_bytes(self.packed(dtype), batch_size, sequence_length, dtype=dtype, **options)

    def packed(self, dtype: Dtype) -> Model:
        """The model with its quantization as a change before the adapter; all other weights are in ``dtype``."""
        assert isinstance(self.base.model, Model)
        before = self.base.model.changes
        packing = PackWeights(self.base.format, dtype)
        return self.model.changed(changes=(*before, packing, *self.model.changes[len(before) :]))

    @property
    def trainable_parameters(self) -> int:
        """The number of trained parameters."""
        return self.model.num_parameters(only_trainable=True)

    def num_parameters(self) -> int:
        """The number of all parameters (peft's "all params"); modules that peft keeps twice count twice."""
        return self.model.num_parameters()

    @property
    def memory_bytes(self) -> int:
        """The bytes of all weights in memory."""
        code = CODES[self.base.dtype]
        added = (tensor for tensor in self.model.tensors() if ADAPTER_NAME in tensor.name)
        sizes = (tensor.num_parameters() * DTYPES[dtype_of(tensor.name, code)] // 8 for tensor in added)
        return self.base.memory_bytes + sum(sizes)

    @property
    def file_bytes(self) -> int:
        """The total size of both files in bytes: the quantized model and adapter_model.safetensors."""
        return self.base.file_bytes + adapter_file_bytes(self.model, self.base.dtype)
