"""The memory and FLOPs that freezing and gradient accumulation save.

>>> from bertcalc import BertConfig
>>> from bertcalc.memory.plan import Plan
>>> from bertcalc.model.model import Model
>>> from bertcalc.model.freezing import Freezing
>>> from bertcalc.model.batch import Batch
>>> half = Plan(freezing=Freezing(embeddings=True, layers=6))
>>> saving = of_freezing(Case(Model(BertConfig(), "BertForSequenceClassification"), Batch(32, 128), half))
>>> round(100 * saving.saved_flops / saving.whole_flops), round(100 * saving.saved_bytes / saving.whole_bytes)
(34, 47)
"""

from functools import partial
from typing import NamedTuple

from bertcalc.explore.quantities import Case, peak, training
from bertcalc.forward.gradients import NOTHING_FROZEN
from bertcalc.text.arguments import checked


class Saving(NamedTuple):
    """Peak memory in bytes and FLOPs for the same sequences, with the saving and without it (``whole_...``)."""

    num_bytes: int
    whole_bytes: int
    flops: int
    whole_flops: int

    @property
    def saved_bytes(self) -> int:
        return self.whole_bytes - self.num_bytes

    @property
    def saved_flops(self) -> int:
        return self.whole_flops - self.flops


@checked
def of_freezing(case: Case) -> Saving:
    """Compare a step with the plan's frozen tensors to a step with nothing frozen."""
    return _saving(case, case._replace(plan=case.plan._replace(freezing=NOTHING_FROZEN)), 1)


@checked
def of_adding_up(case: Case, batches: int) -> Saving:
    """Compare gradient accumulation over ``batches`` batches to one batch of their total size."""
    one_after_the_other = case._replace(plan=case.plan._replace(accumulate=batches > 1))
    batch = case.batch._replace(batch_size=batches * case.batch.batch_size)
    together = case._replace(batch=batch, plan=case.plan._replace(accumulate=False))
    return _saving(one_after_the_other, together, batches)


def _saving(case: Case, whole: Case, steps: int) -> Saving:
    memory = partial(peak, "training_memory")
    return Saving(memory(case), memory(whole), steps * training(case), training(whole))
