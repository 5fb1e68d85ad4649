"""The quantization of a model as a change: what a training step with an adapter sees of it."""

from bertcalc.changes.rewriting import Rewriting
from bertcalc.model.change import PACKS, Change
from bertcalc.model.model import Model
from bertcalc.model.modules import Module
from bertcalc.model.trace import Step
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.stored_tensors import CODES, Dtype
from bertcalc.text import N_
from bertcalc.text.problem import wrong
from bertcalc.text.records import dataclass

_SHARED = N_("{module} shares a tensor with another module, so it cannot be quantized: leave it as it is.")


@dataclass(frozen=True)
class PackWeights(Change):
    """The weights of a model's layers in a quantization format: frozen and packed; all else is in ``dtype``.

    >>> from bertcalc.model.model import build
    >>> from bertcalc.storage.bitsandbytes_format import BitsAndBytesConfig
    >>> nf4 = PackWeights(BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"))
    >>> build("bert-base-uncased").changed(changes=(nf4,)).get_submodule("encoder.layer.*.output.dense").packed
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
                spot.module.packed = packed[name]
                spot.module.frozen = frozenset(spot.module.parameters)
