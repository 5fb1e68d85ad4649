"""IA3 and LayerNorm tuning, as peft 0.21 adds them.

Liu et al. 2022, arXiv:2205.05638; Zhao et al. 2023, arXiv:2312.11420.
"""

from collections.abc import Collection
from typing import Any

from bertcalc.changes.adapter import ParameterDict, PeftChange, freeze, set_places, train_all
from bertcalc.changes.rewriting import Recording, Rewriting, Spot, copied, place_in
from bertcalc.changes.targets import IA3_FEED_FORWARD, IA3_TARGETS, LAYER_NORMS, Names, TaskType, matching, resolved
from bertcalc.model.modules import Conv1D, Linear, Module, Norm
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.bounded_matching import matches
from bertcalc.text.problem import InputError, Problem
from bertcalc.text.records import dataclass

_UNSUPPORTED = N_(
    "{module} is a {kind}, and peft does not add IA3 to it: target_modules must be Linear or Conv1D modules."
)
_NOT_TARGETED = N_("feedforward_modules must be a subset of target_modules: {name} is not one of {targets}.")
_NO_NORM = N_("{module} is a {kind}: the target_modules of LayerNorm tuning must be LayerNorms.")


@dataclass(frozen=True)
class IA3(PeftChange):
    """IA3: multiply the outputs of modules, or the inputs of feed-forward modules, by trained vectors.

    The arguments match ``peft.IA3Config``.

    >>> from bertcalc import load
    >>> load("bert-base-uncased").adapted(IA3()).trainable_parameters
    64512
    """

    title = "IA3"
    peft_config, peft_type = "IA3Config", "IA3"

    packed_in_16_bits = False  # scaled outputs are float32, which a matrix product does not accept with 16-bit weights

    target_modules: Names | None = None
    feedforward_modules: Names | None = None
    task_type: TaskType | None = None
    modules_to_save: Collection[str] | None = None
    exclude_modules: Names | None = None

    def adapt(self, rewriting: Rewriting) -> None:
        self._check()
        names = resolved(rewriting, "target_modules", self.target_modules, IA3_TARGETS, self.task_type)
        narrowed = resolved(rewriting, "feedforward_modules", self.feedforward_modules, IA3_FEED_FORWARD, None)
        targets = self.targets(names)
        rewriting.split_layers(lambda name: (targets.match(name), self._in_front(narrowed, name)))
        spots = matching(rewriting, targets)
        freeze(rewriting.root)
        for spot in spots:
            self._scale(rewriting, spot, in_front=self._in_front(narrowed, rewriting.full_names(spot)[0]))

    def _check(self) -> None:
        targets, scaled = self.target_modules, self.feedforward_modules
        if targets is None or isinstance(targets, str) or isinstance(scaled, str):
            return
        for name in scaled or ():
            if name not in targets:
                values = {"name": name, "targets": ", ".join(targets)}
                raise InputError(Problem.of(_NOT_TARGETED, "feedforward_modules", name, **values))

    def _in_front(self, names: Names, name: str) -> bool:
        """Whether peft scales the input of a module. Suffixes in ``names`` may begin inside a path component."""
        return matches(names, name) if isinstance(names, str) else name.endswith(tuple(names))

    def _scale(self, rewriting: Rewriting, spot: Spot, *, in_front: bool) -> None:
        base = spot.module
        if not isinstance(base, (Linear, Conv1D)):
            values: dict[str, Any] = {"module": spot.path, "kind": base.class_name}
            raise InputError(Problem.of(_UNSUPPORTED, "target_modules", spot.path, **values))
        units = base.in_features if in_front else base.out_features
        vector = ParameterDict(default=(1, units) if in_front else (units, 1))
        wrapper = set_places(Module("Linear", ia3_l=vector), place_in(base.place))
        wrapper.children = {"base_layer": base, **wrapper.children}

        def steps(step: Step) -> list[Step]:
            recording = Recording(step, spot.path)
            scaled = step.takes[0] if in_front else recording.base
            tensors = {f"ia3_l.{name}": shape for name, shape in vector.parameters.items()}
            recording.made("scaling", "multiply", (scaled,), scaled.shape, tensors)
            return recording.steps

        rewriting.wrap(spot, wrapper, "base_layer", steps, in_front=in_front)


@dataclass(frozen=True)
class LNTuning(PeftChange):
    """LayerNorm tuning: train copies of the LayerNorms. peft keeps the originals, so these LayerNorms count twice.

    The arguments match ``peft.LNTuningConfig``. peft has default ``target_modules`` for GPT-2 only.

    >>> from bertcalc import load
    >>> load("gpt2").adapted(LNTuning()).trainable_parameters
    38400
    """

    title = N_("LayerNorm tuning")
    peft_config, peft_type = "LNTuningConfig", "LN_TUNING"

    in_16_bits = False  # the copies are float32, which CUDA's LayerNorm kernel does not accept with a 16-bit input

    target_modules: Names | None = None
    task_type: TaskType | None = None
    modules_to_save: Collection[str] | None = None
    exclude_modules: Names | None = None

    def adapt(self, rewriting: Rewriting) -> None:
        names = resolved(rewriting, "target_modules", self.target_modules, LAYER_NORMS, self.task_type, (Norm,))
        targets = self.targets(names)
        rewriting.split_layers(targets.match)
        spots = matching(rewriting, targets, (Norm,))
        freeze(rewriting.root)
        for spot in spots:
            if not isinstance(spot.module, Norm):
                values: dict[str, Any] = {"module": spot.path, "kind": spot.module.class_name}
                raise InputError(Problem.of(_NO_NORM, "target_modules", spot.path, **values))
            trained = train_all(copied(spot.module))
            wrapper = Module("ln_tuning.LNTuningLayer", base_layer=spot.module)
            wrapper.children["ln_tuning_layers"] = Module("ModuleDict", default=trained)
            rewriting.wrap(spot, wrapper, "ln_tuning_layers.default")
