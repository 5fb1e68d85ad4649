"""The browser computes the same values as Python.

The tests cover every mirrored function, and the live numbers of models of other sizes.
"""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

import pages.ui.session.scale
import pages.ui.widgets.bars  # noqa: F401  # both imports register mirrored functions
from bertcalc.change_steps.effect_formulas import argument_sizes, live_effect
from bertcalc.change_steps.effects import changed_models, effect
from bertcalc.change_steps.step_texts import read_steps
from bertcalc.config import Config
from bertcalc.controls.stops import SLIDERS, moved, stops
from bertcalc.discover.results import size_steps
from bertcalc.discover.results.components import live_count
from bertcalc.discover.results.shipped import shipped
from bertcalc.explore.factor_formulas import (
    FOLLOWS,
    MOSTLY,
    STAYS,
    WITH,
    FigureGrowth,
    SizeGrowth,
    TermGrowth,
    piece_growths,
)
from bertcalc.families import CLASSES, build
from bertcalc.families.presets import PRESETS
from bertcalc.live.live_formulas import live_reading
from bertcalc.live.live_program import LiveProgram
from bertcalc.memory.byte_formulas import live_modules
from bertcalc.memory.fit import LIMITS, Polynomial, most
from bertcalc.memory.footprint import kept, steady_bytes
from bertcalc.memory.optimizers import OPTIMIZERS, PRECISIONS
from bertcalc.memory.peak.live_peak_formulas import live_growths, live_peak, live_steady_bytes
from bertcalc.memory.peak.peak_formulas import growths, most_sequences, peak
from bertcalc.memory.plan import ATTENTIONS, Inference, Plan
from bertcalc.memory.saved import by_module
from bertcalc.model.batch import Batch
from bertcalc.model.change import Change
from bertcalc.model.formula import symbolic_model
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.model.totals import breakdown, totals_by_component
from bertcalc.text.live_numbers import (
    MIRRORED,
    FigureBound,
    LiveNode,
    OutsideError,
    evaluated,
    fill,
    live,
    node_of,
    within,
)
from bertcalc.text.problem import InputError
from pages.ui.parameters.answer import SentencePart
from tests.alike import alike_models, sizes_of

ROOT = Path(__file__).parents[2]
RUNTIME = (ROOT / "bertcalc" / "live" / "runtime.js").read_text(encoding="utf-8")
_RUN = """([source, operations, sizes, wanted]) => {
    const make = new Function(`${source}; return Program`);
    const program = new (make())(operations);
    program.run(sizes);
    const plain = (value) => typeof value === "bigint" ? `${value}`
        : Array.isArray(value) ? value.map(plain)
        : value?.below !== undefined ? `${value.top}/${value.below}`
        : Number.isNaN(value) ? "nan" : value;
    return wanted.map((argument) => plain(program.value(argument)));
}"""


def computed(page: Page, operations: list[Any], sizes: dict[str, int], wanted: list[Any]) -> list[Any]:
    values: list[Any] = page.evaluate(_RUN, [RUNTIME, operations, sizes, wanted])
    return values


def plain(value: Any) -> Any:
    """Convert a value to the form that the browser returns: integers and fractions become strings."""
    if isinstance(value, tuple | list):
        return [*map(plain, value)]
    if isinstance(value, float):
        return "nan" if isnan(value) else value
    return str(value) if isinstance(value, int | Fraction) else value


def _count(rng: random.Random) -> int:
    return rng.choice((rng.randrange(3), rng.randrange(2000), rng.randrange(10 ** rng.randrange(1, 16))))


def _number(rng: random.Random) -> Fraction | float | int:
    return rng.choice(
        (
            _count(rng),
            Fraction(_count(rng), 1 + _count(rng)),
            Fraction(5 * rng.randrange(10**6), 10 ** rng.randrange(9)),  # ties in rounding
            rng.random() * 10 ** rng.randrange(-6, 9),
        )
    )


def _exact(rng: random.Random) -> Fraction | int:
    return rng.choice((_count(rng), Fraction(_count(rng), 1 + _count(rng)), Fraction(_count(rng), 2)))


