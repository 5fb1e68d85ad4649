"""What models are compared by: the parameters, FLOPs and bytes of a model with something going through it.

Each quantity is read from the tree with whatever it was built with: integers, columns, or symbols. Only the peaks of
memory have no symbolic reading, as each is the largest of several moments.

>>> from bertcalc import BertConfig
>>> QUANTITIES["parameters"].of(Case(Subject(BertConfig())))
109482240
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

from bertcalc.compute.flops import forward_flops, training_flops
from bertcalc.config import unchecked
from bertcalc.memory.footprint import kept
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.saved import total_bytes
from bertcalc.problem import InputError
from bertcalc.subject import Subject
from bertcalc.text import N_
from bertcalc.tree.nn import Component
from bertcalc.tree.totals import totals_by_component

Unit = Literal["parameters", "FLOPs", "bytes"]


class Case(NamedTuple):
    """A model, what goes through it, and how it is trained (with AdamW, every parameter).

    Columns are int64: a quantity that reaches 2**63 wraps around there, and only there. No quantity shrinks when a
    field grows, but for relative positions, whose distances are shorter where there are more heads: so the counts of
    the corners, as Python integers, say whether that can happen.
    """

    subject: Subject
    batch_size: int = 1
    sequence_length: int = 128
    plan: Plan = Plan()

    def replace(self, **fields: Any) -> "Case":
        """The same with other fields of the configuration, which are not checked: numbers, columns or symbols."""
        return self._replace(subject=self.subject._replace(config=unchecked(self.subject.config, **fields)))


class Quantity(NamedTuple):
    """Something to compare models by."""

    unit: Unit
    meaning: str
    of: Callable[[Case], int]  # raises InputError where memory is not simulated, or where a class cannot run

    def known(self, case: Case) -> int | None:
        """The figure; None where there is none."""
        try:
            return self.of(case)
        except InputError:
            return None


def parameters(case: Case) -> int:
    return case.subject.model().num_parameters()


def component_parameters(component: Component, case: Case) -> int:
    """The parameters of a component; 0 where the architecture has none."""
    try:
        totals = components(case.subject)
    except TypeError:  # columns are not hashable
        totals = totals_by_component(case.subject.model())
    return totals.get(component, 0)


@lru_cache(maxsize=256)
def components(subject: Subject) -> Mapping[Component, int]:
    """Parameters of each component that one model has, kept because they are asked for one after the other."""
    return totals_by_component(subject.model())


def flops(count: Callable[..., int], case: Case) -> int:
    """FLOPs of matrix products, as PyTorch counts them."""
    seen = case.subject.seen(case.sequence_length)
    return count(case.subject.model(), case.batch_size, case.sequence_length, encoder_sequence_length=seen)


def weights(case: Case) -> int:
    """Bytes of the weights, in the type that the model computes in."""
    return ITEM_BYTES[PRECISIONS[case.plan.precision].dtype] * parameters(case)


def activations(case: Case) -> int:
    """Bytes that autograd keeps for the backward pass."""
    return total_bytes(kept(case.subject, case.plan, case.batch_size, case.sequence_length))


PEAKS: Mapping[str, Callable[[Plan], Plan | Inference]] = {
    "training_memory": lambda plan: plan,
    "inference_memory": lambda plan: Inference(PRECISIONS[plan.precision].dtype, plan.attention),
}


def peak(name: str, case: Case) -> int:
    """The most bytes that are alive at once in a step."""
    from bertcalc.memory.peak_formulas import peak_bytes  # SymPy is loaded when it is needed first

    return peak_bytes(case.subject, PEAKS[name](case.plan), case.batch_size, case.sequence_length)


QUANTITIES: Mapping[str, Quantity] = {
    "parameters": Quantity("parameters", N_("parameters in total"), parameters),
    "embeddings": Quantity("parameters", N_("parameters of embeddings"), partial(component_parameters, "embeddings")),
    "encoder": Quantity("parameters", N_("parameters of the encoder"), partial(component_parameters, "encoder")),
    "pooler": Quantity("parameters", N_("parameters of the pooler"), partial(component_parameters, "pooler")),
    "head": Quantity("parameters", N_("parameters of the head"), partial(component_parameters, "head")),
    "forward": Quantity("FLOPs", N_("FLOPs of a forward pass"), partial(flops, forward_flops)),
    "training": Quantity("FLOPs", N_("FLOPs of a training step"), partial(flops, training_flops)),
    "weights": Quantity("bytes", N_("memory of the weights"), weights),
    "activations": Quantity("bytes", N_("memory of saved activations"), activations),
    "training_memory": Quantity(
        "bytes", N_("peak memory of a training step with AdamW"), partial(peak, "training_memory")
    ),
    "inference_memory": Quantity("bytes", N_("peak memory of inference"), partial(peak, "inference_memory")),
}
