"""The interactive page of a discovered class: one HTML file with sliders, the formula and bars."""

from collections.abc import Mapping
from typing import Any

from bertcalc.discover.results.components import NAMES, components, groups, live_count
from bertcalc.discover.results.expressions import group_text, letters, names
from bertcalc.discover.results.expressions import value as number_of
from bertcalc.discover.results.result import Discovered
from bertcalc.discover.results.size_steps import is_doubtful, move_field, ranked, stops
from bertcalc.export.formula_page import START, PageBar, View, content_of, page_of
from bertcalc.live.live_formulas import live_size, with_formula
from bertcalc.model.totals import Component
from bertcalc.text import Translate
from bertcalc.text.live_numbers import between, fill

_MOST = 5  # maximum number of sliders


def discovered_page(
    discovery: Discovered,
    sizes: Mapping[str, int],
    colors: Mapping[Component, str],
    *,
    url: str = "",
    language: str = "en",
    _: Translate = str,
) -> str:
    """Return one HTML file with the sliders, the total, the formula and the bars of a class.

    Args:
        discovery: The class and its formula.
        sizes: The initial sizes of the sliders, where they differ from the discovery's.
        colors: The color of each component.
        url: The address of the model in the app, for the link back; "" for no link.
        language: The language of ``_``, which translates the page's texts.
    """
    content = content_of(discovered_view(discovery, sizes, colors, _), _)
    fields = ", ".join(f"{field} {size:,}" for field, size in content["sizes"].items())
    start = _(START).format(name=discovery.cls, fields=f"{fields}.")
    return page_of(discovery.cls, content, start=start, url=url, language=language, _=_)


def discovered_view(
    discovery: Discovered, sizes: Mapping[str, int], colors: Mapping[Component, str], _: Translate = str
) -> View:
    """Return the content of the page; ``discovered_page`` describes the arguments.

    Sliders are independent: every stop of a slider is valid at all stops of the others.
    """
    values = {**discovery.fields, **discovery.whole(**sizes)}
    letter = letters(discovery)
    by_component = components(discovery)
    grouped = [group for tensors in by_component.values() for group in groups(tensors, discovery.fields)]

    def live(expression: Any) -> int:
        number: int = with_formula(number_of(expression, values), expression, values)
        return number

    def in_numbers(copies: Any, elements: Any) -> str:
        if copies == 1:
            return fill("{elements:,}", elements=live(elements))
        return fill("{copies:,} · {elements:,}", copies=live(copies), elements=live(elements))

    label = names(discovery)
    used = {name.name for tensor in discovery.tensors for name in tensor.expression.free_symbols}
    with_slider = independent_fields(discovery)
    return View(
        values,
        [
            {"field": field, "label": f"{label[field]} {letter[field]}", **_stops(discovery, field, sizes)}
            for field in with_slider
        ],
        live_count(discovery.tensors, values),
        " + ".join(group_text(group, letter) for group in grouped),
        between(" + ", [in_numbers(group.copies, group.elements) for group in grouped]),
        [
            fill(f"{letter[field]} {label[field]} {{size:,}}", size=live_size(field, values[field]))
            for field in discovery.fields
            if field in used and field not in with_slider
        ],
        [PageBar(_(NAMES[kind]), colors[kind], live_count(tensors, values)) for kind, tensors in by_component.items()],
    )


def independent_fields(discovery: Discovered) -> list[str]:
    """Return the fields with the largest effect on the parameters that can change independently, at most five.

    No condition, difference or quotient contains two of these fields.
    """
    tensors = discovery.tensors
    doubtful = [part for tensor in tensors for part in (tensor.copies, *tensor.shape) if is_doubtful(part)]
    joined = [
        *(condition.fields() for condition in discovery.regime),
        *({name.name for name in expression.free_symbols} for expression in doubtful),
    ]
    chosen: dict[str, set[str]] = {}
    for field in ranked(discovery):
        followers = {other for other, (leader, _factor) in discovery.follows.items() if leader == field}
        moved = {field, *followers}
        is_free = all(not (moved & fields and other & fields) for fields in joined for other in chosen.values())
        if is_free and len(chosen) < _MOST:
            chosen[field] = moved
    return [field for field in discovery.fields if field in chosen]


def _stops(discovery: Discovered, field: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    before = {**discovery.fields, **discovery.whole(**sizes)}
    possible = stops(discovery, field, sizes)
    moved = [move_field(discovery, field, stop, sizes) for stop in possible]
    followers = [
        {other: size for other, size in there.items() if other != field and size != before[other]} for there in moved
    ]
    return {"stops": possible, "followers": followers}
