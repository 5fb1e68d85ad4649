"""DeBERTa-v2's disentangled attention, convolution, masks and loss on simulated tensors.

Each function has the operations and variables of modeling_deberta_v2.py in transformers 5.23, in the same order,
because the lifetime of tensors depends on them.
"""

from collections.abc import Callable
from typing import Any

from bertcalc.memory.simulator.forward_pass import Overrides, Pass, Steps
from bertcalc.memory.simulator.tape import BOOL, FLOAT32, INT64, SimulatedTensor, Tape, is_contiguous
from bertcalc.model.steps import Step


def _attention(run: Pass, steps: Steps) -> SimulatedTensor:
    """DisentangledSelfAttention.forward, with the steps of our program by role."""
    hidden_states, rel_embeddings = run.values[steps["query"].takes[0].name], distances(run, steps)
    tape = run.tape
    batch, heads, length, size = steps["query_heads"].gives.shape
    query_layer = _heads(tape, run.call(steps["query"], hidden_states), heads, size)
    key_layer = _heads(tape, run.call(steps["key"], hidden_states), heads, size)
    value_layer = _heads(tape, run.call(steps["value"], hidden_states), heads, size)
    for_step(run, steps["scores"])
    scale = scaled_size_sqrt(tape)
    attention_scores = tape.bmm(
        query_layer, tape.divide(tape.transpose(key_layer, 1, 2), tape.to(scale, query_layer.item))
    )
    if rel_embeddings:
        rel_embeddings = run.call(steps["distances_dropout"], rel_embeddings)
        rel_att = _bias(run, steps, query_layer, key_layer, rel_embeddings)
        for_step(run, steps["add_distances"])
        attention_scores = tape.add(attention_scores, rel_att)
    for_step(run, steps["mask"])
    attention_scores = tape.view(attention_scores, (batch, heads, length, length))
    attention_mask = tape.new(run.values["attention_mask"].shape, BOOL)
    attention_scores = tape.masked(attention_scores, tape.like(attention_mask))
    for_step(run, steps["softmax"])
    attention_probs = tape.softmax(attention_scores)
    attention_probs = run.call(steps["weights_dropout"], attention_probs)
    for_step(run, steps["context"])
    context_layer = tape.bmm(tape.view(attention_probs, (batch * heads, length, length)), value_layer)
    for_step(run, steps["merge_heads"])
    context_layer = tape.contiguous(tape.permute(tape.view(context_layer, (batch, heads, length, size)), (0, 2, 1, 3)))
    return tape.view(context_layer, (batch, length, heads * size))


def _bias(
    run: Pass, steps: Steps, query_layer: SimulatedTensor, key_layer: SimulatedTensor, rel_embeddings: SimulatedTensor
) -> SimulatedTensor:
    """disentangled_attention_bias with both c2p and p2c in pos_att_type, in any order."""
    tape, item = run.tape, query_layer.item
    batch, heads, _rows, size = steps["pos_key_heads"].gives.shape
    length = query_layer.shape[1]
    relative_pos = tape.view(run.values["relative_pos"], (1, 1, length, length))
    for_step(run, steps["one_batch"])
    rel_embeddings = tape.unsqueeze(tape.same(rel_embeddings), 0)

    def positions(name: str) -> SimulatedTensor:
        position_step = steps.get(f"position {name}")
        y = _heads(tape, run.call(position_step or steps[f"{name} again"], rel_embeddings), heads, size)
        return tape.repeat(y, batch)

    if "query again" in steps:
        pos_query_layer = positions("query")
        pos_key_layer = positions("key")
    else:
        pos_key_layer = positions("key")
        pos_query_layer = positions("query")
    for_step(run, steps["c2p"])
    scale = scaled_size_sqrt(tape)
    c2p_att = tape.bmm(query_layer, tape.transpose(pos_key_layer, 1, 2))
    for_step(run, steps["c2p_gathered"])
    c2p_pos = tape.like(tape.like(relative_pos))
    c2p_att = tape.gather(c2p_att, for_each(c2p_pos, c2p_att))
    for_step(run, steps["c2p_scaled"])
    score = tape.shift(tape.divide(c2p_att, tape.to(scale, item)))
    for_step(run, steps["p2c"])
    scale = scaled_size_sqrt(tape)
    p2c_pos = tape.like(tape.like(tape.like(relative_pos)))
    p2c_att = tape.bmm(key_layer, tape.transpose(pos_query_layer, 1, 2))
    for_step(run, steps["p2c_gathered"])
    p2c_att = tape.transpose(tape.gather(p2c_att, for_each(p2c_pos, p2c_att)), 1, 2)
    for_step(run, steps["p2c_scaled"])
    return tape.add(score, tape.divide(p2c_att, tape.to(scale, item)), in_place=True)


def distances(run: Pass, steps: Steps) -> SimulatedTensor | None:
    """The vectors of all distances; None without relative attention."""
    return run.values[steps["distances_dropout"].takes[0].name] if "distances_dropout" in steps else None


def for_step(run: Pass, step: Step) -> None:
    """Attribute later allocations and releases to ``step``."""
    run.tape.memory.where = step.name


def _heads(tape: Tape, x: SimulatedTensor, heads: int, size: int) -> SimulatedTensor:
    """transpose_for_scores: one axis for the heads of all sequences."""
    batch, length, _width = x.shape
    x = tape.view(x, (batch, length, heads, size))
    return tape.view(tape.contiguous(tape.permute(x, (0, 2, 1, 3))), (batch * heads, length, size))


def scaled_size_sqrt(tape: Tape) -> SimulatedTensor:
    """scaled_size_sqrt: the square root of a product of two scalars."""
    return tape.like(tape.like(tape.new(())))


