"""The peak of a step as live numbers: a browser evaluates the formulas of all candidate points in time.

The formulas hold for models of the same structure: the same sizes are 1 and, if the models have few layers, they have
the same number of layers. At other sizes, a live number has no value.

>>> from bertcalc import BertConfig
>>> from bertcalc.text.live_numbers import evaluated
>>> now = live_peak(Model(BertConfig(), "BertForMaskedLM"), Plan(), 8, 128).num_bytes
>>> now, evaluated(now.node, {**BertConfig().shared(), "num_hidden_layers": 24})
(2614309352, 4541129960)
"""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple, cast

from bertcalc.config.fields import SIZES
from bertcalc.controls.stops import SLIDERS
from bertcalc.live.live_formulas import live_reading, live_size, with_formula
from bertcalc.memory.fit import LargestFit, Polynomial, most
from bertcalc.memory.footprint import steady_bytes
from bertcalc.memory.held_formulas import held, staying_sizes
from bertcalc.memory.peak.peak_formulas import (
    Monomial,
    Products,
    Terms,
    TopMoments,
    added,
    bytes_in_8_bits,
    can_be_largest,
    frozen_layers,
    growth_ranges,
    kept_apart,
    most_sequences,
    peak,
    period_of,
    top_moments,
)
from bertcalc.memory.plan import Inference, Plan
from bertcalc.memory.timeline import AREAS, Area
from bertcalc.model.change import CHANGE_SIZES
from bertcalc.model.formula import symbolic_model
from bertcalc.model.model import Model
from bertcalc.text.live_numbers import FigureBound, LiveNode, live, node_of, plain_value, staying, within

# The variables of the polynomials: the sizes that sliders move. The head size replaces hidden_size, because hidden_size
# is the number of heads times the head size.
_MOVED = (field for field in SLIDERS if field != "hidden_size")
_FREE = (*_MOVED, "attention_head_size", "layer_periods", *CHANGE_SIZES)


class LivePeak(NamedTuple):
    """The bytes at the peak, in total and by area; within ``bounds``, the peak stays at the same point in time."""

    num_bytes: int
    areas: Mapping[Area, int]
    bounds: tuple[FigureBound, ...]