def _two(rng: random.Random) -> tuple[int, int]:
    first = _count(rng)
    return first, rng.choice((first, _count(rng)))


def _share(rng: random.Random) -> tuple[int, int, int]:
    whole = 1 + _count(rng)
    return rng.choice((0, 1, whole - 1, whole, rng.randrange(whole + 1))), whole, rng.randrange(1, 3)


_TEXTS = ("", "109,482,240", "21.8 %", "× 2.00 with L·H²", "词嵌入", "Attention (layers)")


def _text(rng: random.Random) -> str:
    return rng.choice(_TEXTS)


def _growth(rng: random.Random) -> FigureGrowth:
    fields = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
    sizes = tuple(SizeGrowth(field, field[0].upper(), *(1 + n for n in _two(rng))) for field in fields)
    terms = tuple(
        TermGrowth(*_two(rng), tuple((field, rng.randrange(1, 3)) for field in rng.sample(fields, rng.randrange(1, 4))))
        for _term in range(rng.randrange(4))
    )
    return FigureGrowth(*_two(rng), terms, sizes)


def _sentence_part(rng: random.Random) -> SentencePart:
    phrases = rng.choice((("1 more", "{count} more", "1 fewer", "{count} fewer"), ("without a pooler",)))
    before, after = _two(rng)
    steps = after - before
    alike = bool(steps) and rng.random() < 0.5
    difference = steps * rng.randrange(1, 9) if alike else rng.choice((0, 1, -1)) * _count(rng)
    return SentencePart(phrases, before, after, difference, alike=alike, counted=rng.random() < 0.7)


