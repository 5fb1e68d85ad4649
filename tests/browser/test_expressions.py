"""Expressions of charts, evaluated without building functions from text, give Vega's results."""

from pathlib import Path

from playwright.sync_api import Browser

from bertcalc.charts.vega import vega_script

CHART = Path(__file__).parents[2] / "pages" / "ui" / "widgets" / "live_chart"
EXPRESSIONS = (
    "1 + 2 * 3 - 4 / 8 % 5",
    "-size + +'3'",
    "!size || size > 3 && size <= 7 ? 'many' : 'few'",
    "size == '5' && size !== '5' && size != 4 && size === 5 && size >= 5 && size < 6",
    "[size, 'a', PI, E]",
    "{size: size, 'b c': [1]}",
    "row.cells[1] + length(row.cells)",
    "row['name']",
    "if(size > 3, 'more', 'less')",
    "isValid(row.none) ? 1 : 2",
    "isNaN(NaN) && isFinite(size)",
    "max(size, 7, 2) + min(size, 7) + abs(-2) + floor(2.5) + ceil(2.5) + round(2.5)",
    "pow(2, 10) + sqrt(81) + exp(0) + log(1) + clamp(size, 0, 3)",
    "join([1, 2], '-') + indexof([4, 5], 5) + slice('abcdef', 1, 3)",
    "upper('a') + lower('B') + trim(' c ') + substring('defg', 1, 3) + replace('hi', regexp('i'), 'o')",
    "split('a,b', ',')",
    "test(/^b/, 'bert') && test(regexp('^B', 'i'), 'bert')",
    "format(12345.678, ',.1f')",
    "scale('x', 2)",
)
_VALUES = """([expressions, isOwn]) => {
  const spec = {
    width: 100, height: 100,
    data: [{ name: "rows", values: [{ a: 1, b: 4 }, { a: 5, b: 2 }] }],
    scales: [{ name: "x", type: "linear", domain: [0, 10], range: [0, 100] }],
    signals: [
      { name: "size", value: 5 },
      { name: "row", value: { name: "bert", cells: [3, 4] } },
      ...expressions.map((update, at) => ({ name: `s${at}`, update })),
    ],
    marks: [
      { type: "rect", from: { data: "rows" }, encode: { update: {
        x: { signal: "scale('x', datum.b)" }, x2: { signal: "scale('x', datum.a)" },
        yc: { signal: "datum.a + datum.b" }, height: { signal: "item.datum.a * size" },
        fill: { signal: "datum.a > 2 ? 'red' : 'blue'" },
      } } },
      { type: "rule", from: { data: "rows" }, encode: { update: { x: { field: "b" }, x2: { field: "a" } } } },
    ],
  };
  const view = new vega.View(vega.parse(spec, {}, { ast: isOwn }), isOwn ? { expr: EXPRESSIONS } : {});
  view.initialize(document.createElement("div")).run();
  return [expressions.map((_text, at) => view.signal(`s${at}`)), view.scenegraph().toJSON()];
}"""


def test_each_value_is_that_of_vega(browser: Browser) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.add_script_tag(content=vega_script())
        page.add_script_tag(content=(CHART / "expressions.js").read_text(encoding="utf-8"))
        own, vegas = (page.evaluate(_VALUES, [EXPRESSIONS, is_own]) for is_own in (True, False))
        assert dict(zip(EXPRESSIONS, own[0], strict=True)) == dict(zip(EXPRESSIONS, vegas[0], strict=True))
        assert own[1] == vegas[1]


def test_no_expression_makes_a_function_of_a_text(browser: Browser) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.add_script_tag(content=vega_script())
        page.add_script_tag(content=(CHART / "expressions.js").read_text(encoding="utf-8"))
        [[value], _scene] = page.evaluate(_VALUES, [["row.constructor"], True])
        assert value is None
