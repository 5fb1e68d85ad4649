"""The forward methods of peft's LoRA, DoRA and IA3 on simulated tensors.

Each function has the operations and variables of peft 0.21 (layer.py, dora.py and variants.py in tuners), in the same
order, because the lifetime of tensors depends on them. peft keeps adapters of 16-bit models in float32.
"""

from collections.abc import Callable, Mapping
from math import prod

from bertcalc.memory.simulator.forward_pass import Pass, Steps
from bertcalc.memory.simulator.frames import Frame, frame
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import FLOAT32
from bertcalc.model.modules import Conv1D, Packed4Bits
from bertcalc.model.trace import Step

_MAGNITUDE = "lora_magnitude_vector.default"


@frame
def _dora(run: Pass, v: Frame, parts: Steps, x: SimulatedTensor, result: SimulatedTensor) -> SimulatedTensor:
    """Simulate DoraLinearVariant.forward."""
    dropout = parts.get("lora_dropout.default")
    if not dropout or not run.training:
        return run.tape.add(result, _beside(run, parts, x, result))
    v.x = run.call(dropout, x)
    return run.tape.add(result, _beside(run, parts, v.x, None))


@frame
def _beside(
    run: Pass, v: Frame, parts: Steps, x: SimulatedTensor, base_result: SimulatedTensor | None
) -> SimulatedTensor:
    """Simulate DoraLinearLayer.forward: return the tensor that DoRA adds to the output of the base layer."""
    tape, base, where = run.tape, parts["base_layer"], parts[_MAGNITUDE].name
    v.lora_weight = tape.to(_lora_weight(run, parts), x.item)
    tape.memory.where = where
    v.weight = tape.to(run.unpacked(base), x.item)
    is_transposed = isinstance(base.module, Conv1D) and not run.packed(base)
    v.weight_norm = _weight_norm(run, v.weight, v.lora_weight, is_transposed=is_transposed)
    v.scale = tape.quotient(run.tensor(parts[_MAGNITUDE], "weight"), v.weight_norm)
    v.scale = tape.view(v.scale, (1, *v.scale.shape))
    v.lora_result = run.call(parts["lora_B.default"], run.call(parts["lora_A.default"], x))
    tape.memory.where = where
    if base_result is None:
        # peft makes a Parameter of a transposed weight. Its gradient lives until the loss is deleted.
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
    """The product of LoRA's two matrices, computed as their output for an identity matrix."""
    weight = run.tensor(parts["lora_A.default"], "weight")
    v.x_eye = run.tape.new((weight.shape[1], weight.shape[1]), weight.item)
    return run.tape.transpose(run.call(parts["lora_B.default"], run.call(parts["lora_A.default"], v.x_eye)), 0, 1)


@frame
def _weight_norm(
    run: Pass, v: Frame, weight: SimulatedTensor, lora_weight: SimulatedTensor, *, is_transposed: bool
) -> SimulatedTensor:
    """Simulate get_weight_norm, through which no gradient flows."""
    tape = run.tape
    v.weight = tape.transpose(weight.detached(), 0, 1) if is_transposed else weight.detached()
    v.weight = tape.add(v.weight, tape.scale(lora_weight.detached()))
    return tape.new(v.weight.shape[:1], v.weight.item)


@frame
def _dora_of_table(
    run: Pass,
    v: Frame,
    parts: Steps,
    taken: tuple[SimulatedTensor, SimulatedTensor, SimulatedTensor],
    result: SimulatedTensor,
) -> SimulatedTensor:
    """Simulate the forward methods of DoraEmbeddingVariant and DoraEmbeddingLayer.

    ``taken`` are the ids and both transposed matrices.
    """
    tape, (ids, narrow, wide) = run.tape, taken
    tape.memory.where = parts[_MAGNITUDE].name
    v.lora_weight = tape.transpose(tape.product(narrow, wide), 0, 1)
    weight = run.tensor(parts["base_layer"], "weight")
    v.weight_norm = _weight_norm(run, weight, v.lora_weight, is_transposed=True)
    v.scale = tape.quotient(run.tensor(parts[_MAGNITUDE], "weight"), v.weight_norm)
    v.beside = tape.scale(tape.multiply(v.scale, tape.product(tape.index(narrow, [ids]), wide)))
    del v.lora_weight, v.weight_norm  # DoraEmbeddingLayer.forward releases them on return
    return tape.add(tape.multiply(v.scale, result), v.beside)