@lru_cache(maxsize=32)
def live_peak(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> LivePeak:
    """The peak of a step as live numbers; the batch and the plan are fixed."""
    present = peak(model, how, batch_size, sequence_length)
    moments = top_moments(model, how, batch_size, sequence_length, _FREE)
    nodes = _peak_nodes(moments, model.config.layer_period, node_of(_states_in_8_bits(model, how)))
    totals = [*map(_products(model).sum, nodes.totals)]
    at = totals.index(max(totals))
    bounds, place = regime(model, how, sequence_length), live(at, nodes.place)
    alike = nodes.alike(present.areas)
    with_these_areas = within(place, (*bounds, FigureBound(_element(alike[at], alike, place), 1)))
    return LivePeak(
        within(live(present.num_bytes, nodes.largest), bounds),
        {area: _element(count, nodes.areas[area], with_these_areas) for area, count in present.areas.items()},
        (*bounds, staying(place)),
    )


def _element(value: int, nodes: tuple[Any, ...], place: int) -> int:
    return cast(int, live(value, LiveNode("element", (nodes, node_of(place)))))


class _PeakNodes:
    """The nodes of a peak and its areas. They do not depend on the values of the free sizes.

    ``totals`` are the polynomials of all bytes at each point in time, without ``states``.
    """

    def __init__(self, moments: TopMoments, period: int, states: Any) -> None:
        self._parts: list[dict[Area, Any]] = [
            {area: _node(terms, period) for area, terms in areas.items()} for areas in moments
        ]
        if states:
            for parts in self._parts:
                parts["optimizer states"] = LiveNode("+", (parts.get("optimizer states", 0), states))
        self.totals = [added(areas.values()) for areas in moments]
        figures = tuple(LiveNode("+", tuple(parts.values())) if parts else 0 for parts in self._parts)
        self.largest, self.place = LiveNode("largest", (figures,)), LiveNode("place_of_largest", (figures,))
        self.areas = {area: tuple(parts.get(area, 0) for parts in self._parts) for area in AREAS}

    def alike(self, areas: Mapping[Area, int]) -> tuple[int, ...]:
        """For each point in time, 1 if exactly these areas are in memory, otherwise 0."""
        return tuple(int(parts.keys() == areas.keys()) for parts in self._parts)


_peak_nodes = lru_cache(maxsize=16)(_PeakNodes)


class LiveGrowths(NamedTuple):
    """The polynomials of ``peak_formulas.growths``: at the present sizes, and as nodes.

    There can be more of them, because different polynomials are the largest at other sizes.
    """

    present: tuple[Polynomial, ...]
    nodes: tuple[Any, ...]

    def most(self, usable: int, positions: int | None = None) -> LargestFit:
        """The result of ``fit.most`` at the present sizes, with one of the polynomials of ``peak_formulas.growths``."""
        answer = most(self.present, usable, positions)
        deciding = [growth for growth in self.present if growth.largest(usable) == answer.memory]
        return answer._replace(growth=can_be_largest(deciding, _terms)[0])

    def most_fitting(self, usable: int, positions: int | None = None) -> tuple[int, int]:
        """The result of ``fit.most_fitting`` as live numbers."""
        numbers = most(self.present, usable, positions).numbers
        return cast(tuple[int, int], live(numbers, _most_fitting(self.nodes, usable, positions)))


@lru_cache(maxsize=32)
def _most_fitting(nodes: tuple[Any, ...], usable: int, positions: int | None) -> LiveNode:
    return LiveNode("most_fitting", (nodes, usable, positions))


def _terms(growth: Polynomial) -> Terms:
    return {(power, growth.start): count for power, count in enumerate(growth[1:4])}


def live_growths(model: Model, how: Plan | Inference, field: str, batch_size: int, sequence_length: int) -> LiveGrowths:
    """The polynomials of ``peak_formulas.growths`` with live coefficients."""
    call = {"batch_size": batch_size, "sequence_length": sequence_length}
    first = live_peak(model, how, **{**call, field: 1}).num_bytes
    if field == "batch_size" and most_sequences(model):
        growths = [Polynomial(first, first, 0, 0)]
        return LiveGrowths(plain_value((*growths,)), node_of((*growths,)))
    ranges, states, products = growth_ranges(model, field), _states_in_8_bits(model, how), _products(model)
    bounds = (regime(model, how, start if field == "sequence_length" else sequence_length) for start, _end in ranges)
    first = within(first, (*chain.from_iterable(bounds),))  # in all polynomials, so all have these bounds
    present, nodes = list[Polynomial](), list[Any]()
    for start, end in ranges:
        moments = top_moments(model, how, **{**call, field: start}, free=(field, *_FREE))
        coefficients = _by_power(moments)
        nodes += _growth_nodes(moments, model.config.layer_period, node_of(first), node_of(states), start, end)
        for powers in coefficients:
            constant, linear, square = map(products.sum, powers)
            present.append(Polynomial(int(first), constant + int(states), linear, square, start, end))
    return LiveGrowths((*present,), (*nodes,))


@lru_cache(maxsize=16)
def _by_power(moments: TopMoments) -> list[tuple[Terms, Terms, Terms]]:
    """The bytes at each point in time: the constant, linear and quadratic coefficients in the first free size.

    Each coefficient is a polynomial of the other free sizes.
    """
    coefficients: list[tuple[Terms, Terms, Terms]] = []
    for areas in moments:
        powers: tuple[dict[Monomial, int], ...] = ({}, {}, {})
        for terms in areas.values():
            for (power, *others), count in terms.items():
                powers[power][(*others,)] = powers[power].get((*others,), 0) + count
        coefficients.append((powers[0], powers[1], powers[2]))
    return coefficients


@lru_cache(maxsize=16)
def _growth_nodes(
    moments: TopMoments, period: int, first: Any, states: Any, start: int, end: int | None
) -> list[tuple[Any, ...]]:
    """The polynomial at each point in time, with nodes instead of numbers."""
    polynomials = []
    for powers in _by_power(moments):
        constant, linear, square = (_node(terms, period) for terms in powers)
        constant = LiveNode("+", (constant, states)) if states else constant
        polynomials.append((first, constant, linear, square, start, end))
    return polynomials


def _states_in_8_bits(model: Model, how: Plan | Inference) -> int:
    """The bytes of an 8-bit optimizer's states, which are not a polynomial of the sizes; 0 for other optimizers."""
    states = bytes_in_8_bits(model, how)
    if not states:
        return 0
    if frozen_layers(how):
        return held(states, model)
    formula = bytes_in_8_bits(symbolic_model(model), how, like=model)
    return cast(int, with_formula(states, formula, model.config.shared()))


def live_steady_bytes(model: Model, plan: Plan) -> int:
    """The bytes that training always needs (``footprint.steady_bytes``), as a live number."""
    if plan.freezing.layers:
        return held(steady_bytes(model, plan), model)
    return live_reading(steady_bytes, model, plan)


def _products(model: Model) -> Products:
    """The products of the present values of the sizes in _FREE."""
    config = model.config
    numbers = {
        **model.letter_values(),
        "attention_head_size": config.attention_head_size,
        "layer_periods": config.num_hidden_layers // config.layer_period,
    }
    return Products([numbers.get(name, 1) for name in _FREE])


def _node(terms: Terms, period: int) -> Any:
    """The node of a polynomial of the free sizes; 0 for a polynomial without terms."""
    return (
        LiveNode("+", tuple(_term(powers, count, period) for powers, count in terms.items() if count)) if terms else 0
    )


def _term(powers: Monomial, count: int, period: int) -> LiveNode:
    sizes = zip(_FREE, powers, strict=True)
    return LiveNode("*", (count, *(_size(name, period) for name, power in sizes for _time in range(power))))


@cache
def _size(name: str, period: int) -> LiveNode:
    if name == "attention_head_size":
        return _head_size()
    if name == "layer_periods":
        return LiveNode("floor", (LiveNode("/", (_size("num_hidden_layers", period), period)),))
    return LiveNode("field", (name,))


def _head_size() -> LiveNode:
    return LiveNode("/", tuple(LiveNode("field", (field,)) for field in ("hidden_size", "num_attention_heads")))


def regime(model: Model, how: Plan | Inference, sequence_length: int) -> tuple[FigureBound, ...]:
    """The bounds within which the peak has the same formulas as at the current sizes."""
    config = model.config
    ones = ("vocab_size", "num_attention_heads", "intermediate_size")
    sizes = [live_size(field, getattr(config, field)) for field in ones if config.has(field)]
    sizes.append(live(config.attention_head_size, _head_size()))
    sizes += [live_size(name, size) for name, size in model.letter_values().items() if name in CHANGE_SIZES]
    others = [field for field in SIZES if field not in SLIDERS]
    return (
        *(FigureBound(size, 1, 1) if size == 1 else FigureBound(size, 2) for size in sizes),
        *_layers(model, how, sequence_length),
        *staying_sizes(model, others),
    )


def _layers(model: Model, how: Plan | Inference, sequence_length: int) -> Iterator[FigureBound]:
    """The bounds on the number of layers: a few layers are simulated one by one; a larger number is a symbol."""
    layers, period = model.config.num_hidden_layers, period_of(model, how, sequence_length)
    least = frozen_layers(how) + kept_apart(period)
    size = live_size("num_hidden_layers", layers)
    yield FigureBound(size, least) if layers >= least + period else staying(size)
    if period > 1:
        whole = LiveNode("floor", (LiveNode("/", (node_of(size), period)),))
        rest = live(layers % period, LiveNode("-", (node_of(size), LiveNode("*", (period, whole)))))
        yield staying(rest)
