"""The steps of a forward pass with live shapes, which a browser updates as sliders move.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.text.live_numbers import evaluated
>>> table = live_steps(build(BertConfig()), Call())[2].tensors[0]
>>> table.name, table.num_parameters(), evaluated(table.num_parameters().node, {"vocab_size": 100, "hidden_size": 8})
('embeddings.word_embeddings.weight', 23440896, 800)
"""

from bertcalc.forward.outputs import Call, attends, run
from bertcalc.live.live_formulas import with_formulas
from bertcalc.model.formula import symbolic_steps
from bertcalc.model.letters import CALL_LETTERS
from bertcalc.model.model import Model
from bertcalc.model.trace import Step


def live_steps(model: Model, call: Call) -> list[Step]:
    """The steps of a call with live shapes."""
    letters = [symbolic.step for symbolic in symbolic_steps(model, cross=attends(model, call))]
    steps: list[Step] = with_formulas(run(model, call), letters, {**model.config.shared(), **call_sizes(call)})
    return steps


def call_sizes(call: Call) -> dict[str, int]:
    """The sizes of a call that have a symbol, keyed by field, without fields that are None."""
    return {field: size for field in CALL_LETTERS if (size := getattr(call, field)) is not None}
