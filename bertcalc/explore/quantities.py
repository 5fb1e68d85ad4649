"""The quantities by which models are compared: parameters, FLOPs and bytes of a model for a batch.

Each quantity works for models built from integers, columns or symbols. The exception is peak memory, which has no
symbolic value because it is a maximum over several points in time.

>>> from bertcalc import BertConfig
>>> QUANTITIES["parameters"].of(Case(Model(BertConfig())))
109482240
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

from bertcalc.change_steps.effects import ChangedModel
from bertcalc.compute.flops import forward_flops, training_flops
from bertcalc.config import unchecked
from bertcalc.memory.footprint import kept
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.saved import total_bytes
from bertcalc.model.batch import DEFAULT_BATCH, Batch
from bertcalc.model.model import Model
from bertcalc.model.modules import Component
from bertcalc.model.totals import totals_by_component
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.text import N_
from bertcalc.text.arguments import checked, record, unknown
from bertcalc.text.problem import InputError, wrong

_NOT_QUANTIZED = N_("bertcalc does not count the saved activations of models with weights in {format}.")
Unit = Literal["parameters", "FLOPs", "bytes"]


@record
class Case(NamedTuple):
    """A model, its batch, and how it is trained: with AdamW, on all parameters that the plan does not freeze.

    ``base`` is the quantized part of the model, if there is one.

    Columns are int64 arrays, so a quantity of 2**63 or more overflows. No quantity shrinks when a field grows, with one
    exception: with relative positions, each distance has a vector of the head size, which is smaller with more heads.
    To see whether any model in a range overflows, it is therefore enough to count the corners of the range with Python
    integers.
    """

    model: Model
    batch: Batch = DEFAULT_BATCH
    plan: Plan = Plan()
    base: QuantizedModel | None = None

    @property
    def changed(self) -> ChangedModel:
        """The model with its change steps, one of which can be a quantization."""
        return ChangedModel(self.model, self.base)

    def of(self, changed: ChangedModel) -> "Case":
        """Return a copy with the same batch and plan, for a model with change steps."""
        return self._replace(model=changed.model, base=changed.base)

    def replace(self, **fields: Any) -> "Case":
        """Return a copy with fields of the configuration replaced by numbers, columns or symbols, without checks."""
        return self._replace(model=self.model.changed(config=unchecked(self.model.config, **fields)))


class Quantity(NamedTuple):
    """A quantity to compare models by."""

    unit: Unit
    meaning: str
    of: Callable[[Case], int]  # raises InputError if the model cannot run or its memory is not simulated

    def known(self, case: Case) -> int | None:
        """Return the value for a case; None if it cannot be computed."""
        try:
            return self.of(case)
        except InputError:
            return None


@checked
def parameters(case: Case) -> int:
    return case.model.num_parameters()


@checked
def component_parameters(component: Component, case: Case) -> int:
    """Return the number of parameters of a component; 0 if the architecture does not have it."""
    try:
        totals = components(case.model)
    except TypeError:  # columns are not hashable
        totals = totals_by_component(case.model)
    return totals.get(component, 0)


@checked
@lru_cache(maxsize=256)
def components(model: Model) -> Mapping[Component, int]:
    """Return the number of parameters of each component.

    The result is cached, because callers ask for the components one by one.
    """
    return totals_by_component(model)


@checked
def flops(count: Callable[..., int], case: Case) -> int:
    """Return the FLOPs of matrix products, as PyTorch counts them; ``count`` is forward_flops or training_flops."""
    seen = case.model.encoder_length(case.batch.sequence_length)
    return count(case.model, *case.batch.shape, encoder_sequence_length=seen)


@checked
def training(case: Case) -> int:
    """Return the FLOPs of a training step, including recomputation, without the FLOPs that frozen tensors save."""
    case.changed.check_trained()
    return flops(partial(training_flops, freezing=case.plan.freezing, recompute=case.plan.recompute), case)


@checked
def weights(case: Case) -> int:
    """Return the bytes of the weights, in the dtype of the plan's precision or in the quantization format."""
    if case.base:
        return case.changed.memory_bytes
    return ITEM_BYTES[PRECISIONS[case.plan.precision].dtype] * parameters(case)


@checked
def activations(case: Case) -> int:
    """Return the bytes of the tensors that autograd saves for backward.

    Raises InputError if the model is quantized, and in the same cases as ``saved_activations``.
    """
    if case.base:
        raise wrong(_NOT_QUANTIZED, "changes", format=case.base.format.title)
    return total_bytes(kept(case.model, case.plan, *case.batch.shape))


PEAKS: Mapping[str, Callable[[Plan], Plan | Inference]] = {
    "training_memory": lambda plan: plan,
    "inference_memory": lambda plan: Inference(PRECISIONS[plan.precision].dtype, plan.attention),
}


@checked
def peak(name: Literal["training_memory", "inference_memory"], case: Case) -> int:
    """Return the peak memory of a training or inference step, in bytes."""
    from bertcalc.memory.peak.peak_formulas import peak_bytes  # imports SymPy, which is slow

    model = case.changed.in_inference() if name == "inference_memory" else case.changed.in_training(case.plan)
    return peak_bytes(model, PEAKS[name](case.plan), *case.batch.shape)


QUANTITIES: Mapping[str, Quantity] = {
    "parameters": Quantity("parameters", N_("parameters in total"), parameters),
    "embeddings": Quantity("parameters", N_("parameters of embeddings"), partial(component_parameters, "embeddings")),
    "encoder": Quantity("parameters", N_("parameters of the encoder"), partial(component_parameters, "encoder")),
    "pooler": Quantity("parameters", N_("parameters of the pooler"), partial(component_parameters, "pooler")),
    "head": Quantity("parameters", N_("parameters of the head"), partial(component_parameters, "head")),
    "forward": Quantity("FLOPs", N_("FLOPs of a forward pass"), partial(flops, forward_flops)),
    "training": Quantity("FLOPs", N_("FLOPs of a training step"), training),
    "weights": Quantity("bytes", N_("memory of the weights"), weights),
    "activations": Quantity("bytes", N_("memory of saved activations"), activations),
    "training_memory": Quantity(
        "bytes", N_("peak memory of a training step with AdamW"), partial(peak, "training_memory")
    ),
    "inference_memory": Quantity("bytes", N_("peak memory of inference"), partial(peak, "inference_memory")),
}

# The last two are for a single model at a time: columns have no file size, and only a model with change steps can train
# fewer parameters than it has.
EVERY_QUANTITY: Mapping[str, Quantity] = {
    **QUANTITIES,
    "file": Quantity("bytes", N_("size of the file"), lambda case: case.changed.file_bytes),
    "trainable": Quantity("parameters", N_("trained parameters"), lambda case: case.changed.trained),
}


def quantity_named(name: str, quantities: Mapping[str, Quantity] = QUANTITIES) -> Quantity:
    """Return the quantity with this name. Raises UnknownNameError if there is none."""
    if name not in quantities:
        raise unknown(_NO_QUANTITY, name, quantities)
    return quantities[name]


_NO_QUANTITY = (
    N_("There is no quantity {name}: did you mean {nearest}?"),
    N_("There is no quantity {name}: it must be one of {options}."),
)
