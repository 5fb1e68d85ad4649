"""What fills the memory of a device in training and in inference, and how much of a batch fits into it."""

from collections.abc import Callable, Sequence
from math import inf, isqrt, prod
from typing import NamedTuple

from bertcalc.config import unchecked
from bertcalc.forward.outputs import Call, caches, outputs, run
from bertcalc.forward.steps import Step, Value, forward
from bertcalc.memory import optimizers
from bertcalc.memory.optimizers import PRECISIONS, Part, sizes
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import (
    ITEM_BYTES,
    Attention,
    Dtype,
    Recompute,
    Saved,
    cache_bytes,
    fuse_attention,
    is_cached,
    is_view,
    largest,
    recomputed_bytes,
    saved_activations,
    total_bytes,
)
from bertcalc.subject import Subject
from bertcalc.text import N_
from bertcalc.tree.freezing import Freezing

# Bits of one number where weights alone are kept; the scales that int8 and 4-bit formats add are left out.
WEIGHT_BITS = {"float32": 32, "bfloat16, float16": 16, "int8": 8, "4-bit": 4}
# A write-up's parameters (without eleven layers of attention, the biases and the pooler), and what it calls "72.1 MB".
WRITE_UP = 75_641_856
_ID_BYTES = 8


class Moment(NamedTuple):
    """A step of inference, and the memory that is needed while it runs: a value for each piece."""

    step: str
    values: tuple[Value, ...]

    def num_bytes(self, width: int) -> int:
        """Bytes of all pieces, with ``width`` for one number; ids have their own."""
        return sum(value_bytes(value, width) for value in self.values)


class Polynomial(NamedTuple):
    """A figure as a polynomial of a whole number from 2 on, with whole coefficients that are not negative.

    At 1 it can be less: a single sequence or token needs not be laid out anew for products with distances.
    """

    first: int
    constant: int
    linear: int
    square: int

    def largest(self, limit: int) -> int | None:
        """The last whole number at which the figure is within a limit: 0 if not even 1, None if every number."""
        room = limit - self.constant
        if room >= 0 and not self.square and not self.linear:
            return None
        if self.square:
            last = (isqrt(self.linear**2 + 4 * self.square * max(room, 0)) - self.linear) // (2 * self.square)
        else:
            last = room // self.linear if self.linear else 0
        return last if last > 1 else int(self.first <= limit)


def value_bytes(value: Value, width: int) -> int:
    """Bytes of a value, with ``width`` for one number; ids have their own."""
    return prod(value.shape) * (_ID_BYTES if value.ids else width)


def weight_bytes(parameters: int, bits: int) -> int:
    """Whole bytes for so many parameters."""
    return -(-parameters * bits // 8)


def kept(
    subject: Subject, plan: Plan, batch_size: int, sequence_length: int, recompute: Recompute | None = None
) -> list[Saved]:
    """What autograd keeps under a plan, or under the plan with another way to recompute."""
    return saved_activations(
        subject.model(),
        batch_size,
        sequence_length,
        dtype=PRECISIONS[plan.precision].dtype,
        attention=plan.attention,
        fused_dropout=plan.fused_dropout,
        recompute=recompute or plan.recompute,
        freezing=plan.freezing,
        encoder_sequence_length=subject.seen(sequence_length),
    )


def training(subject: Subject, plan: Plan, batch_size: int, sequence_length: int) -> dict[Part, int]:
    """Bytes of each part of a training step, when the forward pass has ended and the backward pass begins."""
    model = subject.model()
    trained = sizes(map(plan.freezing.trained, model.tensors()))
    saved = kept(subject, plan, batch_size, sequence_length)
    everything = kept(subject, plan, batch_size, sequence_length, "none")
    return {
        **optimizers.parts(model.num_parameters(), trained, plan.precision, plan.optimizer),
        "activations": total_bytes(saved),
        "recomputed": recomputed_bytes(everything, saved, plan.recompute),
    }


def korthikanti(subject: Subject, plan: Plan, batch_size: int, sequence_length: int) -> list[tuple[str, int]]:
    """Bytes that one layer keeps by Korthikanti et al. 2022 (arXiv:2205.05198), and what our count has more, by reason.

    Starting from their model, one thing after the other is made what it is here; the sum is one trained layer of ours.
    """
    tokens, config = batch_size * sequence_length, subject.config
    hidden = tokens * config.hidden_size
    square = batch_size * config.num_attention_heads * sequence_length**2
    theirs = {"none": 34 * hidden + 5 * square, "selective": 34 * hidden, "full": 2 * hidden}[plan.recompute]

    now = unchecked(
        config,
        intermediate_size=4 * config.hidden_size,
        hidden_act="gelu",
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
        position_embedding_type="absolute",
        is_decoder=False,
        add_cross_attention=False,
    )
    how = plan._replace(precision="mixed-16", attention="eager", fused_dropout=True, freezing=Freezing())
    found, before = [(N_("Korthikanti et al. 2022"), theirs)], theirs
    for reason, fields, changes in _REASONS:
        now = unchecked(now, **{field: getattr(config, field) for field in fields})
        how = how._replace(**{change: getattr(plan, change) for change in changes})
        after = _one_layer(subject._replace(config=now), how, batch_size, sequence_length)
        found.append((reason, after - before))
        before = after
    return found


# What differs from their model, with the fields of the configuration and of the plan that say so.
_REASONS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (N_("mean and deviation of each LayerNorm, in float32"), (), ()),
    (N_("intermediate_size is not 4 H"), ("intermediate_size",), ()),
    (N_("another activation than gelu"), ("hidden_act",), ()),
    (N_("no dropout, or all of it"), ("hidden_dropout_prob", "attention_probs_dropout_prob"), ()),
    (N_("relative positions"), ("position_embedding_type",), ()),
    (N_("cross attention"), ("is_decoder", "add_cross_attention"), ()),
    (N_("fused attention"), (), ("attention",)),
    (N_("float32 instead of 16 bits"), (), ("precision",)),
    (N_("dropout masks as wide as activations, not one byte"), (), ("fused_dropout",)),
)


