"""Judge the FLOPs of a forward pass, a training step, or a part of the layers, for the batch that the text states.

>>> from bertcalc import load
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "With 128 tokens, a forward pass of BERT-base takes 24.2 GFLOPs."
>>> entry = find(text, {})[-1]
>>> str(judge_flops(entry, Surroundings(text).of(entry), load("bert-base-uncased")).reasons[0])
'22.3 GFLOPs is right for a batch of 1 × 128 tokens.'
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from bertcalc.compute.flops import cost, part_of
from bertcalc.diagnosis.flop_counts import flop_counts, flops_of
from bertcalc.model.model import Model
from bertcalc.model.runnable import cannot_run
from bertcalc.model.trace import Step
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.verdicts import UNKNOWN, Judged, is_far
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError, Problem


class _Operations(NamedTuple):
    """A part of the layers for which texts state FLOPs: its name, a pattern for the name, and a test for its steps."""

    words: str
    pattern: str
    has: Callable[[Step], bool]


class _Cost(NamedTuple):
    """The FLOPs of a part in one layer or in all layers, for a batch."""

    batch_size: int
    length: int
    layers: int
    operations: Fraction


def _is_linear_of(*roles: str) -> Callable[[Step], bool]:
    return lambda step: step.operation == "linear" and bool(set(step.place.role.split(", ")) & set(roles))


_OF_LAYERS = (
    _Operations(
        N_("query, key and value"),
        r"\bQ ?[,/、]? ?K ?[,/、]? ?(?:and |和)?V\b(?!\w)|query[, ]+key[, ]+(?:and )?value|query-key-value",
        _is_linear_of("query", "key", "value"),
    ),
    _Operations(
        N_("the scores"),
        r"\bQ ?K ?(?:\^? ?\\?T\b|ᵀ|⊤)|attention scores|\bscores\b(?! and)|注意力(?:分数|得分|打分)",
        lambda step: step.place.role == "scores",
    ),
    _Operations(
        N_("the context"),
        r"(?:attention|softmax|scores?|probabilit\w+)\W{0,3}(?:·|×|\*|times|on|with)? ?V\b|\bA ?V\b|weighted sum"
        r"|加权\s?V|加权求和|context",
        lambda step: step.place.role == "context",
    ),
    _Operations(
        N_("the output projection of the attention"),
        r"output (?:projection|of the attention)|attention output|\bW_?O\b|输出(?:投影|映射)",
        lambda step: step.place.component == "encoder" and _is_linear_of("output")(step),
    ),
    _Operations(
        N_("the feed-forward network"),
        r"\bFFN\b|feed.?forward|\bMLP\b|前馈",
        lambda step: part_of(step) == "feed-forward",
    ),
)
# Parts that texts count together.
_GROUPS = (
    _Operations(
        N_("the scores and the context"),
        r"scores?\b(?: (?:and|plus)|\s?[+&,/])\s?(?:the )?(?:context|weighted|values?\b|V\b)"
        r"|(?:分数|得分|打分)\S{0,3}?[与和、+及]\S{0,4}?(?:加权|上下文)",
        lambda step: step.place.role in ("scores", "context"),
    ),
    _Operations(
        N_("the linear layers of the attention"),
        r"attention(?:'s)?(?: linear| projections?\b)|(?:linear layers|projections) of (?:the )?attention"
        r"|注意力的?(?:中的)?(?:线性|投影)",
        _is_linear_of("query", "key", "value", "output"),
    ),
    _Operations(
        N_("the linear layers"),
        r"\blinear (?:layers|projections)|\bmatrices of the layers|线性层",
        lambda step: step.operation == "linear",
    ),
)
_PER_LAYER = re.compile(r"\b(?:per|each|every|one|single)[ -]layer\b|每[一个]?层|单层", re.I)
_SUM = re.compile(r"\W*(?:and |so )?(?:in )?(?:together|sum|total|altogether|sums? to|合计|总计|共|一共|小计)\W*", re.I)
_IN_LAYERS = re.compile(r"\b(?:layer|block)s?\b|层", re.I)
_TRAINING = re.compile(r"train|backward|\bstep\b|训练|反向|微调|fine.?tun", re.I)
_FORWARD = re.compile(r"forward|infer|前向|推理|predict", re.I)
_OF_MODEL = re.compile(
    r"forward|infer|total|per sequence|model|needs?\b|takes?\b|costs?\b|sentence|bert|gpt|[:：]$"
    r"|前向|推理|总|模型|一次|样本",
    re.I,
)
# Other meanings of a number of FLOPs: per token, a rate, or another tool's count.
_OTHERWISE = re.compile(
    r"per (?:\w+ )?token|each token|per second|/s\b|每个? ?(?:token|词)|peak|\b(?:GPU|TPU|V100|A100|T4)\b|rule"
    r"|6 ?N|2 ?N|公式|估计|ignor|attention products|element|softmax|norm|save|less|fewer|differ|节省|减少",
    re.I,
)
_NEAR = Fraction(1, 50)  # tolerance as a share of the right number; numbers within it count as equal
_FARTHEST = 16


def judge_flops(entry: WrittenNumber, context: Context, model: Model) -> Judged:
    """Judge FLOPs: right for the text's batch, conditional if right for a different batch, else wrong or unknown."""
    side, batch = entry.stated, context.batch
    words = " ".join(context.names[:2])
    parts = _named(" ".join(context.names[:1]), _clause(entry))
    if not parts and any(map(_SUM.fullmatch, context.names[:1])) and _PER_LAYER.search(context.line):
        return _of_part(None, entry, context, model, is_sum=True)
    if len(parts) == 1 or (not parts and _IN_LAYERS.search(words) and not _TRAINING.search(words)):
        return _of_part(parts[0] if parts else None, entry, context, model)
    if stated := _of_stated_batch(entry, context, model):
        return stated
    costs = flops_of(model, side.typed)
    for candidate in costs:
        if candidate.sequence_length in batch.possible and candidate.batch_size in batch.batch_sizes:
            return Judged("right", counts=_of_batch(candidate.batch_size, candidate.sequence_length))
    if costs:
        reason = _of_batch(costs[0].batch_size, costs[0].sequence_length)
        return Judged("conditional", costs[0].operations, reason, (reason,))
    return _wrong_total(entry, context, model) or UNKNOWN


