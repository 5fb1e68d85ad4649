"""DoRA's forward methods on simulated tensors (peft 0.21, tuners/lora/dora.py and variants.py)."""

from bertcalc.memory.simulator.forward_pass import Pass, Steps
from bertcalc.memory.simulator.tape import SimulatedTensor
from bertcalc.model.modules import Conv1D

MAGNITUDE = "lora_magnitude_vector.default"


def linear(run: Pass, parts: Steps, x: SimulatedTensor, result: SimulatedTensor) -> SimulatedTensor:
    """DoraLinearVariant.forward."""
    dropout = parts.get("lora_dropout.default")
    base_result: SimulatedTensor | None = result
    if dropout and run.training:
        x = run.call(dropout, x)
        base_result = None
    return run.tape.add(result, _beside(run, parts, x, base_result))


def _beside(run: Pass, parts: Steps, x: SimulatedTensor, base_result: SimulatedTensor | None) -> SimulatedTensor:
    """DoraLinearLayer.forward."""
    tape, base, where = run.tape, parts["base_layer"], parts[MAGNITUDE].name
    lora_weight = tape.to(_lora_weight(run, parts), x.item)
    tape.memory.where = where
    weight = tape.to(run.unpacked(base), x.item)
    is_transposed = isinstance(base.module, Conv1D) and not run.packed(base)
    weight_norm = _norm(run, weight, lora_weight, is_transposed=is_transposed)
    scale = tape.quotient(run.tensor(parts[MAGNITUDE], "weight"), weight_norm)
    scale = tape.view(scale, (1, *scale.shape))
    lora_result = run.call(parts["lora_B.default"], run.call(parts["lora_A.default"], x))
    tape.memory.where = where
    if base_result is None:
        # peft makes a Parameter of a transposed weight, which gets a gradient until the loss is deleted.
        factor = tape.transposed_parameter(weight, where) if is_transposed else weight
        base_result = tape.linear(x, factor, None)
    elif bias := run.learned(base, "bias"):
        base_result = tape.subtract(base_result, bias)
    result = tape.add(tape.multiply(tape.shift(scale), base_result), tape.scale(tape.multiply(scale, lora_result)))
    del lora_weight, weight, weight_norm, lora_result  # variables of the forward method
    return result


def _lora_weight(run: Pass, parts: Steps) -> SimulatedTensor:
    """The product of both matrices, as their output for a unit matrix."""
    weight = run.tensor(parts["lora_A.default"], "weight")
    eye = run.tape.new((weight.shape[1], weight.shape[1]), weight.item)
    return run.tape.transpose(run.call(parts["lora_B.default"], run.call(parts["lora_A.default"], eye)), 0, 1)


def _norm(run: Pass, weight: SimulatedTensor, lora_weight: SimulatedTensor, *, is_transposed: bool) -> SimulatedTensor:
    """get_weight_norm: no gradient flows through it."""
    tape = run.tape
    weight = tape.transpose(weight.detached(), 0, 1) if is_transposed else weight.detached()
    weight = tape.add(weight, tape.scale(lora_weight.detached()))
    return tape.new(weight.shape[:1], weight.item)


def table(
    run: Pass, parts: Steps, taken: tuple[SimulatedTensor, SimulatedTensor, SimulatedTensor], result: SimulatedTensor
) -> SimulatedTensor:
    """DoraEmbeddingVariant.forward and DoraEmbeddingLayer.forward, for ids and both transposed matrices."""
    tape, (ids, narrow, wide) = run.tape, taken
    tape.memory.where = parts[MAGNITUDE].name
    lora_weight = tape.transpose(tape.product(narrow, wide), 0, 1)
    weight = run.tensor(parts["base_layer"], "weight")
    weight_norm = _norm(run, weight, lora_weight, is_transposed=True)
    scale = tape.quotient(run.tensor(parts[MAGNITUDE], "weight"), weight_norm)
    beside = tape.scale(tape.multiply(scale, tape.product(tape.index(narrow, [ids]), wide)))
    del lora_weight, weight_norm  # variables of DoraEmbeddingLayer.forward
    return tape.add(tape.multiply(scale, result), beside)
