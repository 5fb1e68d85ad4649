"""DeBERTa-v2's disentangled attention, convolution, masks and loss on simulated tensors.

Each function has the operations and variables of modeling_deberta_v2.py in transformers 5.23, in the same order,
because the lifetime of tensors depends on them.
"""

from collections.abc import Callable
from typing import Any

from bertcalc.families.deberta_v2 import DebertaV2Config
from bertcalc.memory.family_steps.step_registry import register
from bertcalc.memory.simulator.forward_pass import Overrides, Pass, Steps
from bertcalc.memory.simulator.frames import Frame, frame
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import BOOL, FLOAT32, INT64, Tape, is_contiguous
from bertcalc.model.trace import Step


@frame
def _attention(run: Pass, v: Frame, steps: Steps) -> SimulatedTensor:
    """Simulate DisentangledSelfAttention.forward; ``steps`` are the program's steps, keyed by role."""
    hidden_states, rel_embeddings = run.values[steps["query"].takes[0].name], distances(run, steps)
    tape = run.tape
    batch, heads, length, size = steps["query_heads"].gives.shape
    v.query_layer = _heads(tape, run.call(steps["query"], hidden_states), heads, size)
    v.key_layer = _heads(tape, run.call(steps["key"], hidden_states), heads, size)
    v.value_layer = _heads(tape, run.call(steps["value"], hidden_states), heads, size)
    for_step(run, steps["scores"])
    v.scale = scaled_size_sqrt(tape)
    v.attention_scores = tape.bmm(
        v.query_layer, tape.divide(tape.transpose(v.key_layer, 1, 2), tape.to(v.scale, v.query_layer.item))
    )
    if rel_embeddings:
        add_distances(run, v, steps, rel_embeddings, _bias)
    for_step(run, steps["mask"])
    v.attention_scores = tape.view(v.attention_scores, (batch, heads, length, length))
    mask_and_softmax(run, v, steps)
    v.context_layer = tape.bmm(tape.view(v.attention_probs, (batch * heads, length, length)), v.value_layer)
    for_step(run, steps["merge_heads"])
    v.context_layer = tape.contiguous(
        tape.permute(tape.view(v.context_layer, (batch, heads, length, size)), (0, 2, 1, 3))
    )
    return tape.view(v.context_layer, (batch, length, heads * size))


@frame
def _bias(
    run: Pass,
    v: Frame,
    steps: Steps,
    query_layer: SimulatedTensor,
    key_layer: SimulatedTensor,
    rel_embeddings: SimulatedTensor,
) -> SimulatedTensor:
    """Simulate disentangled_attention_bias with both c2p and p2c in pos_att_type, in any order."""
    tape, item = run.tape, query_layer.item
    batch, heads, _rows, size = steps["pos_key_heads"].gives.shape
    length = query_layer.shape[1]
    v.relative_pos = tape.view(run.values["relative_pos"], (1, 1, length, length))
    for_step(run, steps["one_batch"])
    v.rel_embeddings = tape.unsqueeze(tape.same(rel_embeddings), 0)

    def positions(name: str) -> SimulatedTensor:
        position_step = steps.get(f"position {name}")
        y = _heads(tape, run.call(position_step or steps[f"{name} again"], v.rel_embeddings), heads, size)
        return tape.repeat(y, batch)

    if "query again" in steps:
        v.pos_query_layer = positions("query")
        v.pos_key_layer = positions("key")
    else:
        v.pos_key_layer = positions("key")
        v.pos_query_layer = positions("query")
    for_step(run, steps["c2p"])
    v.scale = scaled_size_sqrt(tape)
    v.c2p_att = tape.bmm(query_layer, tape.transpose(v.pos_key_layer, 1, 2))
    for_step(run, steps["c2p_gathered"])
    v.c2p_pos = tape.like(tape.like(v.relative_pos))
    v.c2p_att = tape.gather(v.c2p_att, for_each(v.c2p_pos, v.c2p_att))
    for_step(run, steps["c2p_scaled"])
    v.score = tape.shift(tape.divide(v.c2p_att, tape.to(v.scale, item)))
    for_step(run, steps["p2c"])
    v.scale = scaled_size_sqrt(tape)
    v.p2c_pos = tape.like(tape.like(tape.like(v.relative_pos)))
    v.p2c_att = tape.bmm(key_layer, tape.transpose(v.pos_query_layer, 1, 2))
    for_step(run, steps["p2c_gathered"])
    v.p2c_att = tape.transpose(tape.gather(v.p2c_att, for_each(v.p2c_pos, v.p2c_att)), 1, 2)
    for_step(run, steps["p2c_scaled"])
    return tape.add(v.score, tape.divide(v.p2c_att, tape.to(v.scale, item)), in_place=True)