def for_each(positions: SimulatedTensor, scores: SimulatedTensor) -> SimulatedTensor:
    """The positions expanded to all heads of all sequences."""
    length = positions.shape[-1]
    heads = scores.shape[:-2]
    strides = *(0 for _axis in heads), length, 1
    return SimulatedTensor(positions.storage, (*heads, length, length), strides, INT64, is_view=True)


def _convolution(run: Pass, steps: Steps) -> SimulatedTensor:
    """ConvLayer.forward."""
    hidden_states, residual_states = (run.values[steps[name].takes[0].name] for name in ("channels", "add"))
    tape, input_mask = run.tape, run.values["ones"]
    for_step(run, steps["convolution"])
    base: SimulatedTensor | None = run.call(
        steps["convolution"], tape.contiguous(tape.permute(hidden_states, (0, 2, 1)))
    )
    assert base
    out = tape.permute(base, (0, 2, 1))
    if not is_contiguous(out):  # unless there is a single token
        base = None
        out = tape.contiguous(out)
    for_step(run, steps["fill_padding"])
    rmask = tape.made(input_mask.shape, BOOL, tape.like(input_mask))
    out = tape.changed_in_view(base, out, rmask) if base else tape.masked(out, rmask, in_place=True)
    del base
    out = run.call(steps["activation"], run.call(steps["dropout"], out))
    for_step(run, steps["add"])
    layer_norm_input = tape.add(residual_states, out)
    output = run.call(steps["norm"], layer_norm_input)
    for_step(run, steps["mask_padding"])
    input_mask = tape.to(tape.unsqueeze(input_mask, 2), output.item)
    return tape.multiply(output, input_mask)


def _loss(run: Pass, returned: list[SimulatedTensor]) -> list[SimulatedTensor]:
    """The classification loss over the sequences that have a label: here all of them."""
    tape, labels = run.tape, run.batch["labels"]
    if run.model.config.num_labels == 1:
        returned[0] = tape.to(tape.view(returned[0], labels.shape), FLOAT32)
        return [tape.mean_squared_error(returned[0], labels)]
    (logits,) = returned
    label_index = tape.made((*labels.shape, len(labels.shape)), INT64, tape.new(labels.shape, BOOL))
    rows = SimulatedTensor(label_index.storage, logits.shape, (1, 0), INT64, is_view=True)
    labeled_logits = tape.gather(logits, rows)
    del rows
    labels = tape.like(labels)
    return [tape.cross_entropy(tape.to(labeled_logits, FLOAT32), labels)]


def _make_ones(run: Pass, _step: Step) -> None:
    """Make a float32 mask if none is given, and token types, which the body does not use."""
    mask = run.batch.get("attention_mask")
    ones = run.tape.view(mask, run.sides) if mask else run.tape.new(run.sides, FLOAT32)
    run.hold("", {"ones": ones, "no_types": run.tape.new(run.sides, INT64)})


def _make_no_positions(run: Pass, step: Step) -> None:
    """Make zeros in place of position embeddings."""
    run.hold(step.within, {"no_positions": run.tape.new(step.gives.shape, run.width)})


def _mask_padding(run: Pass, step: Step) -> SimulatedTensor:
    """Multiply the embeddings by the mask."""
    (x,) = run.taken(step)
    run.hold(step.within, {"mask": run.tape.to(run.tape.unsqueeze(run.values["ones"], 2), x.item)})
    return run.tape.multiply(x, run.values["mask"])


def _make_masks(run: Pass, positions: Callable[[Pass, int], SimulatedTensor]) -> None:
    """get_attention_mask, and the distances between all tokens, which the encoder passes to each layer."""
    ones = run.values["ones"]
    batch, length = ones.shape
    run.hold("", {"attention_mask": run.tape.new((batch, 1, length, length), ones.item)})
    config: Any = run.model.config
    if config.relative_attention:
        run.hold("", {"relative_pos": positions(run, length)})


def _relative_positions(run: Pass, length: int) -> SimulatedTensor:
    """build_relative_position: the distance between each pair of tokens, or the bucket that it is in."""
    tape = run.tape
    q_ids = tape.new((length,), INT64)
    k_ids = tape.new((length,), INT64)
    rel_pos_ids = tape.new((length, length), INT64)
    if vars(run.model.config)["position_buckets"] != -1:
        rel_pos_ids = _log_buckets(tape, rel_pos_ids)
        rel_pos_ids = tape.made(rel_pos_ids.shape, INT64, q_ids, k_ids)
    del q_ids, k_ids
    return tape.view(rel_pos_ids, (1, length, length))


def _log_buckets(tape: Tape, relative_pos: SimulatedTensor) -> SimulatedTensor:
    """make_log_bucket_position: a bucket for each small distance, logarithmic buckets for large ones."""
    shape = relative_pos.shape

    def made(item: int, *of: SimulatedTensor) -> SimulatedTensor:
        return tape.made(shape, item, *of)

    sign = made(INT64)
    abs_pos = made(INT64, made(BOOL, made(BOOL), made(BOOL)), tape.new((), INT64), made(INT64))
    # ceil(log(abs_pos / mid) / log(...) * (mid - 1)) + mid
    log_pos = made(
        FLOAT32,
        made(FLOAT32, made(FLOAT32, made(FLOAT32, made(FLOAT32, made(FLOAT32)), tape.like(tape.new(()))))),
    )
    return made(FLOAT32, sign, abs_pos, log_pos, made(BOOL), made(FLOAT32), made(FLOAT32))


def overrides(
    positions: Callable[[Pass, int], SimulatedTensor], **modules: Callable[[Pass, Steps], SimulatedTensor]
) -> Overrides:
    """The overrides shared by both versions, with the distances and modules of one of them."""
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


OVERRIDES = overrides(_relative_positions, key_scaled=_attention, convolution=_convolution)