def _one_layer(subject: Subject, plan: Plan, batch_size: int, sequence_length: int) -> int:
    one, two = (
        total_bytes(
            kept(
                subject._replace(config=unchecked(subject.config, num_hidden_layers=n)),
                plan,
                batch_size,
                sequence_length,
            )
        )
        for n in (1, 2)
    )
    return two - one


def inference(
    subject: Subject, dtype: Dtype, attention: Attention, batch_size: int, sequence_length: int
) -> dict[Part, int]:
    """Bytes of each part of a forward pass without gradients, at its largest moment."""
    width = ITEM_BYTES[dtype]
    model = subject.model()
    steps = forward(model, batch_size, sequence_length, encoder_sequence_length=subject.seen(sequence_length))
    alive = moments(subject, attention, batch_size, sequence_length)
    return {
        "weights": width * model.num_parameters(),
        "cache": cache_bytes(steps, dtype) if caches(subject, Call()) else 0,
        "alive at once": largest(moment.num_bytes(width) for moment in alive),
    }


def output_bytes(subject: Subject, dtype: Dtype, batch_size: int, sequence_length: int) -> int:
    """Bytes of what a forward pass returns, without a cache."""
    call = Call(batch_size, sequence_length, subject.seen(sequence_length), num_choices=1, use_cache=False)
    entries = outputs(subject, call, run(subject, call))
    return ITEM_BYTES[dtype] * sum(entry.num_elements() for entry in entries if not entry.container)


def moments(subject: Subject, attention: Attention, batch_size: int, sequence_length: int) -> list[Moment]:
    """What has to be in memory while each step of inference runs, beside weights and cache.

    A value stays until the last step that takes it, outputs and inputs to the end. Layers run one after the other in
    the same memory: one of them stands for all. Masks, and what a kernel needs for itself, are left out.
    """
    seen = subject.seen(sequence_length)
    steps = forward(subject.model(), batch_size, sequence_length, encoder_sequence_length=seen)
    if attention == "fused":
        steps = fuse_attention(steps)
    return _alive(steps, caches(subject, Call()))


def _alive(steps: Sequence[Step], cached: bool) -> list[Moment]:
    """The moments of some steps; ``cached`` leaves out what a decoder puts into its cache."""
    storages: dict[str, Value] = {}
    born: dict[str, int] = {}
    last: dict[str, int] = {}
    elsewhere: set[str] = set()

    def storage(value: Value) -> Value:
        return storages.get(value.name, value)

    for at, step in enumerate(steps):
        for value in step.takes:
            last[storage(value).name] = at
        if is_view(step, training=False):
            storages[step.gives.name] = storage(step.takes[0])
        elif step.operation != "unused":
            storages[step.gives.name] = step.gives
            born[step.gives.name] = at
            last[step.gives.name] = at
        if cached and is_cached(step):
            elsewhere.add(storage(step.gives).name)
    given = [value for step in steps for value in step.takes if value.name == "encoder_hidden_states"][:1]
    stay = {storage(step.gives).name for step in steps if step.output or step.operation == "input"}
    values = {value.name: value for value in storages.values() if value.name not in elsewhere}
    return [
        Moment(
            step.name,
            (
                *given,
                *(value for name, value in values.items() if born[name] <= at and (at <= last[name] or name in stay)),
            ),
        )
        for at, step in enumerate(steps)
    ]


def grow(figures: Callable[[int], Sequence[int]]) -> list[Polynomial]:
    """How each of some figures grows with a whole number; three values of each give its coefficients."""
    found = []
    for one, two, three, four in zip(*map(figures, (1, 2, 3, 4)), strict=True):
        square = (four - 2 * three + two) // 2
        linear = three - two - 5 * square
        found.append(Polynomial(one, two - 2 * linear - 4 * square, linear, square))
    return found


def binding(growths: Sequence[Polynomial], limit: int) -> Polynomial:
    """Of several figures, the one that reaches a limit first."""

    def end(growth: Polynomial) -> float:
        largest = growth.largest(limit)
        return inf if largest is None else largest

    return min(growths, key=end)


def training_figures(subject: Subject, plan: Plan, batch_size: int, sequence_length: int) -> list[int]:
    """What has to fit in training."""
    return [sum(training(subject, plan, batch_size, sequence_length).values())]


def inference_figures(
    subject: Subject, dtype: Dtype, attention: Attention, batch_size: int, sequence_length: int
) -> list[int]:
    """What has to fit in inference: every moment, with the weights and the cache."""
    held = inference(subject, dtype, attention, batch_size, sequence_length)
    steady = held["weights"] + held["cache"]
    width = ITEM_BYTES[dtype]
    return [steady + moment.num_bytes(width) for moment in moments(subject, attention, batch_size, sequence_length)]
