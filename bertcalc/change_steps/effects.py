"""The effect of each change step on a model's parameters, bytes, FLOPs and peak memory in a training step."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from bertcalc.change_steps.step_texts import ChangeStep
from bertcalc.compute.flops import forward_flops
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.model.change import check_order
from bertcalc.model.model import Model
from bertcalc.storage.adapter_file import adapter_file_bytes
from bertcalc.storage.model_file import file_bytes, quantized
from bertcalc.storage.quantization_format import QuantizationFormat
from bertcalc.storage.quantized_model import AdaptedModel, QuantizedModel
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem, wrong
from bertcalc.text.records import dataclass

_NOT_TRAINED = N_("Quantized weights are frozen: to train the model, add an adapter after quantization.")
_FROZEN = N_("Nothing is trained: layers in {format} do not propagate gradients.")
_NO_INFERENCE = N_("The peak of inference is not simulated for weights in {format}.")

FLOAT32 = 4  # bytes per entry of a tensor that is not quantized


@dataclass(frozen=True)
class ChangedModel:
    """A model after some steps; ``base`` is the quantized model, or None if no step quantizes."""

    model: Model
    base: QuantizedModel | None = None

    def after(self, step: ChangeStep) -> "ChangedModel":
        """Return the model after one more step. Raises InputError if the step is impossible."""
        if isinstance(step, QuantizationFormat):
            if self.base:
                check_order((self.base.format, step))
            return replace(self, base=quantized(self.model, step))
        after = replace(self, model=self.model.changed(changes=(*self.model.changes, step)))
        after.adapted  # noqa: B018  # raises InputError
        return after

    @cached_property
    def adapted(self) -> AdaptedModel | None:
        """The quantized model with its adapter; None if nothing is quantized."""
        return AdaptedModel(self.base, self.model) if self.base else None

    @property
    def steps(self) -> tuple[ChangeStep, ...]:
        """All steps that turned the original model into the present one, in order, including quantization."""
        changes = self.model.changes
        if not self.base:
            return changes
        assert isinstance(self.base.model, Model)
        before = len(self.base.model.changes)
        return (*changes[:before], self.base.format, *changes[before:])

    def check_trained(self) -> None:
        """Raise InputError if the model is quantized and nothing is trained, because no adapter follows."""
        if self.base and self.model == self.base.model:
            message = _NOT_TRAINED if self.base.format.takes_adapters else _FROZEN
            raise wrong(message, "changes", format=self.base.format.title)

    def in_training(self, plan: Plan) -> Model:
        """Return the model to simulate in a training step.

        Quantized weights are packed, and other weights have the dtype of the plan's precision. Raises InputError if
        nothing is trained, or if training with such weights is not simulated.
        """
        self.check_trained()
        return self.adapted.packed(PRECISIONS[plan.precision].dtype) if self.adapted else self.model

    def in_inference(self) -> Model:
        """Return the model to simulate in inference. Raises InputError if the model is quantized."""
        if self.base:
            raise wrong(_NO_INFERENCE, "changes", format=self.base.format.title)
        return self.model

    @property
    def trained(self) -> int:
        """The number of trained parameters. Raises InputError if the model is quantized and has no adapter."""
        self.check_trained()
        return self.model.num_parameters(only_trainable=True)

    @property
    def memory_bytes(self) -> int:
        """The size of all weights in memory, in bytes. Weights that are not quantized are in float32."""
        return self.adapted.memory_bytes if self.adapted else FLOAT32 * self.model.num_parameters()

    @property
    def file_bytes(self) -> int:
        """The size in bytes of the file that transformers or the quantization library writes, plus any adapter file.

        Raises InputError if the library cannot save the model.
        """
        return self.adapted.file_bytes if self.adapted else file_bytes(self.model)


class StepEffect(NamedTuple):
    """The figures of a model after some steps.

    ``adapter_bytes`` is the part of ``file_bytes`` in the adapter's own file. ``flops`` is the cost of a forward pass,
    and ``peak`` the peak memory of a training step in bytes. A figure that cannot be computed is None; ``unknown`` has
    the reasons.
    """

    changed: ChangedModel
    parameters: int
    trained: int | None
    memory_bytes: int
    file_bytes: int | None
    adapter_bytes: int
    flops: int | None
    peak: int | None
    unknown: tuple[Problem, ...]


def with_steps(model: Model, steps: Iterable[ChangeStep]) -> ChangedModel:
    """Return a model after all steps. Raises InputError if a step is impossible."""
    changed = ChangedModel(model)
    for step in steps:
        changed = changed.after(step)
    return changed


def changed_models(model: Model, steps: Sequence[ChangeStep]) -> tuple[list[ChangedModel], Problem | None]:
    """Return the model before and after each step, up to the first impossible step, and the problem with that step.

    The problem is None if all steps are possible.
    """
    models = [ChangedModel(model)]
    for step in steps:
        try:
            models.append(models[-1].after(step))
        except InputError as error:
            return models, error.problem
    return models, None


def effect(changed: ChangedModel, batch: Batch, plan: Plan) -> StepEffect:
    """Return the figures of a changed model for a batch. The peak memory is for a training step with ``plan``.

    >>> from bertcalc import Lora, load
    >>> bert = load("bert-base-uncased", "BertForSequenceClassification")
    >>> models, _problem = changed_models(bert, [Lora(task_type="SEQ_CLS")])
    >>> before, after = (effect(changed, Batch(1, 128), Plan()) for changed in models)
    >>> after.parameters - before.parameters, after.trained
    (296450, 296450)
    """
    from bertcalc.memory.peak.peak_formulas import peak_bytes  # imports SymPy, which is slow

    model, unknown = changed.model, list[Problem]()
    flops = peak = trained = file = None
    try:
        file = changed.file_bytes
    except InputError as error:
        unknown.append(error.problem)
    try:
        trained = changed.trained
    except InputError as error:
        unknown.append(error.problem)
    try:
        flops = forward_flops(model, *batch.shape)
        if trained is not None:
            peak = peak_bytes(changed.in_training(plan), plan, *batch.shape)
    except InputError as error:
        unknown.append(error.problem)
    sizes = changed.memory_bytes, file, adapter_file_bytes(model)
    return StepEffect(changed, model.num_parameters(), trained, *sizes, flops, peak, tuple(unknown))