_MESSAGES = (
    *("Yours has {changes}.", "Yours: {changes}.", "{changes}, with the same count", "{changes} and other changes"),
    *("{changes}, {difference} in all", "{changes}, {difference}", "{changes}, {each:,} each", ", "),
)
ARGUMENTS: dict[str, Callable[[random.Random], tuple[Any, ...]]] = {
    "grouped": lambda rng: (rng.choice((1, -1)) * _count(rng) ** 2,),
    "plain": lambda rng: (_count(rng),),
    "largest": lambda rng: (tuple(_count(rng) for _figure in range(rng.randrange(4))),),
    "smallest": lambda rng: (_two(rng),),
    "distance": _two,
    "unless_same": _two,
    "if_between": lambda rng: (
        (*sorted([_number(rng), _count(rng), _number(rng)]), "yes", "no")
        if rng.random() < 0.5
        else (_number(rng), _count(rng), _number(rng), "yes", "no")
    ),
    "if_negative": lambda rng: (rng.choice((1, -1)) * _count(rng), "fewer", "more"),
    "differ": lambda rng: ((first := [*_two(rng)]), rng.choice((first, [*_two(rng)]))),
    "with_sign": lambda rng: (rng.choice((1, -1)) * _count(rng), _text(rng)),
    "joined": lambda rng: (" · ", tuple(_text(rng) for _part in range(3))),
    "fixed": lambda rng: (_number(rng), rng.randrange(4), rng.randrange(2)),
    "significant": lambda rng: (rng.choice((1, -1)) * _number(rng), rng.randrange(1, 7)),
    "brief": lambda rng: (rng.choice((1, -1)) * _number(rng), rng.randrange(1, 7)),
    "multiple": lambda rng: (_count(rng), 1 + _count(rng)),
    "share": _share,
    "signed_count": lambda rng: (rng.choice((1, -1)) * _count(rng), "±0"),
    "size": lambda rng: (_count(rng),),
    "scaled": lambda rng: (_number(rng), "FLOPs"),
    "compact": lambda rng: (_number(rng),),
    "ems": lambda rng: (_text(rng),),
    "first_fitting": lambda rng: (tuple((_text(rng), _text(rng)) for _pair in range(3)), 20 * rng.random()),
    "room_beside": lambda rng: (_count(rng), _count(rng), 16.8, 28.0),
    "widest": lambda rng: (tuple(_text(rng) for _one in range(3)),),
    "span": _two,
    "halfway": _two,
    "room_for_label": lambda rng: (-_count(rng), _count(rng), 40 * rng.random(), 40.0, 0.8),
    "text_inside": lambda rng: (_text(rng), _count(rng), _count(rng)),
    "part_of_column": lambda rng: (rng.randrange(4), *sorted(_two(rng)), 0.42),
    "place_in_order": lambda rng: (
        tuple(rng.randrange(5) for _one in range(6)),
        rng.randrange(6),
        rng.random() < 0.5,
    ),
    "in_lines": lambda rng: (
        rng.choice(" 、").join(_text(rng) * rng.randrange(1, 3) for _one in range(6)),
        rng.randrange(5, 40),
    ),
    "signed_share": lambda rng: (rng.choice((1, -1)) * _exact(rng), 1 + _count(rng)),
    "counted_words": lambda rng: (("{count} more", "{count} mores", "{count} fewer", "{count} fewers"), *_two(rng)),
    "round_figure": lambda rng: (_count(rng),),
    "widened": _two,
    "growth_words": lambda rng: (_growth(rng), WITH, STAYS, MOSTLY, FOLLOWS),
    "quotient": lambda rng: (_count(rng), 1 + _count(rng)),
    "nearest": lambda rng: (rng.choice((1, -1)) * _exact(rng),),
    # Also values near the thresholds at which the unit changes.
    "duration": lambda rng: (rng.choice((_exact(rng), *(unit * rng.randrange(90, 130) for unit in (1, 60, 3600)))),),
    "decimal": lambda rng: (_exact(rng), 1),
    "on_paper": lambda rng: (_exact(rng),),
    "difference_sentence": lambda rng: (tuple(_sentence_part(rng) for _part in range(rng.randrange(6))), _MESSAGES),
    "rounded_up": lambda rng: (_count(rng), 1 + _count(rng)),
    "place_of_largest": lambda rng: (tuple(rng.randrange(4) for _figure in range(1 + rng.randrange(5))),),
    "unbroken": lambda rng: (_text(rng),),
    "either": lambda rng: (*_two(rng), _text(rng), _text(rng)),
    "text_at": lambda rng: (tuple(_text(rng) for _part in range(3)), rng.randrange(3)),
    "inside": lambda rng: (_count(rng), *sorted(_two(rng))),
    "within": lambda rng: (_text(rng), _bounds(rng)),
    "most_fitting": lambda rng: (
        tuple(_polynomial(rng) for _line in range(1 + rng.randrange(4))),
        _count(rng),
        rng.choice((None, 1 + _count(rng))),
    ),
    "counted_or": lambda rng: (rng.choice((-1, _count(rng))), "any", "none"),
}


def _bounds(rng: random.Random) -> tuple[FigureBound, ...]:
    figures = [_count(rng) for _figure in range(rng.randrange(4))]
    return tuple(FigureBound(n, n - rng.randrange(2), rng.choice((None, n, n + 1))) for n in figures)


def _polynomial(rng: random.Random) -> Polynomial:
    coefficients = [rng.choice((0, _count(rng))) for _power in range(3)]
    start = rng.choice((2, 2, 3 + rng.randrange(600)))
    constant, linear, square = coefficients
    first, end = rng.randrange(1 + sum(coefficients)), rng.choice((None, start + 500))
    return Polynomial(first, constant, linear, square, start, end)


@pytest.mark.parametrize("name", list(MIRRORED))
def test_a_mirrored_function_is_the_same_in_the_browser(page: Page, name: str) -> None:
    rng = random.Random(name)
    calls = [ARGUMENTS[name](rng) for _call in range(400)]
    argument = LiveProgram().add
    operations = [[name, *map(argument, call)] for call in calls]
    wanted = [[at] for at in range(len(calls))]
    assert computed(page, operations, {}, wanted) == [plain(MIRRORED[name](*call)) for call in calls]


def test_what_has_no_value_is_nothing_and_takes_no_time(page: Page) -> None:
    operations = [
        ["field", "batch_size"],  # a size that the page does not send
        ["*", [0], 2],
        ["grouped", [1]],
        ["/", 1, 0],
        ["fixed", ["f", 0.5], 1, 0],
        ["unless_same", 3, 3],
        ["+", [5], 1],  # not a number
        ["share", [5], 7, 1],
    ]
    wanted = [[at] for at in range(len(operations))]
    assert computed(page, operations, {}, wanted) == [None, None, None, None, "0.5", "nan", None, None]