# Operations that the forward methods of both versions share, with their variables.


def add_distances(run: Pass, v: Frame, steps: Steps, rel_embeddings: SimulatedTensor, bias: Callable[..., Any]) -> None:
    """Add the position scores to the attention scores; ``bias`` is the version's function for the position scores."""
    v.rel_embeddings = run.call(steps["distances_dropout"], rel_embeddings)
    v.rel_att = bias(run, steps, v.query_layer, v.key_layer, v.rel_embeddings)
    for_step(run, steps["add_distances"])
    v.attention_scores = run.tape.add(v.attention_scores, v.rel_att)


def mask_and_softmax(run: Pass, v: Frame, steps: Steps) -> None:
    """Turn the attention scores into probabilities: mask, softmax and dropout."""
    tape = run.tape
    for_step(run, steps["mask"])
    v.attention_mask = tape.new(run.values["attention_mask"].shape, BOOL)
    v.attention_scores = tape.masked(v.attention_scores, tape.like(v.attention_mask))
    for_step(run, steps["softmax"])
    v.attention_probs = tape.softmax(v.attention_scores)
    v.attention_probs = run.call(steps["weights_dropout"], v.attention_probs)
    for_step(run, steps["context"])


def distances(run: Pass, steps: Steps) -> SimulatedTensor | None:
    """The embeddings of all distances; None without relative attention."""
    return run.values[steps["distances_dropout"].takes[0].name] if "distances_dropout" in steps else None


def for_step(run: Pass, step: Step) -> None:
    """Attribute later allocations and releases to ``step``."""
    run.tape.memory.where = step.name


@frame
def _heads(tape: Tape, v: Frame, x: SimulatedTensor, heads: int, size: int) -> SimulatedTensor:
    """Simulate transpose_for_scores: merge the heads of all sequences into one axis."""
    batch, length, _width = x.shape
    v.x = tape.view(x, (batch, length, heads, size))
    return tape.view(tape.contiguous(tape.permute(v.x, (0, 2, 1, 3))), (batch * heads, length, size))


def scaled_size_sqrt(tape: Tape) -> SimulatedTensor:
    """The divisor of the scores: the square root of a product of two scalars."""
    return tape.like(tape.like(tape.new(())))


def for_each(positions: SimulatedTensor, scores: SimulatedTensor) -> SimulatedTensor:
    """Expand the positions to all heads of all sequences."""
    length = positions.shape[-1]
    heads = scores.shape[:-2]
    strides = *(0 for _axis in heads), length, 1
    return SimulatedTensor(positions.storage, (*heads, length, length), strides, INT64, is_view=True)


@frame
def _convolution(run: Pass, v: Frame, steps: Steps) -> SimulatedTensor:
    """Simulate ConvLayer.forward."""
    hidden_states, residual_states = (run.values[steps[name].takes[0].name] for name in ("channels", "add"))
    tape, input_mask = run.tape, run.values["ones"]
    for_step(run, steps["convolution"])
    v.base = run.call(steps["convolution"], tape.contiguous(tape.permute(hidden_states, (0, 2, 1))))
    v.out = tape.permute(v.base, (0, 2, 1))
    is_view = is_contiguous(v.out)  # true for a single token
    if not is_view:
        del v.base
        v.out = tape.contiguous(v.out)
    for_step(run, steps["fill_padding"])
    v.rmask = tape.made(input_mask.shape, BOOL, tape.like(input_mask))
    if is_view:
        v.out = tape.changed_in_view(v.base, v.out, v.rmask)
        del v.base
    else:
        v.out = tape.masked(v.out, v.rmask, in_place=True)
    v.out = run.call(steps["activation"], run.call(steps["dropout"], v.out))
    for_step(run, steps["add"])
    v.layer_norm_input = tape.add(residual_states, v.out)
    v.output = run.call(steps["norm"], v.layer_norm_input)
    for_step(run, steps["mask_padding"])
    v.input_mask = tape.to(tape.unsqueeze(input_mask, 2), v.output.item)
    return tape.multiply(v.output, v.input_mask)


