"""The peak of a step as live numbers: a browser evaluates the formulas of all candidate points in time.

The formulas hold for models of the same structure: the same sizes are 1 and, if the models have few layers, they have
the same number of layers. At other sizes, a live number has no value.

>>> from bertcalc import BertConfig
>>> from bertcalc.text.live_numbers import evaluated
>>> now = live_peak(Model(BertConfig(), "BertForMaskedLM"), Plan(), 8, 128).num_bytes
>>> now, evaluated(now.node, {**BertConfig().shared(), "num_hidden_layers": 24})
(2614309352, 4541129960)
"""

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from bertcalc.config.fields import SIZES
from bertcalc.controls.stops import SLIDERS
from bertcalc.live.live_formulas import live_reading, live_size, with_formula
from bertcalc.memory.fit import Polynomial
from bertcalc.memory.footprint import steady_bytes
from bertcalc.memory.held_formulas import held, staying_sizes
from bertcalc.memory.peak.peak_formulas import (
    Monomial,
    Products,
    Terms,
    TopMoments,
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
from bertcalc.memory.timeline import Area
from bertcalc.model.change import CHANGE_SIZES
from bertcalc.model.formula import symbolic_model
from bertcalc.model.model import Model
from bertcalc.text.live_choices import largest, place_of_largest
from bertcalc.text.live_numbers import FigureBound, LiveNode, live, node_of, plain_value, staying, within

# The variables of the polynomials: the sizes that sliders move. The head size replaces hidden_size, because hidden_size
# is the number of heads times the head size.
_MOVED = (field for field in SLIDERS if field != "hidden_size")
_FREE = (*_MOVED, "attention_head_size", "layer_periods", *CHANGE_SIZES)


class LivePeak(NamedTuple):
    """The bytes at the peak, in total and by area; within ``bounds``, the peak stays at the same point in time."""

    num_bytes: int
    areas: dict[Area, int]
    bounds: tuple[FigureBound, ...]


@lru_cache(maxsize=32)
def live_peak(model: Model, how: Plan | Inference, batch_size: int, sequence_length: int) -> LivePeak:
    """The peak of a step as live numbers; the batch and the plan are fixed."""
    present = peak(model, how, batch_size, sequence_length)
    bounds = regime(model, how, sequence_length)
    states = _states_in_8_bits(model, how)
    moments = top_moments(model, how, batch_size, sequence_length, _FREE)
    sizes = _FreeSizes(model)
    areas = [
        {area: sizes.value(polynomial) for area, polynomial in parts.items()}
        for parts in _by_area(moments, sizes.period)
    ]
    if states:
        areas = [parts | {"optimizer states": parts.get("optimizer states", 0) + states} for parts in areas]
    figures = [_added(list(parts.values())) for parts in areas]
    place = place_of_largest(figures)
    alike = [FigureBound(_chosen([int(parts.keys() == present.areas.keys()) for parts in areas], place), 1)]
    return LivePeak(
        within(largest(figures), bounds),
        {
            area: within(_chosen([parts.get(area, 0) for parts in areas], place), (*bounds, *alike))
            for area in present.areas
        },
        (*bounds, staying(place)),
    )


def live_growths(
    model: Model, how: Plan | Inference, field: str, batch_size: int, sequence_length: int
) -> list[Polynomial]:
    """The polynomials of ``peak_formulas.growths`` with live coefficients.

    The list can be longer than the result of ``growths``, because different polynomials are the largest at other sizes.
    """
    call = {"batch_size": batch_size, "sequence_length": sequence_length}
    first = live_peak(model, how, **{**call, field: 1}).num_bytes
    if field == "batch_size" and most_sequences(model):
        return [Polynomial(first, first, 0, 0)]
    sizes, states = _FreeSizes(model), _states_in_8_bits(model, how)
    polynomials = []
    for start, end in growth_ranges(model, field):
        bounds = regime(model, how, start if field == "sequence_length" else sequence_length)
        moments = top_moments(model, how, **{**call, field: start}, free=(field, *_FREE))
        for coefficients in _by_power(moments, sizes.period):
            constant, linear, square = map(sizes.value, coefficients)
            polynomials.append(Polynomial(first, within(constant + states, bounds), linear, square, start, end))
    return polynomials


def present_growths(live_polynomials: Sequence[Polynomial]) -> list[Polynomial]:
    """Reduce ``live_growths`` to the result of ``peak_formulas.growths``: fewer polynomials, with plain integers."""
    return can_be_largest(
        [Polynomial(*plain_value(tuple(polynomial))) for polynomial in live_polynomials],
        lambda polynomial: {(power, polynomial.start): count for power, count in enumerate(polynomial[1:4])},
    )


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


class _FreeSizes:
    """The current values of the sizes in _FREE, for evaluating polynomials."""

    def __init__(self, model: Model) -> None:
        config, values = model.config, model.letter_values()
        self.period = config.layer_period
        numbers = {
            **values,
            "attention_head_size": config.attention_head_size,
            "layer_periods": config.num_hidden_layers // config.layer_period,
        }
        self._products = Products([numbers.get(name, 1) for name in _FREE])

    def value(self, polynomial: "_LivePolynomial | None") -> int:
        """The value of a polynomial as a live number; 0 for None."""
        return cast(int, live(self._products.sum(polynomial.terms), polynomial.node)) if polynomial else 0


class _LivePolynomial(NamedTuple):
    """A polynomial of the free sizes and its node; the node does not depend on the sizes' values."""

    terms: Terms
    node: LiveNode


@lru_cache(maxsize=16)
def _by_area(moments: TopMoments, period: int) -> list[dict[Area, _LivePolynomial | None]]:
    return [{area: _polynomial(terms, period) for area, terms in areas.items()} for areas in moments]


@lru_cache(maxsize=16)
def _by_power(moments: TopMoments, period: int) -> list[list[_LivePolynomial | None]]:
    """The bytes at each point in time: the constant, linear and quadratic coefficients in the first free size."""
    coefficients = []
    for areas in moments:
        powers: tuple[dict[Monomial, int], ...] = ({}, {}, {})
        for terms in areas.values():
            for (power, *others), count in terms.items():
                powers[power][(*others,)] = powers[power].get((*others,), 0) + count
        coefficients.append([_polynomial(terms, period) for terms in powers])
    return coefficients


def _polynomial(terms: Terms, period: int) -> _LivePolynomial | None:
    if not terms:
        return None
    node = LiveNode("+", tuple(_term(powers, count, period) for powers, count in terms.items() if count))
    return _LivePolynomial(terms, node)


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


def _added(figures: Sequence[int]) -> int:
    return cast(int, live(sum(map(int, figures)), LiveNode("+", tuple(map(node_of, figures))))) if figures else 0


def _chosen(options: Sequence[Any], place: int) -> Any:
    return live(options[place], LiveNode("element", (tuple(map(node_of, options)), node_of(place))))