@frame
def _lora(run: Pass, v: Frame, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """Simulate lora.Linear.forward or lora.Conv1d.forward."""
    tape = run.tape
    if run.packed(parts["base_layer"]):
        return _lora_of_packed(run, parts, x)
    v.result = run.call(parts["base_layer"], x)
    item = v.result.item
    v.x = tape.to(x, run.tensor(parts["lora_A.default"], "weight").item)
    if _MAGNITUDE in parts:
        v.result = _dora(run, parts, v.x, v.result)
        return tape.to(v.result, item)
    v.result = tape.add(v.result, _scaled_product(run, parts, v.x))
    return tape.to(v.result, item)


def _scaled_product(run: Pass, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """The output of the adapter's two matrices: lora_B(lora_A(dropout(x))) * scaling."""
    dropout = parts.get("lora_dropout.default")
    narrow = run.call(parts["lora_A.default"], run.call(dropout, x) if dropout else x)
    return run.tape.scale(run.call(parts["lora_B.default"], narrow))


@frame
def _lora_of_packed(run: Pass, v: Frame, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """Simulate lora.bnb.Linear4bit.forward or Linear8bitLt.forward, which cast nothing under autocast."""
    tape = run.tape
    v.result = _of_packed(run, parts["base_layer"], run.call(parts["base_layer"], x))
    item = v.result.item
    v.x = x if tape.autocast else tape.to(x, run.tensor(parts["lora_A.default"], "weight").item)
    if _MAGNITUDE in parts:
        v.result = _dora(run, parts, v.x, v.result)
        return tape.to(v.result, item)
    v.output = _scaled_product(run, parts, v.x)
    if not tape.autocast:
        v.output = tape.to(v.output, item)
    return tape.add(v.result, v.output)


def _of_packed(run: Pass, base: Step, result: SimulatedTensor) -> SimulatedTensor:
    """The output of a layer with packed weights, as peft uses it: a copy if the weights have 4 bits."""
    return run.tape.clone(result) if isinstance(run.packed(base), Packed4Bits) else result


@frame
def _lora_of_table(run: Pass, v: Frame, parts: Steps, ids: SimulatedTensor) -> SimulatedTensor:
    """Simulate lora.Embedding.forward."""
    tape = run.tape
    v.result = run.call(parts["base_layer"], ids)
    item = v.result.item
    tape.memory.where = parts["lora_embedding_A"].name
    v.embedding_A = tape.transpose(run.tensor(parts["lora_embedding_A"], "default"), 0, 1)
    v.embedding_B = tape.transpose(run.tensor(parts["lora_embedding_B"], "default"), 0, 1)
    if _MAGNITUDE in parts:
        v.result = _dora_of_table(run, parts, (ids, v.embedding_A, v.embedding_B), v.result)
        return tape.to(v.result, item)
    v.after_A = tape.index(v.embedding_A, [ids])
    tape.memory.where = parts["lora_embedding_B"].name
    v.adapter_output = tape.scale(tape.product(v.after_A, v.embedding_B))
    v.result = tape.add(v.result, v.adapter_output)
    return tape.to(v.result, item)


@frame
def _ia3(run: Pass, v: Frame, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """Simulate the forward method of ia3.Linear, ia3.bnb.Linear4bit or ia3.bnb.Linear8bitLt."""
    tape, base = run.tape, parts["base_layer"]
    (scaled,) = (part for part in parts.values() if part.operation == "multiply")
    tape.memory.where = scaled.name
    vector = run.tensor(scaled, "default")
    v.scaling = tape.scale(tape.view(vector, (prod(vector.shape),)))
    in_front = base.takes[0].name == scaled.gives.name
    if run.packed(base):
        v.x = x if tape.autocast else tape.to(x, FLOAT32)
        v.result = run.call(base, tape.multiply(v.x, v.scaling) if in_front else v.x)
        tape.memory.where = scaled.name
        v.result = v.result if in_front else tape.multiply(v.result, v.scaling)
        return _of_packed(run, base, v.result)
    if in_front:
        v.x = tape.to(x, vector.item)
        v.interm = tape.to(tape.multiply(v.x, v.scaling), x.item)
        return run.call(base, v.interm)
    v.result = run.call(base, x)
    tape.memory.where = scaled.name
    return tape.to(tape.multiply(v.result, v.scaling), v.result.item)


# Keyed by the part that identifies the method; the first match counts.
CALLS: Mapping[str, Callable[[Pass, Steps, SimulatedTensor], SimulatedTensor]] = {
    "lora_A.default": _lora,
    "lora_embedding_A": _lora_of_table,
    "base_layer": _ia3,
}
