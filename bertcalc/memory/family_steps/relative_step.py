"""BERT's forward methods in transformers 4.57 on simulated tensors: masks, ids, distances, attention weights.

Each function has the operations and variables of the original, in the same order.
"""

from bertcalc.memory.einsum import EQUATIONS
from bertcalc.memory.family_steps.step_registry import register
from bertcalc.memory.simulator.forward_pass import ENCODED, Overrides, Pass, usual_positions
from bertcalc.memory.simulator.frames import Frame, frame
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import BOOL, FLOAT32, INT64
from bertcalc.model.modules import layer_number, split_layer
from bertcalc.model.trace import Step
from bertcalc.transformers4.version import FOUR


def _positions(run: Pass, step: Step) -> SimulatedTensor:
    """The position ids; the embeddings check for padding first."""
    run.look_for_padding(step.takes[0].shape)
    return usual_positions(run, step)


def _make_masks(run: Pass, _step: Step) -> None:
    """Create the attention mask, with or without padding, and the mask for the cross-attention."""
    if run.padded:
        mask = run.tape.view(run.batch["attention_mask"], run.sides)
    else:
        mask = run.tape.new(run.sides, FLOAT32)
        run.hold("", {"ones": mask})
    decoder = run.model.config.is_decoder
    run.hold("", {"attention_mask": _inverted(run, _causal(run, mask) if decoder else mask)})
    if decoder and ENCODED in run.batch:
        run.hold("", {"encoder_ones": run.tape.new(run.batch[ENCODED].shape[:2], FLOAT32)})
        run.hold("", {"encoder_attention_mask": _inverted(run, run.values["encoder_ones"])})


@frame
def _causal(run: Pass, v: Frame, mask: SimulatedTensor) -> SimulatedTensor:
    """Create the causal mask like get_extended_attention_mask in modeling_utils.py."""
    tape, (batch, length) = run.tape, mask.shape
    square = (batch, length, length)
    v.seq_ids = tape.new((length,), INT64)
    v.causal_mask = tape.made(square, mask.item, tape.made(square, BOOL, tape.new(square, INT64)))
    return tape.made((batch, 1, length, length), mask.item, v.causal_mask)


def _inverted(run: Pass, seen: SimulatedTensor) -> SimulatedTensor:
    """The additive mask: (1 - seen) times the smallest number of the dtype."""
    seen = run.tape.to(seen, run.width)
    if len(seen.shape) == 2:  # the mask is the same for every query
        seen = run.tape.unsqueeze(run.tape.unsqueeze(seen, 1), 1)
    return _hidden(run, seen)


@frame
def _hidden(run: Pass, v: Frame, seen: SimulatedTensor) -> SimulatedTensor:
    v.inverted_mask = run.tape.like(seen)
    return run.tape.like(v.inverted_mask)


def _distances(run: Pass, step: Step) -> SimulatedTensor:
    tape, (queries, keys) = run.tape, step.takes[0].shape
    made = [tape.new(shape, INT64) for shape in ((queries,), (keys,), (queries, keys))]
    run.hold(step.within, {f"{step.within}.{number}": tensor for number, tensor in enumerate(made)})
    return tape.like(tape.like(made[2]))


def _context(run: Pass, step: Step) -> SimulatedTensor | None:
    """Run the step and hold the attention weights: BertEncoder holds a layer's outputs until the next layer returns."""
    layers = split_layer(step.name)[0].rpartition(".")[0]
    after = f"{layers}.{layer_number(step.name) + 1}"
    weights = run.values[step.takes[0].name]
    run.hold(after if after in run.held.returns else layers.rpartition(".")[0], {f"{step.name} of": weights})
    return run.usual(step)


register(
    FOUR,
    Overrides(
        steps={
            **dict.fromkeys(EQUATIONS, lambda run, step: run.tape.einsum(EQUATIONS[step.place.role], *run.taken(step))),
            "context": _context,
        },
        ids={
            "position": _positions,
            "token type": lambda run, _step: run.batch.get("token_type_ids") or run.buffers["token_type_ids"],
            "distance": _distances,
        },
        asides={"masks": _make_masks},
    ),
)
