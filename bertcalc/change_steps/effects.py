"""What each step of a change does to parameters, bytes, FLOPs and the peak of a training step."""

from collections.abc import Sequence
from typing import NamedTuple

from bertcalc.change_steps.step_texts import Step
from bertcalc.compute.flops import forward_flops
from bertcalc.memory.plan import Plan
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from bertcalc.model.steps import Batch
from bertcalc.storage.adapter_file import adapter_file_bytes
from bertcalc.storage.model_file import file_bytes, quantized
from bertcalc.storage.quantized_model import QuantizedModel
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

_TWICE = N_("A model is quantized once: leave out one of the two steps.")
_ADAPTED = N_("peft adds adapters to a quantized model: put the quantization in front of the adapter.")
_LATE = N_("{change} has to come before the quantization, which needs a model of its final size.")
_NOT_ADAPTED = N_(
    "peft adds no adapters to a model in {format}: choose another quantization, or leave the adapter out."
)
_NO_PEAK = N_("The peak of a training step is not simulated for quantized weights.")
_NOT_TRAINED = N_("Quantized weights are not trained: an adapter is.")
FLOAT32 = 4  # bytes; of all tensors that are not quantized


class ChangedModel(NamedTuple):
    """A model after some steps; ``base`` is the part that is quantized, if a step quantizes it."""

    model: Model
    base: QuantizedModel | None = None

    def after(self, step: Step) -> "ChangedModel":
        """The model after one more step. Raises InputError if the step is not possible."""
        if isinstance(step, Change):
            if self.base and step.resizes:
                raise InputError(Problem.of(_LATE, "changes", None, change=type(step).__name__))
            if self.base and not self.base.format.takes_adapters:
                raise InputError(Problem.of(_NOT_ADAPTED, "changes", None, format=self.base.format.title))
            return self._replace(model=self.model.changed(changes=(*self.model.changes, step)))
        if self.base:
            raise InputError(Problem.of(_TWICE, "changes"))
        if self.is_adapted:
            raise InputError(Problem.of(_ADAPTED, "changes"))
        return self._replace(base=quantized(self.model, step))

    @property
    def is_adapted(self) -> bool:
        return any(not change.resizes for change in self.model.changes)

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
        return self.base.file_bytes + adapter_file_bytes(self.model) if self.base else file_bytes(self.model)


class StepEffect(NamedTuple):
    """The figures of a model after some steps.

    ``unknown`` says why there are no trained parameters, FLOPs or peak.
    """

    changed: ChangedModel
    parameters: int
    trained: int | None
    memory_bytes: int
    file_bytes: int
    flops: int | None
    peak: int | None
    unknown: tuple[Problem, ...]


def changed_models(model: Model, steps: Sequence[Step]) -> tuple[list[ChangedModel], Problem | None]:
    """The model before the first step and after each one, up to one that is not possible; and the problem with it."""
    models = [ChangedModel(model)]
    for step in steps:
        try:
            models.append(models[-1].after(step))
        except InputError as error:
            return models, error.problem
    return models, None


def effect(changed: ChangedModel, batch: Batch, plan: Plan) -> StepEffect:
    """The figures of a model: FLOPs of a forward pass, and the peak of a training step with a plan.

    >>> from bertcalc import Lora, load
    >>> bert = load("bert-base-uncased", "BertForSequenceClassification")
    >>> models, _problem = changed_models(bert, [Lora(task_type="SEQ_CLS")])
    >>> before, after = (effect(changed, Batch(1, 128), Plan()) for changed in models)
    >>> after.parameters - before.parameters, after.trained
    (296450, 296450)
    """
    from bertcalc.memory.peak.peak_formulas import peak_bytes  # imports SymPy, which is slow

    model, unknown = changed.model, list[Problem]()
    flops = peak = trained = None
    try:
        flops = forward_flops(model, *batch)
        if not changed.base:
            peak = peak_bytes(model, plan, *batch)
    except InputError as error:
        unknown.append(error.problem)
    if changed.base:
        unknown.append(Problem.of(_NO_PEAK if changed.is_adapted else _NOT_TRAINED, "changes"))
    if changed.is_adapted or not changed.base:
        trained = model.num_parameters(only_trainable=True)
    sizes = changed.memory_bytes, changed.file_bytes
    return StepEffect(changed, model.num_parameters(), trained, *sizes, flops, peak, tuple(unknown))
