"""ModernBERT's token selection on simulated tensors: the first token of each sequence that is not padding."""

from bertcalc.families.modernbert import ModernBertConfig
from bertcalc.memory.family_steps.step_registry import register
from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import INT64
from bertcalc.model.trace import Step


def _first_token(run: Pass, step: Step) -> SimulatedTensor | None:
    """Select the first token of each sequence; for multiple choice, the first token that is not padding.

    Without a mask, all sequences share one index.
    """
    if step.operation == "view":
        return run.usual(step)
    tape, (x,) = run.tape, run.taken(step)
    rows, columns = x.shape[:1], x.shape[:1] if run.given_mask else ()
    run.values |= {"rows": tape.new(rows, INT64), "columns": tape.new(columns, INT64)}
    if not run.given_mask:
        return tape.index(tape.select(x), [run.values["rows"]])
    return tape.index(x, [run.values["rows"], run.values["columns"]])


register(ModernBertConfig, Overrides(steps={"first_token": _first_token}))