@frame
def _loss(run: Pass, v: Frame, returned: list[SimulatedTensor]) -> list[SimulatedTensor]:
    """The classification loss over the sequences that have a label; all sequences of the simulation have one."""
    tape, labels = run.tape, run.batch["labels"]
    if run.model.config.num_labels == 1:
        # The model returns the cast scores instead of the original ones.
        returned[0] = tape.to(tape.view(returned[0].pass_on(), labels.shape), FLOAT32).own()
        return [tape.mean_squared_error(returned[0], labels)]
    (logits,) = returned
    v.label_index = tape.made((*labels.shape, len(labels.shape)), INT64, tape.new(labels.shape, BOOL))
    rows = SimulatedTensor(v.label_index.storage, logits.shape, (1, 0), INT64, is_view=True)
    v.labeled_logits = tape.gather(logits, rows)
    v.labels = tape.like(labels)
    return [tape.cross_entropy(tape.to(v.labeled_logits, FLOAT32), v.labels)]


def _make_ones(run: Pass, _step: Step) -> None:
    """Create a float32 mask if the caller passes none, and token types, which the body does not use."""
    mask = run.batch.get("attention_mask")
    ones = run.tape.view(mask, run.sides) if mask else run.tape.new(run.sides, FLOAT32)
    run.hold("", {"ones": ones, "no_types": run.tape.new(run.sides, INT64)})


def _make_no_positions(run: Pass, step: Step) -> None:
    run.hold(step.within, {"no_positions": run.tape.new(step.gives.shape, run.width)})


def _mask_padding(run: Pass, step: Step) -> SimulatedTensor:
    (x,) = run.taken(step)
    run.hold(step.within, {"mask": run.tape.to(run.tape.unsqueeze(run.values["ones"], 2), x.item)})
    return run.tape.multiply(x, run.values["mask"])


def _make_masks(run: Pass, positions: Callable[[Pass, int], SimulatedTensor]) -> None:
    """Simulate get_attention_mask, and compute the distances that the encoder passes to each layer."""
    ones = run.values["ones"]
    batch, length = ones.shape
    run.hold("", {"attention_mask": run.tape.new((batch, 1, length, length), ones.item)})
    config: Any = run.model.config
    if config.relative_attention:
        run.hold("", {"relative_pos": positions(run, length)})


@frame
def _relative_positions(run: Pass, v: Frame, length: int) -> SimulatedTensor:
    """Simulate build_relative_position: the distance between each pair of tokens, or its bucket."""
    tape = run.tape
    v.q_ids = tape.new((length,), INT64)
    v.k_ids = tape.new((length,), INT64)
    v.rel_pos_ids = tape.new((length, length), INT64)
    if vars(run.model.config)["position_buckets"] != -1:
        v.rel_pos_ids = _log_buckets(tape, v.rel_pos_ids)
        v.rel_pos_ids = tape.new((length, length), INT64)
    return tape.view(v.rel_pos_ids, (1, length, length))


@frame
def _log_buckets(tape: Tape, v: Frame, relative_pos: SimulatedTensor) -> SimulatedTensor:
    """Simulate make_log_bucket_position: one bucket per small distance, logarithmic buckets for large distances."""
    shape = relative_pos.shape

    def made(item: int, *of: SimulatedTensor) -> SimulatedTensor:
        return tape.made(shape, item, *of)

    v.sign = made(INT64)
    v.abs_pos = made(INT64, made(BOOL, made(BOOL), made(BOOL)), tape.new((), INT64), made(INT64))
    # ceil(log(abs_pos / mid) / log(...) * (mid - 1)) + mid
    v.log_pos = made(
        FLOAT32, made(FLOAT32, made(FLOAT32, made(FLOAT32, made(FLOAT32, made(FLOAT32)), tape.like(tape.new(())))))
    )
    return made(FLOAT32, made(BOOL), made(FLOAT32), made(FLOAT32))


def overrides(
    positions: Callable[[Pass, int], SimulatedTensor], **modules: Callable[[Pass, Steps], SimulatedTensor]
) -> Overrides:
    """The overrides shared by both versions, with the ``positions`` and ``modules`` of one version."""
    return Overrides(
        steps={"mask_padding": _mask_padding},
        modules=modules,
        asides={
            "ones": _make_ones,
            "no positions": _make_no_positions,
            "masks": lambda run, _step: _make_masks(run, positions),
        },
        losses={"sequence-classification": _loss},
        handed=("relative_pos",),
    )


register(DebertaV2Config, overrides(_relative_positions, key_scaled=_attention, convolution=_convolution))