def test_the_live_numbers_of_a_model_are_those_of_any_other_of_its_structure(page: Page) -> None:
    rng = random.Random(42)
    for _model in range(60):
        first, second = alike_models(rng)
        sizes = {field: value for field, value in second.config.shared().items() if type(value) is int}
        program = LiveProgram()
        live_counts: dict[str, int] = {
            "total": live_reading(Model.num_parameters, first),
            **{str(name): count for name, count in live_reading(totals_by_component, first).items()},
            **{str(at): bar.parameters for at, bar in enumerate(live_reading(breakdown, first))},
        }
        expected: dict[str, int] = {
            "total": second.num_parameters(),
            **{str(name): count for name, count in totals_by_component(second).items()},
            **{str(at): bar.parameters for at, bar in enumerate(breakdown(second))},
        }
        assert {name: evaluated(node_of(value), sizes) for name, value in live_counts.items()} == expected
        wanted = [program.add(value) for value in live_counts.values()]
        assert computed(page, program.operations, sizes, wanted) == [str(value) for value in expected.values()]
        for before, after in zip(piece_growths(first, first), piece_growths(first, second), strict=True):
            moved_to = evaluated(node_of(before), sizes)
            assert FigureGrowth(moved_to[0], moved_to[1]).factor == FigureGrowth(after.before, after.after).factor
        json.dumps(program.operations)


def test_a_value_outside_of_its_bounds_is_none_in_the_browser(page: Page) -> None:
    with pytest.raises(OutsideError):
        within(7, (FigureBound(3, 4),))
    size = live(3, LiveNode("field", ("num_hidden_layers",)))
    program = LiveProgram()
    value = fill("{count:,} bytes", count=within(7 * size, (FigureBound(size, 2, 5),)))
    wanted = [program.add(value), program.add(size)]
    for layers, text in ((3, "21 bytes"), (5, "35 bytes"), (6, None), (1, None)):
        assert computed(page, program.operations, {"num_hidden_layers": layers}, wanted) == [text, str(layers)]


def _moved_from(rng: random.Random, config: Config, fields: int) -> Config:
    for field in rng.sample(list(SLIDERS), fields):
        if config.has(field):
            config = moved(config, field, rng.choice(stops(config, field)))
    return config


def _models_with_memory(rng: random.Random) -> tuple[Model, Plan | Inference, int, int, list[Model]]:
    """Return a random model, a plan, its batch, and models of the same structure.

    The batch is the batch size and the sequence length. The other models are a few slider moves away.
    """
    while True:
        family = rng.choice([*{family.name: family for family in CLASSES.values() if family.peaks}.values()])
        architecture = rng.choice([cls.name for cls in family.classes])
        config = _moved_from(rng, PRESETS[rng.choice(list(family.presets))].config, rng.randrange(3))
        freezing = Freezing(rng.random() < 0.3, rng.choice((0, 0, 0, 2)))
        attention = rng.choice(ATTENTIONS)
        trained = Plan(
            rng.choice(list(PRECISIONS)),
            rng.choice(list(OPTIMIZERS)),
            attention,
            recompute=rng.choice(("none", "selective", "full")),
            freezing=freezing,
        )
        how: Plan | Inference = rng.choice((trained, trained, Inference("bfloat16", attention)))
        batch = rng.choice((1, 8)), rng.choice((1, 128, 512))
        model = build(config, architecture)
        others = [build(_moved_from(rng, config, rng.randrange(1, 4)), architecture) for _other in range(6)]
        try:
            for one in (model, *others):
                peak(one, how, *batch)
        except InputError:
            continue
        alike = [other for other in others if symbolic_model(other) is symbolic_model(model)]
        if alike:
            return model, how, *batch, alike


