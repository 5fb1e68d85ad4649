"""The browser computes what Python computes: every mirrored function, and the live numbers of models at other sizes."""

import json
import random
from collections.abc import Callable
from fractions import Fraction
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

import pages.ui.session.scale
import pages.ui.widgets.bars  # noqa: F401  # both register what they mirror
from bertcalc.explore.factor_formulas import FOLLOWS, FigureGrowth, SizeGrowth, TermGrowth, piece_growths
from bertcalc.live.live_formulas import live_reading
from bertcalc.live.live_program import LiveProgram
from bertcalc.model.model import Model
from bertcalc.model.totals import breakdown, totals_by_component
from bertcalc.text.live_numbers import MIRRORED, evaluated, node_of
from pages.ui.parameters.answer import SentencePart
from tests.alike import alike_models

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


def computed(page: Page, program: LiveProgram, sizes: dict[str, int], wanted: list[Any]) -> list[Any]:
    values: list[Any] = page.evaluate(_RUN, [RUNTIME, program.operations, sizes, wanted])
    return values


def plain(value: Any) -> Any:
    """A value as the browser hands it out: integers and fractions as texts."""
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
            Fraction(5 * rng.randrange(10**6), 10 ** rng.randrange(9)),  # ties
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


_TEXTS = ("", "109,482,240", "21.8 %", "× 2.00: L·H²", "词嵌入", "Attention (layers)")


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
    "if_same": lambda rng: (*_two(rng), _text(rng)),
    "if_between": lambda rng: (
        (*sorted([_number(rng), _count(rng), _number(rng)]), "yes", "no")
        if rng.random() < 0.5
        else (_number(rng), _count(rng), _number(rng), "yes", "no")
    ),
    "if_other": lambda rng: (*_two(rng), _text(rng)),
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
    "in_lines": lambda rng: (" ".join(_text(rng) * rng.randrange(1, 3) for _one in range(6)), rng.randrange(5, 40)),
    "signed_share": lambda rng: (rng.choice((1, -1)) * _exact(rng), 1 + _count(rng)),
    "counted_words": lambda rng: (("{count} more", "{count} mores", "{count} fewer", "{count} fewers"), *_two(rng)),
    "round_figure": lambda rng: (_count(rng),),
    "widened": _two,
    "growth_words": lambda rng: (_growth(rng), "{times}: {reason}", "{letter} stays", "mostly {letters}", FOLLOWS),
    "quotient": lambda rng: (_count(rng), 1 + _count(rng)),
    "nearest": lambda rng: (rng.choice((1, -1)) * _exact(rng),),
    "duration": lambda rng: (_exact(rng),),
    "decimal": lambda rng: (_exact(rng), 1),
    "on_paper": lambda rng: (_exact(rng),),
    "change_words": lambda rng: (tuple(_sentence_part(rng) for _part in range(rng.randrange(6))), _MESSAGES),
}


@pytest.mark.parametrize("name", list(MIRRORED))
def test_a_mirrored_function_is_the_same_in_the_browser(page: Page, name: str) -> None:
    rng = random.Random(name)
    calls = [ARGUMENTS[name](rng) for _call in range(400)]
    program = LiveProgram()
    for call in calls:
        program.operations.append([name, *map(program.add, call)])
    wanted = [[at] for at in range(len(calls))]
    assert computed(page, program, {}, wanted) == [plain(MIRRORED[name](*call)) for call in calls]


def test_what_has_no_value_is_nothing_and_takes_no_time(page: Page) -> None:
    program = LiveProgram()
    program.operations += [
        ["field", "batch_size"],  # a size that the page does not say
        ["*", [0], 2],
        ["grouped", [1]],
        ["/", 1, 0],
        ["fixed", ["f", 0.5], 1, 0],
        ["unless_same", 3, 3],
        ["+", [5], 1],  # not a number
        ["share", [5], 7, 1],
    ]
    wanted = [[at] for at in range(len(program.operations))]
    assert computed(page, program, {}, wanted) == [None, None, None, None, "0.5", "nan", None, None]


def test_the_live_numbers_of_a_model_are_those_of_any_other_of_its_structure(page: Page) -> None:
    rng = random.Random(42)
    for _model in range(60):
        first, second = alike_models(rng)
        sizes = {field: value for field, value in second.config.shared().items() if type(value) is int}
        program = LiveProgram()
        live: dict[str, int] = {
            "total": live_reading(Model.num_parameters, first),
            **{str(name): count for name, count in live_reading(totals_by_component, first).items()},
            **{str(at): bar.parameters for at, bar in enumerate(live_reading(breakdown, first))},
        }
        expected: dict[str, int] = {
            "total": second.num_parameters(),
            **{str(name): count for name, count in totals_by_component(second).items()},
            **{str(at): bar.parameters for at, bar in enumerate(breakdown(second))},
        }
        assert {name: evaluated(node_of(value), sizes) for name, value in live.items()} == expected
        wanted = [program.add(value) for value in live.values()]
        assert computed(page, program, sizes, wanted) == [str(value) for value in expected.values()]
        for before, after in zip(piece_growths(first, first), piece_growths(first, second), strict=True):
            moved_to = evaluated(node_of(before), sizes)
            assert FigureGrowth(moved_to[0], moved_to[1]).factor == FigureGrowth(after.before, after.after).factor
        json.dumps(program.operations)
