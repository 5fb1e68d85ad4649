"""DoRA's forward methods on simulated tensors (peft 0.21, tuners/lora/dora.py and variants.py)."""

from bertcalc.memory.simulator.forward_pass import Pass, Steps
from bertcalc.memory.simulator.frames import Frame, frame
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.model.modules import Conv1D

MAGNITUDE = "lora_magnitude_vector.default"


@frame
def linear(run: Pass, v: Frame, parts: Steps, x: SimulatedTensor, result: SimulatedTensor) -> SimulatedTensor:
    """DoraLinearVariant.forward."""
    dropout = parts.get("lora_dropout.default")
    if not dropout or not run.training:
        return run.tape.add(result, _beside(run, parts, x, result))
    v.x = run.call(dropout, x)
    return run.tape.add(result, _beside(run, parts, v.x, None))


@frame
def _beside(
    run: Pass, v: Frame, parts: Steps, x: SimulatedTensor, base_result: SimulatedTensor | None
) -> SimulatedTensor:
    """DoraLinearLayer.forward."""
    tape, base, where = run.tape, parts["base_layer"], parts[MAGNITUDE].name
    v.lora_weight = tape.to(_lora_weight(run, parts), x.item)
    tape.memory.where = where
    v.weight = tape.to(run.unpacked(base), x.item)
    is_transposed = isinstance(base.module, Conv1D) and not run.packed(base)
    v.weight_norm = _norm(run, v.weight, v.lora_weight, is_transposed=is_transposed)
    v.scale = tape.quotient(run.tensor(parts[MAGNITUDE], "weight"), v.weight_norm)
    v.scale = tape.view(v.scale, (1, *v.scale.shape))
    v.lora_result = run.call(parts["lora_B.default"], run.call(parts["lora_A.default"], x))
    tape.memory.where = where
    if base_result is None:
        # peft makes a Parameter of a transposed weight, which gets a gradient until the loss is deleted.
        factor = tape.transposed_parameter(v.weight, where) if is_transposed else v.weight
        v.base_result = tape.linear(x, factor, None)
    else:
        bias = run.learned(base, "bias")
        v.base_result = tape.subtract(base_result, bias) if bias else base_result
    return tape.add(
        tape.multiply(tape.shift(v.scale), v.base_result), tape.scale(tape.multiply(v.scale, v.lora_result))
    )


@frame
def _lora_weight(run: Pass, v: Frame, parts: Steps) -> SimulatedTensor:
    """The product of both matrices, as their output for a unit matrix."""
    weight = run.tensor(parts["lora_A.default"], "weight")
    v.x_eye = run.tape.new((weight.shape[1], weight.shape[1]), weight.item)
    return run.tape.transpose(run.call(parts["lora_B.default"], run.call(parts["lora_A.default"], v.x_eye)), 0, 1)


@frame
def _norm(
    run: Pass, v: Frame, weight: SimulatedTensor, lora_weight: SimulatedTensor, *, is_transposed: bool
) -> SimulatedTensor:
    """get_weight_norm: no gradient flows through it."""
    tape = run.tape
    v.weight = tape.transpose(weight.detached(), 0, 1) if is_transposed else weight.detached()
    v.weight = tape.add(v.weight, tape.scale(lora_weight.detached()))
    return tape.new(v.weight.shape[:1], v.weight.item)


@frame
def table(
    run: Pass,
    v: Frame,
    parts: Steps,
    taken: tuple[SimulatedTensor, SimulatedTensor, SimulatedTensor],
    result: SimulatedTensor,
) -> SimulatedTensor:
    """DoraEmbeddingVariant.forward and DoraEmbeddingLayer.forward, for ids and both transposed matrices."""
    tape, (ids, narrow, wide) = run.tape, taken
    tape.memory.where = parts[MAGNITUDE].name
    v.lora_weight = tape.transpose(tape.product(narrow, wide), 0, 1)
    weight = run.tensor(parts["base_layer"], "weight")
    v.weight_norm = _norm(run, weight, v.lora_weight, is_transposed=True)
    v.scale = tape.quotient(run.tensor(parts[MAGNITUDE], "weight"), v.weight_norm)
    v.beside = tape.scale(tape.multiply(v.scale, tape.product(tape.index(narrow, [ids]), wide)))
    del v.lora_weight, v.weight_norm  # variables of DoraEmbeddingLayer.forward
    return tape.add(tape.multiply(v.scale, result), v.beside)
