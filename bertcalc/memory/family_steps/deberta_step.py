"""The attention of DeBERTa's first version on simulated tensors: query, key and value come from one matrix.

Each function has the operations and variables of modeling_deberta.py in transformers 5.23, in the same order, because
the lifetime of tensors depends on them.
"""

from bertcalc.families.deberta import DebertaConfig
from bertcalc.memory.family_steps.deberta_v2_step import (
    add_distances,
    distances,
    for_each,
    for_step,
    mask_and_softmax,
    overrides,
    scaled_size_sqrt,
)
from bertcalc.memory.family_steps.step_registry import register
from bertcalc.memory.simulator.forward_pass import Pass, Steps
from bertcalc.memory.simulator.frames import Frame, frame, operation
from bertcalc.memory.simulator.layer_memory import quotient
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import INT64, Tape
from bertcalc.model.trace import Step


@frame
def _attention(run: Pass, v: Frame, steps: Steps) -> SimulatedTensor:
    """Simulate DisentangledSelfAttention.forward; ``steps`` are the program's steps, keyed by role."""
    hidden_states, rel_embeddings = run.values[steps["query, key, value"].takes[0].name], distances(run, steps)
    tape = run.tape
    batch, heads, length, size = steps["query_heads"].gives.shape
    v.qp = run.call(steps["query, key, value"], hidden_states)
    v.query_layer, v.key_layer, v.value_layer = tape.split(_heads(tape, v.qp, heads), 3)
    for_step(run, steps["query bias"])
    v.query_layer = tape.add(v.query_layer, _bias_of_heads(run, steps["query bias"], heads))
    for_step(run, steps["value bias"])
    v.value_layer = tape.add(v.value_layer, _bias_of_heads(run, steps["value bias"], heads))
    for_step(run, steps["query_scaled"])
    v.scale = scaled_size_sqrt(tape)
    v.query_layer = tape.divide(v.query_layer, tape.to(v.scale, v.query_layer.item))
    for_step(run, steps["scores"])
    v.attention_scores = tape.matmul(v.query_layer, tape.transpose(v.key_layer, 2, 3))
    if rel_embeddings:
        add_distances(run, v, steps, rel_embeddings, _bias)
    else:
        v.attention_scores = tape.shift(v.attention_scores)  # adds rel_att, which is the number 0
    mask_and_softmax(run, v, steps)
    v.context_layer = tape.matmul(v.attention_probs, v.value_layer)
    for_step(run, steps["merge_heads"])
    v.context_layer = tape.contiguous(tape.permute(v.context_layer, (0, 2, 1, 3)))
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
    """Simulate disentangled_att_bias: the content-to-position and position-to-content scores."""
    tape = run.tape
    heads = query_layer.shape[1]
    v.relative_pos = tape.unsqueeze(run.values["relative_pos"], 1)
    for_step(run, steps["near"])
    v.att_span = tape.new((), INT64)
    v.rel_embeddings = _near(
        tape, rel_embeddings, steps["near"].gives.shape[1:], tape.like(v.att_span), tape.like(v.att_span)
    )
    v.pos_key_layer = run.call(steps["position key"], v.rel_embeddings)
    v.pos_key_layer = _heads(tape, v.pos_key_layer, heads)
    for_step(run, steps["c2p"])
    v.c2p_att = tape.matmul(query_layer, tape.transpose(v.pos_key_layer, 2, 3))
    for_step(run, steps["c2p_gathered"])
    v.c2p_pos = tape.like(tape.like(v.relative_pos), tape.like(tape.like(v.att_span)))  # the positions, clamped
    v.c2p_att = tape.gather(v.c2p_att, for_each(v.c2p_pos, v.c2p_att))
    v.score = tape.shift(v.c2p_att)  # the sum of the scores starts with the number 0
    v.linear = run.call(steps["position query"], v.rel_embeddings)
    v.pos_query_layer = _heads(tape, v.linear, heads)
    for_step(run, steps["pos_query_scaled"])
    v.pos_query_layer = tape.changed_in_view(v.linear, v.pos_query_layer, scaled_size_sqrt(tape))
    del v.linear
    for_step(run, steps["p2c_gathered"])
    v.p2c_pos = tape.like(tape.like(tape.like(v.relative_pos)), tape.like(tape.like(v.att_span)))
    for_step(run, steps["p2c"])
    v.p2c_att = tape.matmul(key_layer, tape.transpose(v.pos_query_layer, 2, 3))
    for_step(run, steps["p2c_gathered"])
    v.p2c_att = tape.transpose(tape.gather(v.p2c_att, for_each(v.p2c_pos, v.p2c_att)), 2, 3)
    return tape.add(v.score, v.p2c_att, in_place=True)


def _heads(tape: Tape, x: SimulatedTensor, heads: int) -> SimulatedTensor:
    """Simulate transpose_for_scores: give the heads a separate axis."""
    batch, length, width = x.shape
    return tape.permute(tape.view(x, (batch, length, heads, quotient(width, heads))), (0, 2, 1, 3))


def _bias_of_heads(run: Pass, step: Step, heads: int) -> SimulatedTensor:
    """The bias of the query or the value, with an axis for the heads."""
    bias = run.tape.unsqueeze(run.tape.unsqueeze(run.parameters[step.tensors[0].name], 0), 0)
    return _heads(run.tape, bias, heads)


@operation
def _near(
    tape: Tape, rel_embeddings: SimulatedTensor, shape: tuple[int, ...], _start: SimulatedTensor, _end: SimulatedTensor
) -> SimulatedTensor:
    """The embeddings of the distances that occur: a slice, which is a view even if it contains all rows."""
    near = tape.same(rel_embeddings) if rel_embeddings.shape == shape else tape.narrow(rel_embeddings, shape)
    return tape.unsqueeze(near, 0)


@frame
def _relative_positions(run: Pass, v: Frame, length: int) -> SimulatedTensor:
    """Simulate build_relative_position: the distance between each pair of tokens."""
    tape = run.tape
    v.q_ids = tape.new((length,), INT64)
    v.k_ids = tape.new((length,), INT64)
    return tape.unsqueeze(tape.like(tape.new((length, length), INT64)), 0)


register(DebertaConfig, overrides(_relative_positions, query_scaled=_attention))
