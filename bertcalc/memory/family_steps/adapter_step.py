"""The forward methods of peft's LoRA and IA3 on simulated tensors.

Each function has the operations and variables of peft 0.21 (tuners/lora/layer.py, tuners/ia3/layer.py), in the same
order, because the lifetime of tensors depends on them. peft keeps adapters of 16-bit models in float32.
"""

from collections.abc import Callable, Mapping
from math import prod

from bertcalc.memory.family_steps import dora_step
from bertcalc.memory.simulator.forward_pass import Pass, Steps
from bertcalc.memory.simulator.tape import FLOAT32, SimulatedTensor
from bertcalc.model.modules import Packed4Bits
from bertcalc.model.steps import Step


def _lora(run: Pass, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """lora.Linear.forward and lora.Conv1d.forward."""
    tape = run.tape
    if run.packed(parts["base_layer"]):
        return _lora_of_packed(run, parts, x)
    result = run.call(parts["base_layer"], x)
    item = result.item
    x = tape.to(x, run.tensor(parts["lora_A.default"], "weight").item)
    if dora_step.MAGNITUDE in parts:
        result = dora_step.linear(run, parts, x, result)
        return tape.to(result, item)
    dropout = parts.get("lora_dropout.default")
    result = tape.add(
        result,
        tape.scale(
            run.call(
                parts["lora_B.default"],
                run.call(parts["lora_A.default"], run.call(dropout, x) if dropout else x),
            )
        ),
    )
    return tape.to(result, item)


def _lora_of_packed(run: Pass, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """lora.bnb.Linear4bit.forward and Linear8bitLt.forward, which cast nothing under autocast."""
    tape, dropout = run.tape, parts.get("lora_dropout.default")
    result = _of_packed(run, parts["base_layer"], run.call(parts["base_layer"], x))
    item = result.item
    if not tape.autocast:
        x = tape.to(x, run.tensor(parts["lora_A.default"], "weight").item)
    if dora_step.MAGNITUDE in parts:
        result = dora_step.linear(run, parts, x, result)
        return tape.to(result, item)
    output = tape.scale(
        run.call(
            parts["lora_B.default"],
            run.call(parts["lora_A.default"], run.call(dropout, x) if dropout else x),
        )
    )
    if not tape.autocast:
        output = tape.to(output, item)
    return tape.add(result, output)


def _of_packed(run: Pass, base: Step, result: SimulatedTensor) -> SimulatedTensor:
    """The output of a layer with packed weights, as peft uses it: with 4 bits, a copy."""
    return run.tape.clone(result) if isinstance(run.packed(base), Packed4Bits) else result


def _lora_of_table(run: Pass, parts: Steps, ids: SimulatedTensor) -> SimulatedTensor:
    """lora.Embedding.forward."""
    tape = run.tape
    result = run.call(parts["base_layer"], ids)
    item = result.item
    tape.memory.where = parts["lora_embedding_A"].name
    table = tape.transpose(run.tensor(parts["lora_embedding_A"], "default"), 0, 1)
    wide = tape.transpose(run.tensor(parts["lora_embedding_B"], "default"), 0, 1)
    if dora_step.MAGNITUDE in parts:
        result = dora_step.table(run, parts, (ids, table, wide), result)
        return tape.to(result, item)
    after = tape.index(table, [ids])
    tape.memory.where = parts["lora_embedding_B"].name
    output = tape.scale(tape.product(after, wide))
    result = tape.add(result, output)
    result = tape.to(result, item)
    del table, wide, after, output  # variables of the forward method
    return result


def _ia3(run: Pass, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """ia3.Linear.forward, and that of ia3.bnb.Linear4bit and Linear8bitLt."""
    tape, base = run.tape, parts["base_layer"]
    (scaled,) = (part for part in parts.values() if part.operation == "multiply")
    tape.memory.where = scaled.name
    vector = run.tensor(scaled, "default")
    scaling = tape.scale(tape.view(vector, (prod(vector.shape),)))
    in_front = base.takes[0].name == scaled.gives.name
    if run.packed(base):
        x = x if tape.autocast else tape.to(x, FLOAT32)
        result = run.call(base, tape.multiply(x, scaling) if in_front else x)
        tape.memory.where = scaled.name
        result = result if in_front else tape.multiply(result, scaling)
        return _of_packed(run, base, result)
    if in_front:
        item = x.item
        x = tape.to(x, vector.item)
        interm = tape.to(tape.multiply(x, scaling), item)  # beside x: both are variables of the forward method
        return run.call(base, interm)
    result = run.call(base, x)
    item = result.item
    tape.memory.where = scaled.name
    return tape.to(tape.multiply(result, scaling), item)


# By the first part that tells them apart.
CALLS: Mapping[str, Callable[[Pass, Steps, SimulatedTensor], SimulatedTensor]] = {
    "lora_A.default": _lora,
    "lora_embedding_A": _lora_of_table,
    "base_layer": _ia3,
}
