"""The peak memory of a step as a formula: the simulation in bertcalc/memory/peak, run on SymPy symbols.

The order of allocations and releases depends only on the number of layers and on which sizes are 1. So one run gives
the bytes at every point in time as a formula for all sizes, for integers and for NumPy columns. The module keeps only
the points that can be the peak for some sizes, which are few.

>>> from bertcalc import BertConfig
>>> peak_bytes(Model(BertConfig(), "BertForMaskedLM"), Plan(), 123, 128)
21303645672
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeGuard, TypeVar, cast

import sympy

from bertcalc.config import Config, unchecked
from bertcalc.config.fields import SIZES
from bertcalc.memory import optimizers
from bertcalc.memory.byte_formulas import by_tokens, state_expression
from bertcalc.memory.fit import Polynomial
from bertcalc.memory.optimizers import OPTIMIZERS, PRECISIONS
from bertcalc.memory.peak import changes_of
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.saved import largest
from bertcalc.memory.timeline import AREAS, Area, MemoryChange, Phase, alive
from bertcalc.model.change import CHANGE_SIZES
from bertcalc.model.formula import (
    ALL_SYMBOLS,
    CALL_SYMBOLS,
    COUNT_SYMBOLS,
    SYMBOLS,
    Formula,
    exact,
    in_letters,
    in_whole_periods,
    window_in_letters,
    write,
)
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.model.modules import layer_number, split_layer
from bertcalc.model.runnable import cannot_run, two_labels, unpadded
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.text.problem import InputError, Problem

_NAMED_LAYERS = N_(
    "A change to {architecture} selects layers by index, so it does not apply to other numbers of layers."
)
_BEFORE_LAYERS = N_(
    "A change to {architecture} computes the keys and values of all layers before the first layer runs, so the peak "
    "can be computed for only one number of layers at a time."
)
_HEAD_SIZE = sympy.Symbol("d", integer=True, positive=True)
_LAYERS = SYMBOLS["num_hidden_layers"]
_PERIODS = sympy.Symbol("periods", integer=True, positive=True)  # periods of layers: num_hidden_layers // layer_period
_SYMBOLS: dict[str, Any] = {
    **{field: SYMBOLS[field] for field in SIZES},
    "attention_head_size": _HEAD_SIZE,
    "batch_size": CALL_SYMBOLS["batch_size"],
    "sequence_length": CALL_SYMBOLS["sequence_length"],
    "layer_periods": _PERIODS,
    **{name: ALL_SYMBOLS[name] for name in CHANGE_SIZES},
}
_NAMES = tuple(_SYMBOLS)
_DERIVED = ("batch_size", "sequence_length", "attention_head_size", "layer_periods", *CHANGE_SIZES)  # not config fields

_SHARED = "num_key_value_heads"  # a field of some families; None if each head has its own keys and values

Monomial = tuple[int, ...]  # the exponent of each of _NAMES
Terms = Mapping[Monomial, int]
_Item = TypeVar("_Item")
_Designs = Callable[[int, int], Callable[[int], int]]  # heads and intermediate_size -> layers -> bytes
_model = lru_cache(maxsize=64)(Model)  # models of the same structure share one
_changes = lru_cache(maxsize=32)(changes_of)  # 0.25 MB per entry


class _LeftOut(NamedTuple):
    """Layers that the symbolic run leaves out, because they are copies of ``period`` layers from ``layer`` on.

    In the whole model, ``times`` copies of each of these layers follow them, ``layers`` layers in total.
    """

    layer: int
    period: int
    layers: Any
    times: Any


# A symbolic model with few layers, its plan, the symbolic batch_size and sequence_length, and the layers left out.
_Symbolic = tuple[Model, Plan | Inference, Any, Any, tuple[_LeftOut, ...]]


class Products(dict[Monomial, Any]):
    """Maps exponents to the product of the sizes raised to these exponents; a product is computed on first use."""

    def __init__(self, sizes: Sequence[Any]) -> None:
        self.sizes = sizes

    def __missing__(self, powers: Monomial) -> Any:
        product = 1
        for size, power in zip(self.sizes, powers, strict=True):
            for _time in range(power):
                product = product * size
        self[powers] = product
        return product

    def sum(self, terms: Terms) -> Any:
        """The value of a polynomial: a number, or a NumPy column."""
        total = 0
        for powers, count in terms.items():
            total = total + count * self[powers]
        return total


class SymbolicMoment(NamedTuple):
    """The bytes at a point in time of a step, by area and in total, as polynomials of the sizes."""

    phase: Phase
    where: str
    areas: Mapping[Area, Terms]
    live: Terms
    position: int  # the index of the moment's change in the symbolic run
    since: Terms  # ``live`` minus the previous moment's ``live``: only a few terms


class TopMoments(tuple[Mapping[Area, Terms], ...]):
    """The bytes of each area, as polynomials of a few sizes, at the points in time that can be the peak.

    Instances are compared by identity, so caches can have them as keys.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class LiveTensor(NamedTuple):
    """A live tensor, or its copies in all layers: its step, its bytes, and the formula for the bytes."""

    where: str
    num_bytes: int
    formula: Formula


