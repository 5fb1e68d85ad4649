"""ModernBERT's choice of a token without data: the first of each sequence that is no padding."""

from bertcalc.memory.simulator.forward_pass import Pass
from bertcalc.memory.simulator.overrides import Own
from bertcalc.memory.simulator.tape import INT64, SimulatedTensor
from bertcalc.model.steps import Step


def _first_token(run: Pass, step: Step) -> SimulatedTensor | None:
    """For multiple choice; without a mask the index of the token is one number for all sequences."""
    if step.operation == "view":
        return run.usual(step)
    tape, (x,) = run.tape, run.taken(step)
    rows, columns = x.shape[:1], x.shape[:1] if run.given_mask else ()
    run.values |= {"rows": tape.new(rows, INT64), "columns": tape.new(columns, INT64)}
    if not run.given_mask:
        return tape.index(tape.select(x), [run.values["rows"]])
    return tape.index(x, [run.values["rows"], run.values["columns"]])


OWN = Own(steps={"first_token": _first_token})