def test_the_live_memory_of_a_model_is_that_of_any_other_of_its_structure(page: Page) -> None:
    rng, compared = random.Random(42), 0
    for _model in range(8):
        model, how, *batch, others = _models_with_memory(rng)
        device = rng.choice((8, 80)) * 2**30
        field, positions = "batch_size", most_sequences(model)
        fits = live_growths(model, how, field, *batch).most_fitting(device, positions)
        live_values: list[Any] = [live_peak(model, how, *batch).num_bytes, *fits]
        if isinstance(how, Plan):
            live_values.append(live_steady_bytes(model, how))
            if not PRECISIONS[how.precision].autocast:
                live_values.append(sum(live_modules(model, how, *batch).values()))
        program = LiveProgram()
        wanted = [program.add(value) for value in live_values]
        for other in others:
            largest = most(growths(other, how, field, *batch), device, positions)
            number = -1 if largest.number is None else largest.number
            expected = [peak(other, how, *batch).num_bytes, number, LIMITS.index(largest.limit)]
            if isinstance(how, Plan):
                expected.append(steady_bytes(other, how))
                if not PRECISIONS[how.precision].autocast:
                    expected.append(sum(by_module(kept(other, how, *batch)).values()))
            sizes = {name: value for name, value in other.config.shared().items() if type(value) is int}
            sizes |= dict(zip(("batch_size", "sequence_length"), batch, strict=True))
            for value, text in zip(expected, computed(page, program.operations, sizes, wanted), strict=True):
                assert text in (str(value), None)
                compared += text is not None
    assert compared > 60


@pytest.mark.parametrize(
    "changes",
    [
        "vocabulary,new_num_tokens=20000,pad_to_multiple_of=64;feed_forward,intermediate_size=1000;lora,r=4",
        "embeddings,embedding_size=100;heads,heads=3;prefix_tuning,task_type=SEQ_CLS",
        "bitsandbytes,load_in_8bit=true;lora,r=16,target_modules=all-linear,task_type=SEQ_CLS",
    ],
)
def test_the_live_figures_of_a_changed_model_are_those_of_any_other(page: Page, changes: str) -> None:
    rng, batch, plan = random.Random(changes), Batch(2, 64), Plan()
    architecture = "BertForSequenceClassification"
    steps = read_steps(changes)
    models, _problem = changed_models(build("bert-base-uncased", architecture), steps)
    program, figures = LiveProgram(), ("parameters", "trained", "memory_bytes", "flops", "peak")
    wanted = [program.add(getattr(live_effect(models[-1], batch, plan), figure)) for figure in figures]
    compared = 0
    for _other in range(8):
        config = _moved_from(rng, PRESETS["bert-base-uncased"].config, rng.randrange(3))
        others = [
            replace(step, **{name: rng.randrange(1, 200) for name in step.letters})  # type: ignore[type-var]
            if isinstance(step, Change)
            else step
            for step in steps
        ]
        after, _problem = changed_models(build(config, architecture), others)
        if len(after) < len(models):
            continue
        sizes = sizes_of(after[-1].model, **argument_sizes(after[-1].model), **batch.sizes())
        expected = effect(after[-1], batch, plan)
        for figure, text in zip(figures, computed(page, program.operations, sizes, wanted), strict=True):
            assert text in (plain(getattr(expected, figure)), None)
            compared += text is not None
    assert compared > 12


@pytest.mark.parametrize("name", [("gpt2", "GPT2LMHeadModel"), ("llama", "LlamaForCausalLM"), ("t5", "T5Model")])
def test_a_discovered_formula_is_the_same_in_the_browser(page: Page, name: tuple[str, str]) -> None:
    discovery = shipped(*name)
    assert discovery
    rng = random.Random(7)
    live_total = live_count(discovery.tensors, discovery.fields)
    program = LiveProgram()
    wanted = [program.add(live_total)]
    for field in discovery.fields:
        places = size_steps.stops(discovery, field, {})
        sizes = {**discovery.fields, **size_steps.move_field(discovery, field, rng.choice(places), {})}
        count = discovery.count(**{name: size for name, size in sizes.items() if size != discovery.fields[name]})
        assert computed(page, program.operations, sizes, wanted) == [str(count)]