class Peak(NamedTuple):
    """The point in time with the most live memory, with the bytes of each area that is not empty."""

    phase: Phase
    where: str  # a step of the forward pass, "loss", or the name of a parameter
    areas: dict[Area, int]
    formulas: Mapping[Area, Formula]
    temporaries: tuple[LiveTensor, ...]
    expression: Any  # the formula for all bytes, a sympy.Expr

    @property
    def num_bytes(self) -> int:
        """The live bytes in total."""
        return sum(self.areas.values())


@checked
def peak_bytes(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> int:
    """The peak bytes of a training step or a forward pass: an integer, or a NumPy column."""
    check_runs(model, how, sequence_length)
    sizes = _sizes(model, batch_size, sequence_length)
    if all(isinstance(size, int) for size in sizes):
        return _peak_bytes(model, how, sizes, sizes)
    # Rows of one structure share a formula: the same sizes are 1, the same thresholds are reached and, if there are few
    # layers, their number is equal.
    length, window, whole = sizes[_NAMES.index("sequence_length")], model.config.window, model.config.whole
    length = length + model.virtual_tokens
    period = model.config.layer_period
    layers = sizes[_NAMES.index("num_hidden_layers")]
    structure = layers if _all_layers(model) else _fewest(layers - frozen_layers(how), period)
    hidden, heads = sizes[_NAMES.index("hidden_size")], sizes[_NAMES.index("num_attention_heads")]
    shared = getattr(model.config, _SHARED, None)
    for is_so in (
        *(size == 1 for size in sizes),
        *(hidden == size for size in model.config.breaks),
        *(() if shared is None else (heads == shared,)),
        *(() if window is None else (length >= window,)),
        *(() if whole is None else (length == whole,)),
    ):
        structure = 2 * structure + is_so
    peaks = 0 * structure
    for code in set(structure.ravel().tolist()):
        rows = structure == code
        columns = [size if isinstance(size, int) else (size + 0 * structure)[rows] for size in sizes]
        like = [column if isinstance(column, int) else int(column[0]) for column in columns]
        peaks[rows] = _peak_bytes(model, how, like, columns)
    return cast(int, peaks)


def _peak_bytes(model: Model, how: Plan | Inference, like: Sequence[int], sizes: Sequence[Any]) -> int:
    """``peak_bytes`` for sizes that all have the structure of ``like``."""
    fields: dict[str, Any] = dict(zip(_NAMES, like, strict=True))
    batch_size, sequence_length, *_rest = (fields.pop(name) for name in _DERIVED)
    if getattr(model.config, _SHARED, None) == fields["num_attention_heads"]:
        fields[_SHARED] = None  # each head has its own keys and values, which are not repeated
    config = unchecked(model.config, **fields)
    products = Products(sizes)
    candidates = moments(model.changed(config=config), how, batch_size, sequence_length)
    return largest(accumulate(products.sum(moment.since) for moment in candidates)) + bytes_in_8_bits(model, how)


@checked
def peak(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> Peak:
    """The first point in time with the most live memory, with formulas.

    In the formulas, N is the number of parameters, and N_t the number of trained parameters.
    """
    found = _peak(model, how, batch_size, sequence_length)
    return found._replace(areas={**found.areas})


@lru_cache(maxsize=32)
def _peak(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> Peak:
    check_runs(model, how, sequence_length)
    products = Products(_sizes(model, batch_size, sequence_length))
    symbolic = _symbolic(model, how, batch_size, sequence_length)
    most = _highest(_moments(*symbolic), products)
    areas = {area: products.sum(terms) for area, terms in most.areas.items() if terms}
    if states := bytes_in_8_bits(model, how):
        areas["optimizer states"] = areas.get("optimizer states", 0) + states
    formulas, temporaries, expression = _written(symbolic, most.position)
    if is_in_8_bits(how):
        masters = formulas["optimizer states"].expression if "optimizer states" in formulas else 0
        written = write(masters + state_expression(how.precision, how.optimizer))
        formulas = {**formulas, "optimizer states": written}
    alive = (
        LiveTensor(_unfolded(where, symbolic, model), products.sum(terms), formula)
        for where, terms, formula in temporaries
    )
    where = _unfolded(most.where, symbolic, model)
    return Peak(most.phase, where, areas, formulas, tuple(alive), expression)


def _highest(candidates: Sequence[SymbolicMoment], products: Products) -> SymbolicMoment:
    """The first point in time with the most live memory."""
    totals = [*accumulate(products.sum(moment.since) for moment in candidates)]
    return candidates[totals.index(max(totals))]


def peak_expression(
    model: Model, how: Plan | Inference, batch_size: int, sequence_length: int, like: tuple[Model, int, int]
) -> Any:
    """The bytes at the peak, as an expression that is valid for models with the structure of ``like``.

    ``like`` is a (model, batch_size, sequence_length) triple in which every size becomes a symbol. In ``model``, sizes
    of 1 and a small number of layers would stay numeric.
    """
    check_runs(model, how, sequence_length)
    symbolic = _symbolic(like[0], how, *like[1:])
    products = Products(_sizes(model, batch_size, sequence_length))
    most = _highest(_moments(*symbolic), products)
    return _written(symbolic, most.position)[2]


def layers_with_a_letter(model: Model, how: Plan | Inference, sequence_length: int) -> range:
    """The numbers of layers from the model's number to the first number that is a symbol in formulas.

    They increase in steps of a period.
    """
    layers, period = model.config.num_hidden_layers, period_of(model, how, sequence_length)
    missing = max(0, frozen_layers(how) + kept_apart(period) + period - layers)
    return range(layers, layers + missing + period, period)


@checked
def growths(model: Model, how: Plan | Inference, field: str, batch_size: int, sequence_length: int) -> list[Polynomial]:
    """The bytes at each point in time that can be the peak, as polynomials of a batch dimension.

    ``field`` is "batch_size" or "sequence_length". If a batch can only have one sequence (``most_sequences``), the
    polynomial of batch_size is a constant.
    """
    call = {"batch_size": batch_size, "sequence_length": sequence_length}
    first, states = peak_bytes(model, how, **{**call, field: 1}), bytes_in_8_bits(model, how)
    if field == "batch_size" and most_sequences(model):
        return [Polynomial(first, first, 0, 0)]
    return [
        Polynomial(first, states + terms.get((0,), 0), terms.get((1,), 0), terms.get((2,), 0), start, end)
        for start, end in growth_ranges(model, field)
        for terms in _along(model, how, **{**call, field: start}, free=(field,))
    ]


def growth_ranges(model: Model, field: str) -> list[tuple[int, int | None]]:
    """The (start, end) ranges of "batch_size" or "sequence_length", from 2 on, in which polynomials are valid.

    An end of None means that there is no upper limit.
    """
    window, whole = (
        ((size or 0) - model.virtual_tokens) * (field == "sequence_length")
        for size in (model.config.window, model.config.whole)
    )
    starts = [2, *(size for size in (window, whole) if size > 2)]
    return [(start, whole if start == 2 and whole > 2 else None) for start in starts]


@checked
def most_sequences(model: Model) -> int | None:
    """The largest batch that a class accepts, regardless of memory: 1, or None (no limit) for most classes."""
    return 1 if unpadded(model.cls, model.config, 2) else None


def peak_of_designs(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> _Designs:
    """The peak bytes of models that differ only in heads, intermediate_size and layers, with the same head size.

    The returned function maps heads and intermediate_size to a function from the number of layers to bytes. Raises
    InputError if these models cannot run, or if a change of the model holds only for its number of layers.
    """
    check_runs(model, how, sequence_length)
    if _all_layers(model):
        message = _NAMED_LAYERS if _by_layer(model) else _BEFORE_LAYERS
        raise InputError(Problem.of(message, "changes", None, architecture=model.architecture))
    size, apart, period = model.config.attention_head_size, model.config.breaks, model.config.layer_period
    shared = getattr(model.config, _SHARED, None)

    def alike(heads: int) -> int:
        """The smallest number of heads with which a model has the same structure as with ``heads`` heads."""
        if heads == 1 or heads * size in apart:
            return heads
        return next(number for number in (2, 3) if number * size not in apart)

    @cache
    def terms(heads: int, one_unit: bool, layers: int, own_keys: bool) -> list[Terms]:
        keys: dict[str, Any] = {_SHARED: None} if own_keys else {}
        config = unchecked(
            model.config,
            **keys,
            hidden_size=heads * size,
            num_attention_heads=heads,
            intermediate_size=2 - one_unit,
            num_hidden_layers=layers,
        )
        free = ("num_attention_heads", "intermediate_size", "num_hidden_layers", "layer_periods")
        return _along(model.changed(config=config), how, batch_size, sequence_length, free=free)

    def depths(heads: int, intermediate: int) -> Callable[[int], int]:
        @cache
        def lines(layers: int) -> list[Terms]:
            return _partly(
                terms(alike(heads), intermediate == 1, layers, heads == shared), (heads, intermediate, 1, 1), (2, 3)
            )

        return lambda layers: max(
            Products((layers, layers // period)).sum(line) for line in lines(_fewest(layers, period))
        )

    return depths


def _along(
    model: Model, how: Plan | Inference, batch_size: int, sequence_length: int, *, free: Sequence[str]
) -> list[Terms]:
    """The bytes at each point in time as polynomials of only the ``free`` sizes."""
    candidates = moments(model, how, batch_size, sequence_length)
    sizes = _sizes(model, batch_size, sequence_length)
    return _partly((moment.live for moment in candidates), sizes, [_NAMES.index(name) for name in free])


def _partly(sums: Iterable[Terms], sizes: Sequence[Any], free: Sequence[int]) -> list[Terms]:
    """Reduce polynomials to the sizes at the indices ``free``, and drop polynomials that are never the largest."""
    numbers = Products([1 if place in free else size for place, size in enumerate(sizes)])
    return can_be_largest((_with_numbers(polynomial, numbers, free) for polynomial in sums), lambda terms: terms)


def _with_numbers(polynomial: Terms, numbers: Products, free: Sequence[int]) -> Terms:
    """Substitute ``numbers`` for all sizes except those at the indices ``free``, where ``numbers`` has to be 1."""
    terms: Counter[Monomial] = Counter()
    for powers, count in polynomial.items():
        terms[tuple(powers[place] for place in free)] += count * numbers[powers]
    return terms


def top_moments(
    model: Model, how: Plan | Inference, batch_size: int, sequence_length: int, free: Sequence[str]
) -> TopMoments:
    """The points in time that can be the peak while only the ``free`` sizes change, in the order of the step."""
    check_runs(model, how, sequence_length)
    places = tuple(map(_NAMES.index, free))
    sizes = _sizes(model, batch_size, sequence_length)
    # hidden_size is in no polynomial: polynomials have the number of heads times the head size instead.
    still = {*places, _NAMES.index("hidden_size")}
    numbers = tuple(1 if place in still else size for place, size in enumerate(sizes))
    return _top_moments(_symbolic(model, how, batch_size, sequence_length), numbers, places)


@lru_cache(maxsize=32)
def _top_moments(symbolic: _Symbolic, sizes: tuple[int, ...], free: tuple[int, ...]) -> TopMoments:
    numbers = Products(sizes)
    tops = (
        {area: _with_numbers(terms, numbers, free) for area, terms in moment.areas.items() if terms}
        for moment in _moments(*symbolic)
    )
    return TopMoments(can_be_largest(tops, lambda areas: added(areas.values())))


def added(polynomials: Iterable[Terms]) -> Terms:
    """The sum of several polynomials."""
    total: Counter[Monomial] = Counter()
    for terms in polynomials:
        total.update(terms)
    return total


def can_be_largest(items: Iterable[_Item], terms_of: Callable[[_Item], Terms]) -> list[_Item]:
    """The items that can be the largest for some sizes; of two equal items, only the first.

    ``terms_of`` returns the polynomial that gives the value of an item.
    """
    candidates: list[tuple[_Item, Terms]] = []
    for item in items:
        terms = terms_of(item)
        if not any(_covers(others, terms) for _other, others in candidates):
            candidates = [*(pair for pair in candidates if not _covers(terms, pair[1])), (item, terms)]
    return [item for item, _terms in candidates]


def is_in_8_bits(how: Plan | Inference) -> TypeGuard[Plan]:
    return isinstance(how, Plan) and how.optimizer == "adamw-8bit"


def bytes_in_8_bits(model: Model, how: Plan | Inference, like: Model | None = None) -> int:
    """The bytes of an 8-bit optimizer's states; 0 with any other optimizer.

    ``model`` may have symbols as sizes if no layer is frozen; ``like`` is then the same model with numbers.

    The bytes are not a polynomial of the sizes, because blocks are rounded up and small tensors have float32 states.
    The states are always alive, and the optimizer has no temporary tensors, so the rest of the step is as with SGD.
    """
    if not is_in_8_bits(how):
        return 0
    # A run with momentum shows which tensors are trained: each of them has one state. The run has no master weights,
    # because these also exist for tensors without a gradient. Float32 gradients of 16-bit weights exist from the
    # beginning, for every tensor, so every tensor has a state, and the precision can stay.
    rule = PRECISIONS[how.precision]
    precision = "bf16" if rule.gradient == rule.weight else how.precision
    momentum = how._replace(optimizer="momentum", precision=precision)
    changes = _changes(*_symbolic(like or model, momentum, 1, 1)[:4])
    learned = {_numbered(change.where) for change in changes if change.area == "optimizer states"}
    folded = not _by_layer(model)
    tensors = [tensor for tensor in model.tensors(folded=folded) if _numbered(tensor.name) in learned]
    starts = [model.first_layer(tensor.name) if folded else layer_number(tensor.name) for tensor in tensors]
    trained = optimizers.sizes(map(how.freezing.trained, tensors, starts))
    return OPTIMIZERS[how.optimizer](trained, PRECISIONS[how.precision].state)


def _sizes(model: Model, batch_size: Any, sequence_length: Any) -> list[Any]:
    # A field that the family does not have is in no formula, so its value does not matter.
    config = model.config
    numbers = {"batch_size": batch_size, "sequence_length": sequence_length}
    numbers["layer_periods"] = config.num_hidden_layers // config.layer_period
    if model.changes:
        numbers |= {name: size for name, size in model.letter_values().items() if name in CHANGE_SIZES}
    return [numbers[name] if name in numbers else getattr(config, name, 1) for name in _NAMES]


def frozen_layers(how: Plan | Inference) -> int:
    """The number of frozen layers; 0 in inference."""
    return how.freezing.layers if isinstance(how, Plan) else 0


def _by_layer(model: Model) -> bool:
    """Whether a change names layers by number: a model with fewer layers may not have a named layer."""
    return any(change.by_layer or change.dropped for change in model.changes)


def _all_layers(model: Model) -> bool:
    """Whether the simulation has to run every layer; its formulas then hold only for the model's number of layers."""
    return _by_layer(model) or any(change.in_front_of_layers for change in model.changes)


def _fewest(layers: Any, period: int) -> Any:
    """The fewest layers with the structure of ``layers`` that still contain a whole period that can be left out.

    The first and the last layer are never left out, nor is the period of layers next to each of them. A number that is
    too small for this is returned unchanged. ``layers`` is a number or a column.
    """
    surplus = layers - kept_apart(period) - period
    return layers - surplus // period * period * (surplus > 0)


def period_of(model: Model, how: Plan | Inference, sequence_length: int) -> int:
    """The period, in layers, with which memory repeats; the number of all layers if none can be left out."""
    config = model.config
    if _all_layers(model):
        return config.num_hidden_layers
    # Layers differ in their masks, and the last layer that uses a set of rotary angles differs from the others.
    masks = config.masks_window(sequence_length + model.virtual_tokens)
    differ = frozen_layers(how) or (how.attention == "fused" and masks)
    return config.layer_period if differ else 1


def kept_apart(period: int) -> int:
    return 2 + 2 * period


def _leave_out(layers: Any, layer: int, period: int) -> _LeftOut:
    """Leave out ``layers`` layers (whole periods) after the period that starts at ``layer``."""
    if isinstance(layers, int):
        times = layers // period
    elif period == 1:
        times = layers
    else:
        times = _PERIODS - (_LAYERS - layers) // period
    return _LeftOut(layer, period, layers, times)


def _in_layers(expression: Any, config: Config) -> Any:
    """Express the number of periods by the number of layers, which may change only by whole periods."""
    return in_whole_periods(expression.subs(_PERIODS, _LAYERS // config.layer_period), config.num_hidden_layers)


def moments(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> tuple[SymbolicMoment, ...]:
    """The points in time at which a model of this structure can reach its peak, in chronological order.

    The sequence length is not checked, because ``growths`` derives polynomials from longer sequences than the model
    accepts. Raises InputError in the same cases as ``changes_in`` (memory/peak).
    """
    return _moments(*_symbolic(model, how, batch_size, sequence_length))


def check_runs(model: Model, how: Plan | Inference, sequence_length: int) -> None:
    """Raise InputError for sizes with which the model cannot run: a symbolic run does not detect all of them."""
    if problem := cannot_run(model, training=isinstance(how, Plan)):
        raise InputError(problem)
    for change in model.changes:
        change.check_length(model.final_config, sequence_length)


@lru_cache(maxsize=32)
def _symbolic(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> _Symbolic:
    """The symbolic model with few layers, its symbolic batch, and the layers left out; sizes of 1 stay numeric."""
    config = model.config
    fields = set(SIZES) - {"hidden_size", "num_hidden_layers"}
    if two_labels(model, training=isinstance(how, Plan)):
        fields.remove("num_labels")
    sizes = _sizes(model, batch_size, sequence_length)
    letters = {name: 1 if size == 1 else _SYMBOLS[name] for name, size in zip(_NAMES, sizes, strict=True)}
    if any(change.packs for change in model.changes):  # blocks of weights are rounded up
        letters |= {name: size for name, size in zip(_NAMES, sizes, strict=True) if name not in CALL_SYMBOLS}
    if sequence_length + model.virtual_tokens == config.whole:
        letters["max_position_embeddings"] = letters["sequence_length"]
        if model.virtual_tokens:
            letters["max_position_embeddings"] += letters["num_virtual_tokens"]
    letters["hidden_size"] = letters["num_attention_heads"] * letters["attention_head_size"]
    same = config.letters_of_sizes()  # sizes that have to be equal have one symbol
    changes = {name: letters[same[name]] for name in (*fields, "hidden_size") if name in same}
    frozen = frozen_layers(how)
    period = period_of(model, how, sequence_length)
    folds = []
    layers = 0
    for count, letter in ((frozen, frozen), (config.num_hidden_layers - frozen, _LAYERS - frozen)):
        many = count >= kept_apart(period) + period
        kept = _fewest(count, period) - period if many else count
        if many:
            folds.append(_leave_out(letter - kept, layers + 1, period))
        layers += kept
        if isinstance(how, Plan) and letter is frozen:
            how = how._replace(freezing=replace(how.freezing, layers=layers))
    changes["num_hidden_layers"] = layers
    changes |= window_in_letters(config, sequence_length + model.virtual_tokens)
    if is_in_8_bits(how):
        how = how._replace(optimizer="sgd")
    symbolic = _with_config(model, unchecked(config, **changes))
    if symbolic.changes:
        symbolic = symbolic.changed(changes=tuple(change.in_letters(letters) for change in symbolic.changes))
        last = symbolic.final_config
        symbolic = symbolic.changed(changes=tuple(change.sized_by(model, last) for change in symbolic.changes))
    return symbolic, how, letters["batch_size"], letters["sequence_length"], tuple(folds)


def _with_config(model: Model, config: Config) -> Model:
    if model.changes:
        return model.changed(config=config)
    return _model(config, model.architecture, model.add_pooling_layer)


@lru_cache(maxsize=64)  # 0.2 MB per entry
def _moments(
    model: Model, how: Plan | Inference, batch: Any, length: Any, folds: tuple[_LeftOut, ...]
) -> tuple[SymbolicMoment, ...]:
    tops = _tops(_changes(model, how, batch, length), folds)
    before: Terms = {}
    candidates = []
    for moment in can_be_largest(tops, lambda moment: moment.live):
        candidates.append(moment._replace(since=_difference(moment.live, before)))
        before = moment.live
    return tuple(candidates)


def _difference(later: Terms, earlier: Terms) -> Terms:
    difference = {powers: later.get(powers, 0) - earlier.get(powers, 0) for powers in {**earlier, **later}}
    return {powers: count for powers, count in difference.items() if count}


def _covers(larger: Terms, smaller: Terms) -> bool:
    """Whether ``larger`` is at least ``smaller`` for all sizes: none of its coefficients is smaller."""
    # Explicit loops for speed: a page with a peak spends much of its time in this function.
    for powers, count in smaller.items():
        if larger.get(powers, 0) < count:
            return False
    return all(count >= 0 or powers in smaller for powers, count in larger.items())


def _tops(changes: Sequence[MemoryChange], folds: Sequence[_LeftOut]) -> Iterator[SymbolicMoment]:
    """The local maxima of the step: each point in time directly before memory is released.

    The changes of the layers left out are added where they would occur: the changes of one layer, times the number of
    layers. The bytes change by a constant from one layer to the next, so the maximum is in the first or last layer.
    """
    areas: dict[Area, Counter[Monomial]] = {area: Counter() for area in AREAS}
    left_out = _left_out(changes, folds)
    alive: set[int] = set()
    rose = False
    for index, change in enumerate(changes):
        goes = change.storage in alive and not change.moved_from
        if rose and goes:
            yield _moment(changes, index - 1, areas)
            rose = False
        for repeated, times in left_out.get(index, ()):
            _apply(areas, repeated, times)
        _apply(areas, change, 1)
        if goes:
            alive.remove(change.storage)
        elif not change.moved_from:
            alive.add(change.storage)
            rose = change.phase != "before"
    if rose:
        yield _moment(changes, len(changes) - 1, areas)


def _left_out(
    changes: Sequence[MemoryChange], folds: Sequence[_LeftOut]
) -> Mapping[int, list[tuple[MemoryChange, Any]]]:
    """Map a change's index to the changes of omitted layers that precede it, each with its number of repetitions.

    In each phase, a layer's changes last from its first change to the next layer's first change, forward or backward.
    A layer's storages, such as a cache, can also be allocated before the step, and released together with the storages
    of all other layers. Memory that is allocated outside the layers, such as a table of angles, is released only once,
    although the release happens in the backward pass of one layer.
    """
    layers = [split_layer(change.where)[0].rpartition(".")[2] for change in changes]
    firsts: dict[tuple[Phase, str], int] = {}
    born: dict[int, str] = {}
    shared: set[int] = set()
    for index, (change, layer) in enumerate(zip(changes, layers, strict=True)):
        firsts.setdefault((change.phase, layer), index)
        if change.storage not in born and change.phase == "forward" and not layer:
            shared.add(change.storage)
        born.setdefault(change.storage, "" if change.phase == "backward" else layer)  # gradients belong to no layer
    insertions: dict[int, list[tuple[MemoryChange, Any]]] = {}
    for fold in folds:
        first, after = str(fold.layer), str(fold.layer + fold.period)
        copied = {str(fold.layer + number) for number in range(fold.period)}
        for index, (change, layer) in enumerate(zip(changes, layers, strict=True)):
            if born[change.storage] in copied and (change.phase == "before" or not layer):
                insertions.setdefault(index, []).append((change, fold.times))
        for phase in ("forward", "backward", "optimizer"):
            if (phase, first) in firsts and (phase, after) in firsts:
                start, end = sorted((firsts[phase, first], firsts[phase, after]))
                repeated = [change for change in changes[start:end] if change.storage not in shared]
                insertions.setdefault(end, []).extend((change, fold.times) for change in repeated)
    return insertions


def _apply(areas: Mapping[Area, Counter[Monomial]], change: MemoryChange, times: Any) -> None:
    terms = _terms(change.num_bytes * times)
    areas[change.area].update(terms)
    if change.moved_from:
        areas[change.moved_from].subtract(terms)


def _moment(changes: Sequence[MemoryChange], position: int, areas: Mapping[Area, Counter[Monomial]]) -> SymbolicMoment:
    nonzero = {area: {powers: count for powers, count in terms.items() if count} for area, terms in areas.items()}
    live = added(nonzero.values())
    return SymbolicMoment(changes[position].phase, changes[position].where, nonzero, live, position, live)


@lru_cache(maxsize=8192)
def _terms(expression: Any) -> Terms:
    return {powers: int(count) for powers, count in sympy.Poly(expression, *_SYMBOLS.values()).terms()}


def _expression(terms: Terms) -> Any:
    """A polynomial as a SymPy expression, with H / A for the head size."""
    polynomial = sympy.Poly.from_dict(dict(terms), *_SYMBOLS.values()).as_expr()
    return sympy.expand(polynomial.subs(_HEAD_SIZE, SYMBOLS["hidden_size"] / SYMBOLS["num_attention_heads"]))


@lru_cache(maxsize=1024)
def _written(
    symbolic: _Symbolic, position: int
) -> tuple[Mapping[Area, Formula], list[tuple[str, Terms, Formula]], Any]:
    """The formulas at a point in time: for each area, for each temporary tensor, and in total."""
    moment = next(candidate for candidate in _moments(*symbolic) if candidate.position == position)
    counts, config = _counts(symbolic), symbolic[0].config
    areas: dict[Area, Formula] = {}
    for area, terms in moment.areas.items():
        if terms:
            expression = sympy.expand(_in_layers(_expression(terms), config))
            written = _in_counts(expression, counts)
            areas[area] = write(sympy.Add(*_grouped(expression), evaluate=False) if written is None else written)
    temporaries = _temporaries(_changes(*symbolic[:4]), symbolic[4], position)
    pieces = [(name, terms, write(_in_layers(_expression(terms), config))) for name, terms in temporaries]
    return areas, pieces, sympy.expand(_in_layers(_expression(moment.live), config))


def _temporaries(
    changes: Sequence[MemoryChange], folds: Sequence[_LeftOut], position: int
) -> Iterator[tuple[str, Terms]]:
    """The live temporary tensors at a point in time, as (name of the step, bytes) pairs.

    The tensors of a step in several layers are summed; * then replaces the layer number in the name.
    """
    left_out = _left_out(changes, folds)
    made_for: dict[int, str] = {}
    sums: dict[str, Counter[Monomial]] = {}
    for place, change in enumerate(changes[: position + 1]):
        for event, times in (*left_out.get(place, ()), (change, 1)):
            name = made_for.setdefault(event.storage, _numbered(event.where))
            sign = (event.area == "temporaries") - (event.moved_from == "temporaries")
            for monomial, count in _terms(sign * times * event.num_bytes).items():
                sums.setdefault(name, Counter())[monomial] += count
    last = {made_for[event.storage]: event for event in alive(changes[: position + 1]) if event.area == "temporaries"}
    for name, terms in sums.items():
        if left := {monomial: count for monomial, count in terms.items() if count}:
            alone = name in last and left == _terms(last[name].num_bytes)
            yield last[name].where if alone else name, left


def _numbered(where: str, number: int | str = "*") -> str:
    return ".".join(f"{number}" if part.isdecimal() else part for part in where.split("."))


def _unfolded(where: str, symbolic: _Symbolic, model: Model) -> str:
    """Replace the layer number in a name with the number of that layer in the whole model."""
    layer, _inside = split_layer(where)
    if not layer or layer.endswith("*"):
        return where
    number = layer_number(where)
    layers_before = sum(fold.layers for fold in symbolic[4] if number >= fold.layer + fold.period)
    number_in_model = number + int(sympy.sympify(layers_before).subs(_LAYERS, model.config.num_hidden_layers))
    return _numbered(where, number_in_model)


def _counts(symbolic: _Symbolic) -> dict[Any, Any]:
    """Map the symbols N and N_t to formulas for the numbers of parameters and of trained parameters.

    N_t is left out if nothing is frozen. The mapping is empty for a model with changes such as adapters.
    """
    model, how, _batch, _length, folds = symbolic
    if model.changes:  # the sizes of adapters are not symbols here
        return {}
    frozen = frozen_layers(how)
    trained_layers = (
        model.config.num_hidden_layers - frozen + sum(fold.layers for fold in folds if fold.layer >= frozen)
    )
    all_layers = trained_layers + frozen + sum(fold.layers for fold in folds if fold.layer < frozen)

    def with_layers(layers: Any) -> Model:
        config = model.config
        no_sizes = {field: getattr(config, field) for field in config.letters_of_sizes() if field not in SIZES}
        return model.changed(config=unchecked(in_letters(config), num_hidden_layers=layers, **no_sizes))

    counts = {"parameters": (with_layers(_LAYERS).num_parameters(), all_layers)}
    if isinstance(how, Plan) and how.freezing != Freezing():
        whole = with_layers(frozen + _LAYERS)
        trained = (how.freezing.trained(tensor, whole.first_layer(tensor.name)) for tensor in whole.tensors())
        counts["trained_parameters"] = sum(tensor.num_parameters() for tensor in trained), trained_layers
    # A size of 1 stays numeric in the symbolic run, such as RoBERTa's single token type.
    ones = {SYMBOLS[size]: 1 for size in SIZES if size != "num_hidden_layers" and getattr(model.config, size, 0) == 1}
    return {
        COUNT_SYMBOLS[name]: sympy.expand(exact(count).subs({_LAYERS: layers, **ones}, simultaneous=True))
        for name, (count, layers) in counts.items()
        if count
    }


def _in_counts(expression: Any, counts: Mapping[Any, Any]) -> Any:
    """The expression as bytes per parameter times N or N_t, plus a remainder.

    Returns None if this does not halve the number of terms.
    """
    terms = expression.as_coefficients_dict()
    best, length = None, len(terms) / 2
    for letter, count in counts.items():
        product, times = next(iter(count.as_coefficients_dict().items()))
        rest = sympy.expand(expression - terms[product] / times * count)
        if len(rest.as_coefficients_dict()) < length:
            best, length = terms[product] / times * letter + rest, len(rest.as_coefficients_dict())
    return best


def _grouped(expression: Any) -> Iterator[Any]:
    """The summands of L B S (...) + B S (...) + ...: repeated layers first; each bracket is the memory of one token."""
    for power in (1, 0):
        if part := expression.coeff(_LAYERS, power):
            tokens, *rest = by_tokens(_LAYERS**power, part)
            yield tokens
            yield from (term for remainder in rest for term in sympy.Add.make_args(remainder))
