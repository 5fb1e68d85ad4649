"""The attention of DeBERTa's first version on simulated tensors: query, key and value come from one matrix.

Each function has the operations and variables of modeling_deberta.py in transformers 5.23, in the same order, because
the lifetime of tensors depends on them.
"""

from bertcalc.memory.family_steps.deberta_v2_step import distances, for_each, for_step, overrides, scaled_size_sqrt
from bertcalc.memory.simulator.forward_pass import Pass, Steps
from bertcalc.memory.simulator.layer_memory import quotient
from bertcalc.memory.simulator.tape import BOOL, INT64, SimulatedTensor, Tape
from bertcalc.model.steps import Step


def _attention(run: Pass, steps: Steps) -> SimulatedTensor:
    """DisentangledSelfAttention.forward, with the steps of our program by role."""
    hidden_states, rel_embeddings = run.values[steps["query, key, value"].takes[0].name], distances(run, steps)
    tape = run.tape
    batch, heads, length, size = steps["query_heads"].gives.shape
    qp = run.call(steps["query, key, value"], hidden_states)
    query_layer, key_layer, value_layer = tape.split(_heads(tape, qp, heads), 3)
    for_step(run, steps["query bias"])
    query_layer = tape.add(query_layer, _bias_of_heads(run, steps["query bias"], heads))
    for_step(run, steps["value bias"])
    value_layer = tape.add(value_layer, _bias_of_heads(run, steps["value bias"], heads))
    for_step(run, steps["query_scaled"])
    scale = scaled_size_sqrt(tape)
    query_layer = tape.divide(query_layer, tape.to(scale, query_layer.item))
    for_step(run, steps["scores"])
    attention_scores = tape.matmul(query_layer, tape.transpose(key_layer, 2, 3))
    if rel_embeddings:
        rel_embeddings = run.call(steps["distances_dropout"], rel_embeddings)
        rel_att = _bias(run, steps, query_layer, key_layer, rel_embeddings)
        for_step(run, steps["add_distances"])
        attention_scores = tape.add(attention_scores, rel_att)
    else:
        attention_scores = tape.shift(attention_scores)  # rel_att is the number 0
    for_step(run, steps["mask"])  # not shared with deberta_v2_step.py: in a function, these variables would die earlier
    attention_mask = tape.new(run.values["attention_mask"].shape, BOOL)
    attention_scores = tape.masked(attention_scores, tape.like(attention_mask))
    for_step(run, steps["softmax"])
    attention_probs = tape.softmax(attention_scores)
    attention_probs = run.call(steps["weights_dropout"], attention_probs)
    for_step(run, steps["context"])
    context_layer = tape.matmul(attention_probs, value_layer)
    for_step(run, steps["merge_heads"])
    context_layer = tape.contiguous(tape.permute(context_layer, (0, 2, 1, 3)))
    return tape.view(context_layer, (batch, length, heads * size))


def _bias(
    run: Pass, steps: Steps, query_layer: SimulatedTensor, key_layer: SimulatedTensor, rel_embeddings: SimulatedTensor
) -> SimulatedTensor:
    """disentangled_att_bias."""
    tape = run.tape
    heads = query_layer.shape[1]
    relative_pos = tape.unsqueeze(run.values["relative_pos"], 1)
    for_step(run, steps["near"])
    att_span = tape.new((), INT64)
    rel_embeddings = _near(
        tape, rel_embeddings, steps["near"].gives.shape[1:], tape.like(att_span), tape.like(att_span)
    )
    pos_key_layer = run.call(steps["position key"], rel_embeddings)
    pos_key_layer = _heads(tape, pos_key_layer, heads)
    for_step(run, steps["c2p"])
    c2p_att = tape.matmul(query_layer, tape.transpose(pos_key_layer, 2, 3))
    for_step(run, steps["c2p_gathered"])
    c2p_pos = tape.like(tape.like(relative_pos), tape.like(tape.like(att_span)))  # clamped
    c2p_att = tape.gather(c2p_att, for_each(c2p_pos, c2p_att))
    score = tape.shift(c2p_att)  # Python's sum starts with 0
    linear = run.call(steps["position query"], rel_embeddings)
    pos_query_layer = _heads(tape, linear, heads)
    for_step(run, steps["pos_query_scaled"])
    pos_query_layer = tape.changed_in_view(linear, pos_query_layer, scaled_size_sqrt(tape))
    del linear
    for_step(run, steps["p2c_gathered"])
    p2c_pos = tape.like(tape.like(tape.like(relative_pos)), tape.like(tape.like(att_span)))
    for_step(run, steps["p2c"])
    p2c_att = tape.matmul(key_layer, tape.transpose(pos_query_layer, 2, 3))
    for_step(run, steps["p2c_gathered"])
    p2c_att = tape.transpose(tape.gather(p2c_att, for_each(p2c_pos, p2c_att)), 2, 3)
    return tape.add(score, p2c_att, in_place=True)


def _heads(tape: Tape, x: SimulatedTensor, heads: int) -> SimulatedTensor:
    """transpose_for_scores."""
    batch, length, width = x.shape
    return tape.permute(tape.view(x, (batch, length, heads, quotient(width, heads))), (0, 2, 1, 3))


def _bias_of_heads(run: Pass, step: Step, heads: int) -> SimulatedTensor:
    """The bias of the query or the value, with an axis for the heads."""
    bias = run.tape.unsqueeze(run.tape.unsqueeze(run.parameters[step.tensors[0].name], 0), 0)
    return _heads(run.tape, bias, heads)


def _near(
    tape: Tape, rel_embeddings: SimulatedTensor, shape: tuple[int, ...], _start: SimulatedTensor, _end: SimulatedTensor
) -> SimulatedTensor:
    """The rows for the distances that occur; slicing all rows gives a view that changes nothing."""
    near = tape.same(rel_embeddings) if rel_embeddings.shape == shape else tape.narrow(rel_embeddings, shape)
    return tape.unsqueeze(near, 0)


def _relative_positions(run: Pass, length: int) -> SimulatedTensor:
    """build_relative_position: the distance between each pair of tokens."""
    tape = run.tape
    q_ids = tape.new((length,), INT64)
    k_ids = tape.new((length,), INT64)
    rel_pos_ids = tape.like(tape.new((length, length), INT64))
    del q_ids, k_ids
    return tape.unsqueeze(rel_pos_ids, 0)


OVERRIDES = overrides(_relative_positions, query_scaled=_attention)
