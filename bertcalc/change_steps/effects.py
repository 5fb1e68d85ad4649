"""What each step of a change does to parameters, bytes, FLOPs and the peak of a training step."""

from collections.abc import Sequence
from typing import NamedTuple

from bertcalc.change_steps.step_texts import Step
from bertcalc.changes.adapter import PeftChange
from bertcalc.compute.flops import forward_flops
from bertcalc.memory.peak import changes_in, peak
from bertcalc.memory.plan import Plan
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from bertcalc.model.steps import Batch
from bertcalc.model.trace import Sizes
from bertcalc.storage.adapter_file import adapter_file_bytes
from bertcalc.storage.model_file import file_bytes, quantized
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

_TWICE = N_("A model is quantized once: leave out one of the two steps.")
_ADAPTED = N_("peft adds adapters to a quantized model: put the quantization in front of the adapter.")
_NO_PEAK = N_("The peak of a training step is not simulated for quantized weights.")
FLOAT32 = 4  # bytes; of all tensors that are not quantized


class ChangedModel(NamedTuple):
    """A model after some steps; ``base`` is the part that is quantized, if a step quantizes it."""

    model: Model
    base: QuantizedModel | None = None

    def after(self, step: Step) -> "ChangedModel":
        """The model after one more step. Raises InputError if the step is not possible."""
        if isinstance(step, Change):
            return self._replace(model=self.model.changed(changes=(*self.model.changes, step)))
        if self.base:
            raise InputError(Problem.of(_TWICE, "changes"))
        if any(isinstance(change, PeftChange) for change in self.model.changes):
            raise InputError(Problem.of(_ADAPTED, "changes"))
        return self._replace(base=quantized(self.model, step))

    @property
    def added(self) -> int:
        """The number of parameters that were added to the quantized part; 0 if nothing is quantized."""
        return self.model.num_parameters() - self.base.model.num_parameters() if self.base else 0

    @property
    def memory_bytes(self) -> int:
        """The bytes of all weights in memory: in float32, unless they are quantized."""
        if self.base:
            return self.base.memory_bytes + FLOAT32 * self.added
        return FLOAT32 * self.model.num_parameters()

    @property
    def file_bytes(self) -> int:
        """The size of the files: the model's, as transformers or the library writes it, and the adapter's."""
        whole = self.base.file_bytes if self.base else file_bytes(self.without_adapters)
        return whole + adapter_file_bytes(self.model)

    @property
    def without_adapters(self) -> Model:
        """The model as it is on the disk: peft saves adapters apart."""
        kept = tuple(change for change in self.model.changes if not isinstance(change, PeftChange))
        return self.model if kept == self.model.changes else self.model.changed(changes=kept)


class StepEffect(NamedTuple):
    """The figures of a model after some steps; ``unknown`` says why there are no FLOPs or no peak."""

    changed: ChangedModel
    parameters: int
    trained: int
    memory_bytes: int
    file_bytes: int
    flops: int | None
    peak: int | None
    unknown: Problem | None


def effects(model: Model, steps: Sequence[Step], batch: Batch, plan: Plan) -> list[StepEffect]:
    """The figures before the first step, and after each one.

    Raises InputError, with ``step`` among the values of its problem, for the first step that is not possible.

    >>> from bertcalc import Lora, load
    >>> bert = load("bert-base-uncased", "BertForSequenceClassification")
    >>> before, after = effects(bert, [Lora(task_type="SEQ_CLS")], Batch(1, 128), Plan())
    >>> after.parameters - before.parameters, after.trained
    (296450, 296450)
    """
    changed = ChangedModel(model)
    figures = [_effect(changed, batch, plan)]
    for step in steps:
        changed = changed.after(step)
        figures.append(_effect(changed, batch, plan))
    return figures


def possible(model: Model, steps: Sequence[Step]) -> tuple[list[Step], Problem | None]:
    """The steps up to the first one that is not possible, and the problem with it."""
    changed = ChangedModel(model)
    for number, step in enumerate(steps):
        try:
            changed = changed.after(step)
        except InputError as error:
            return list(steps[:number]), error.problem
    return list(steps), None


def _effect(changed: ChangedModel, batch: Batch, plan: Plan) -> StepEffect:
    model = changed.model
    most: int | None = None
    flops: int | None = None
    problem: Problem | None = None
    try:
        flops = forward_flops(model, *batch)
        if changed.base:
            raise InputError(Problem.of(_NO_PEAK, "changes"))
        sizes = Sizes(batch.batch_size, batch.sequence_length, model.seen(batch.sequence_length))
        most = peak(changes_in(model, plan, sizes)).live
    except InputError as error:
        problem = error.problem
    return StepEffect(
        changed,
        model.num_parameters(),
        model.num_parameters(only_trainable=True),
        changed.memory_bytes,
        changed.file_bytes,
        flops,
        most,
        problem,
    )
