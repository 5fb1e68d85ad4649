"""The forward methods of peft's adapters on simulated tensors.

Each function has the operations and variables of peft 0.21 (tuners/lora/layer.py, tuners/ia3/layer.py), in the same
order, because the lifetime of tensors depends on them. peft keeps adapters of 16-bit models in float32.
"""

from collections.abc import Callable, Mapping

from bertcalc.memory.simulator.forward_pass import Pass, Steps
from bertcalc.memory.simulator.tape import SimulatedTensor

ADAPTER = ".default"  # peft's name of an adapter


def _lora(run: Pass, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """lora.Linear.forward and lora.Conv1d.forward."""
    tape = run.tape
    result = run.call(parts["base_layer"], x)
    item = result.item
    x = tape.to(x, run.tensor(parts["lora_A.default"], "weight").item)
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


def _lora_of_table(run: Pass, parts: Steps, ids: SimulatedTensor) -> SimulatedTensor:
    """lora.Embedding.forward."""
    tape = run.tape
    result = run.call(parts["base_layer"], ids)
    item = result.item
    tape.memory.where = parts["lora_embedding_A"].name
    table = tape.transpose(run.tensor(parts["lora_embedding_A"], "default"), 0, 1)
    wide = tape.transpose(run.tensor(parts["lora_embedding_B"], "default"), 0, 1)
    after = tape.index(table, [ids])
    tape.memory.where = parts["lora_embedding_B"].name
    output = tape.scale(tape.product(after, wide))
    result = tape.add(result, output)
    del table, wide, after, output  # variables of the forward method, like the result
    return tape.to(result, item)


def _ia3(run: Pass, parts: Steps, x: SimulatedTensor) -> SimulatedTensor:
    """ia3.Linear.forward."""
    tape, scaled, base = run.tape, parts["scaling"], parts["base_layer"]
    tape.memory.where = scaled.name
    vector = run.tensor(scaled, "default")
    scaling = tape.scale(tape.view(vector, (max(vector.shape),)))
    if base.takes[0].name == scaled.gives.name:  # in front
        item = x.item
        x = tape.to(x, vector.item)
        x = tape.to(tape.multiply(x, scaling), item)
        return run.call(base, x)
    result = run.call(base, x)
    item = result.item
    tape.memory.where = scaled.name
    return tape.to(tape.multiply(result, scaling), item)


# By a part that tells them apart.
CALLS: Mapping[str, Callable[[Pass, Steps, SimulatedTensor], SimulatedTensor]] = {
    "lora_A.default": _lora,
    "lora_embedding_A": _lora_of_table,
    "scaling": _ia3,
}