def _clause(entry: WrittenNumber) -> str:
    """The clause before a number, outside tables."""
    return "" if entry.cells else re.split("[,，;；。:：]", entry.before.rstrip(" =≈:：("))[-1]


def _named(words: str, clause: str = "") -> list[_Operations]:
    """The parts of the layers that words name; a group of parts, which the whole clause may name, is one part."""
    group = next((group for group in _GROUPS if re.search(group.pattern, clause or words, re.I)), None)
    return [group] if group else [part for part in _OF_LAYERS if re.search(part.pattern, words, re.I)]


def _of_stated_batch(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge FLOPs by the phase and the batch that the text states; return None unless they are right."""
    side, batch = entry.stated, context.batch
    if not batch.length:
        return None
    operations = sum(map(cost, _products(model, batch.length))) * (1 if side.unit == "FLOPs" else Fraction(1, 2))
    for batch_size in batch.batch_sizes:
        if operations and side.means(_times(context) * operations * batch_size):
            return Judged("right", counts=_of_batch(batch_size, batch.length))
    return None


def _times(context: Context) -> int:
    """The FLOPs as a multiple of a forward pass: 2 for a backward pass, 3 for a training step, else 1."""
    phases = (name for name in context.names[:2] if _TRAINING.search(name) or _FORWARD.search(name))
    phase = next(phases, "")
    if _BACKWARD.search(phase) and not _WITH_FORWARD.search(phase):
        return 2
    return 3 if _TRAINING.search(phase) else 1


_BACKWARD, _WITH_FORWARD = (
    re.compile(r"backward|反向|后向", re.I),
    re.compile(r"forward|train|step|前向|训练|微调", re.I),
)


def _of_batch(batch_size: int, length: int) -> Problem:
    return Problem.of(N_("This is correct for a batch of {batch} × {length} tokens."), batch=batch_size, length=length)


def _wrong_total(entry: WrittenNumber, context: Context, model: Model) -> Judged | None:
    """Judge the whole model's FLOPs for a stated batch; return None if some way of counting gives them."""
    side, batch = entry.stated, context.batch
    words = " ".join((*context.names[:2], context.before))
    length = batch.length or batch.recent
    if not length or entry.computes or context.supposes or _OTHERWISE.search(words) or _names_part(context):
        return None
    if not _OF_MODEL.search(words) and not context.names:
        return None
    lengths = (length,) if batch.length else (length, *batch.lengths)
    for batch_size in batch.batch_sizes:
        for count in flop_counts(model):
            operations = count.operations * batch_size / count.batch_size
            if count.sequence_length in lengths and abs(operations - side.value) <= operations * _NEAR:
                return None
    products = list(_products(model, length))
    if not products or any(_by_rule(side, model, batch_size * length) for batch_size in batch.batch_sizes):
        return None
    times = _times(context) * (1 if side.unit == "FLOPs" else Fraction(1, 2))
    right = sum(map(cost, products)) * times * batch.batch_sizes[0]
    if is_far(side.value, right, _FARTHEST):
        return None
    message = N_("{right} is right for a batch of {batch} × {length} tokens.")
    reason = Problem.of(message, right=_in_unit_of(Fraction(right), side), batch=batch.batch_sizes[0], length=length)
    return Judged("wrong", Fraction(right), None, (reason,))


def _names_part(context: Context) -> bool:
    """Whether the words beside a number name a part of the layers."""
    beside = " ".join((*context.names[:2], context.header))
    return bool(_named(beside) or _IN_LAYERS.search(beside))


def _by_rule(side: ChainSide, model: Model, tokens: int) -> bool:
    """Whether a number is roughly 2 or 6 FLOPs per parameter and token, with or without the embeddings."""
    embeddings = sum(tensor.num_parameters() for tensor in model.tensors() if tensor.place.component == "embeddings")
    return any(
        abs(times * count * tokens - side.value) <= side.value * 2 * _NEAR
        for count in (model.num_parameters(), model.num_parameters() - embeddings)
        for times in (2, 6)
    )


def _of_part(
    part: _Operations | None, entry: WrittenNumber, context: Context, model: Model, *, is_sum: bool = False
) -> Judged:
    """Judge the FLOPs of a layer part, or of whole layers, for one layer or all layers.

    ``is_sum`` is True for the sum of a list of parts, which may be of one layer or of all.
    """
    side, batch = entry.stated, context.batch
    layers = model.config.num_hidden_layers
    scope = context.scope(layers) or ("one" if part is None and not is_sum else "")
    lengths = (batch.length,) if batch.length else (*batch.lengths, *_LENGTHS)
    costs = [
        _Cost(batch_size, length, count, operations)
        for length in dict.fromkeys(lengths)
        for batch_size in batch.batch_sizes
        for count, operations in _in_layers(part, batch_size, length, model)
        if scope in ("", "one" if count == 1 else "all")
    ]
    unit = 1 if side.unit == "FLOPs" else Fraction(1, 2)
    for candidate in costs:
        if side.means(candidate.operations * unit):
            counts = _of_cost(part, candidate, side)
            is_stated = candidate.length in batch.possible or candidate.length in entry.numbers
            return Judged("right" if is_stated else "conditional", candidate.operations * unit, counts, (counts,))
        names_matrix = _OF_MATRIX.search(f"{' '.join(context.names[:1])} {context.sentence or context.line}")
        if side.unit == "FLOPs" and entry.computes and side.means(candidate.operations / 2) and not names_matrix:
            reason = Problem.of(_AS_MULTIPLY_ADDS, right=_in_unit_of(candidate.operations, side))
            return Judged("conditional", candidate.operations, _of_cost(part, candidate, side), (reason,))
    return _wrong_part(part, costs, entry, context) or UNKNOWN


def _wrong_part(
    part: _Operations | None, costs: Sequence[_Cost], entry: WrittenNumber, context: Context
) -> Judged | None:
    """Judge the FLOPs of a part for a stated length; return None if they may be counted differently."""
    side, batch = entry.stated, context.batch
    unit = 1 if side.unit == "FLOPs" else Fraction(1, 2)
    others = " ".join((*context.names[:2], context.line if part is None else ""))
    likely = [candidate for candidate in costs if candidate.length == (batch.length or batch.recent)]
    if entry.computes or context.supposes or _OTHERWISE.search(others) or not likely:
        return None
    nearest = min(likely, key=lambda candidate: abs(candidate.operations * unit - side.value))
    right = nearest.operations * unit
    as_macs = any(abs(candidate.operations / 2 - side.value) <= side.value * _NEAR for candidate in costs)
    if (part is None and as_macs) or abs(right - side.value) <= right * _NEAR or is_far(side.value, right, 4):
        return None
    counts = _of_cost(part, nearest, side)
    reason = Problem.of(N_("{right} is right for {part}."), right=_in_unit_of(right, side), part=counts)
    return Judged("wrong", Fraction(right), counts, (reason,))


def _of_cost(part: _Operations | None, counted: _Cost, side: ChainSide) -> Problem:
    """Describe in words the FLOPs, or the multiply-adds, of a part for a batch."""
    message = _COUNTS if side.unit == "FLOPs" else _MULTIPLY_ADDS
    called = _called(part, counted.layers)
    return Problem.of(message, part=called, batch=counted.batch_size, length=counted.length)


_LENGTHS = (128, 512)
# One of the two matrices of the feed-forward network, which has half of its FLOPs.
_OF_MATRIX = re.compile(
    r"\b(?:up|down)\b|\b(?:first|second|one) (?:linear|matri|dense|layer of the)|\b(?:W|fc|linear|lin)_?[12]\b"
    r"|升维|降维|第[一二]个?(?:线性|矩阵|全连接)",
    re.I,
)
_AS_MULTIPLY_ADDS = N_("These are multiply-adds: as FLOPs, they are {right}.")
_COUNTS = N_("the FLOPs of {part} for {batch} × {length} tokens")
_MULTIPLY_ADDS = N_("the multiply-adds of {part} for {batch} × {length} tokens")


def _called(part: _Operations | None, layers: int) -> Problem:
    """Describe in words a part in one layer or in all layers. A ``part`` of None means whole layers."""
    if part is None:
        return Problem.of(N_("one layer") if layers == 1 else N_("all layers"))
    message = N_("{part} of one layer") if layers == 1 else N_("{part} of all layers")
    return Problem.of(message, part=Problem.of(part.words))


def _in_layers(part: _Operations | None, batch_size: int, length: int, model: Model) -> Iterator[tuple[int, Fraction]]:
    """Yield the FLOPs of a part in one layer and in all layers, as (number of layers, FLOPs) pairs.

    A ``part`` of None means whole layers. Nothing is yielded if there are no FLOPs.
    """
    layers = model.config.num_hidden_layers
    products = (step for step in _products(model, length) if step.place.component == "encoder" and step.runs == layers)
    operations = sum(cost(step) for step in products if part is None or part.has(step))
    if operations:
        yield 1, Fraction(batch_size * operations, layers)
        yield layers, Fraction(batch_size * operations)


@lru_cache(maxsize=32)
def _products(model: Model, length: int) -> tuple[Step, ...]:
    """The steps that have FLOPs, for one sequence of ``length`` tokens; empty if the model cannot run on it."""
    if cannot_run(model) or length > model.config.longest:
        return ()
    try:
        return tuple(step for step in model.steps(model.batch_of(1, length)) if cost(step))
    except InputError:
        return ()


def _in_unit_of(operations: Fraction, side: ChainSide) -> str:
    """Write FLOPs in the unit of a number in the text, with as many decimals as that number."""
    number = re.match(r"[0-9][0-9,_']*(?:\.[0-9]+)?", side.text.strip())
    if number is None:
        return f"{int(operations):,}"
    factor = side.value / Fraction(re.sub("[,_']", "", number[0]))
    value = fixed(Fraction(operations) / factor, len(number[0].partition(".")[2]))
    return f"{value} {side.text.strip()[number.end() :].strip()}".strip()
