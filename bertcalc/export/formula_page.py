"""Export a model as one HTML file: sliders, formula and bars work offline, for any number of readers.

>>> from bertcalc import BertConfig, build
>>> page = interactive_page(build(BertConfig()), {"embeddings": "#0072b2", "encoder": "#b34700", "pooler": "#007556"})
>>> "bertcalc" in page, "https" in page  # it makes no network requests
(True, False)
"""

import json
import re
from base64 import b64encode
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import bertcalc.live
from bertcalc.config.fields import EVERY_LETTER, is_int
from bertcalc.controls.stops import SLIDERS, WORDS, alike, followers, moved, stops
from bertcalc.export.snippet import fields_sentence
from bertcalc.live.live_formulas import live_reading, live_sizes
from bertcalc.live.live_program import LiveProgram
from bertcalc.model.change import CHANGE_SIZES
from bertcalc.model.formula import symbolic_model
from bertcalc.model.letters import COUNTED, FIELD_OF, LETTER, filled
from bertcalc.model.model import Model
from bertcalc.model.names import PART_NAMES, norm_kind
from bertcalc.model.terms import component_terms
from bertcalc.model.totals import Component, breakdown
from bertcalc.text import N_, Translate
from bertcalc.text.digits import multiple, share, signed_count
from bertcalc.text.live_choices import either, largest, widened
from bertcalc.text.live_numbers import at_sizes, between, fill, grouped, joined
from bertcalc.text.problem import InputError

_TITLE = N_("Parameters in {architecture}")
START = N_("The sliders start from {name}: {fields}")
_NO_SLIDER = N_("Without a slider: {letters}")
_FOOTER = N_("Made with {link}.")
_REMARK = N_("The marks show the model that the sliders started from.")


class PageBar(NamedTuple):
    """A bar of the page; ``parameters`` is a live number."""

    name: str
    color: str
    parameters: int


class View(NamedTuple):
    """The contents of the page: live texts and numbers, and the sliders that change them.

    - ``sizes``: the value of each field at the start.
    - ``sliders``: the field, label and stops of each slider, and the other sizes that change at each stop.
    - ``letters``: the formula with letters.
    - ``numbers``: the same formula with numbers.
    - ``legend``: value and meaning of each letter without a slider.
    """

    sizes: Mapping[str, int]
    sliders: Sequence[Mapping[str, Any]]
    total: int
    letters: str
    numbers: str
    legend: Sequence[str]
    bars: Sequence[PageBar]


def interactive_page(
    model: Model,
    colors: Mapping[Component, str],
    *,
    start: str = "",
    url: str = "",
    language: str = "en",
    _: Translate = str,
) -> str:
    """One HTML file with the model's sliders, total, formula and bars.

    Args:
        model: The model at which the sliders begin.
        colors: The color of each component.
        start: The model in words, such as "BertModel of bert-base-uncased"; by default, the name of the class.
        url: The address of the model in the app, for the link back; "" for none.
        language: The language of ``_``, which translates the page's texts.
    """
    name = ", ".join(map(str, (model.architecture, *model.changes)))
    start = _(START).format(name=start or model.architecture, fields=fields_sentence(model))
    return page_of(name, view_content(model, colors, _), start=start, url=url, language=language, _=_)


def page_of(name: str, content: Mapping[str, Any], *, start: str, url: str, language: str, _: Translate) -> str:
    """The HTML file that draws ``content``, with the model's ``name`` in the title and ``start`` below it.

    The other arguments are as in ``interactive_page``.
    """
    data = json.dumps(content).replace("</", "<\\/")
    script = f'\n{view_script()}\nnew FormulaView(document.querySelector("main"), {data});\n'
    link = f'<a href="{escape(url)}">bertcalc</a>' if url else "bertcalc"
    return _template().substitute(
        language=language,
        title=escape(_(_TITLE).format(architecture=name)),
        start=escape(start),
        style=view_style(),
        footer=escape(_(_FOOTER)).format(link=link),
        hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        script=script,
    )


def view_content(model: Model, colors: Mapping[Component, str], _: Translate = str) -> dict[str, Any]:
    """The data that ``FormulaView`` (formula_view.js) draws for a model; ``colors`` is as in ``interactive_page``."""
    fixed = _letters_of_changes(model)  # the values that no slider changes
    total = at_sizes(live_reading(Model.num_parameters, model), fixed)
    norm = norm_kind(model)
    bars = [
        PageBar(
            _(PART_NAMES[bar.component, bar.name]).replace("LayerNorm", norm),
            colors[bar.component],
            at_sizes(bar.parameters, fixed),
        )
        for bar in live_reading(breakdown, model)
    ]
    sizes = {field: value for field, value in model.config.shared().items() if is_int(value)}
    sliders = [slider for field in SLIDERS if len((slider := _slider(model, field, _))["stops"]) > 1]
    letters, numbers = _formula(model)
    legend = [*_legend(model, letters, {slider["field"] for slider in sliders}, _)]
    return content_of(View(sizes, sliders, total, letters, numbers, legend, bars), _)


def content_of(view: View, _: Translate = str) -> dict[str, Any]:
    """The data that ``FormulaView`` draws.

    ``operations`` is a program; most other entries refer to results of this program.
    """
    program = LiveProgram()
    total, start = view.total, int(view.total)
    factor = fill("× {times}", times=multiple(total, start))
    change = either(total, start, "", joined(" · ", (signed_count(total - start), factor)))
    legend = fill(_(_NO_SLIDER), letters=between(" · ", view.legend)) if view.legend else ""
    lines = (f"N = {view.letters}", fill("= {numbers}", numbers=view.numbers), fill("= {total:,}", total=total))
    highest = largest([bar.parameters for bar in view.bars])
    return {
        "sizes": dict(view.sizes),
        "sliders": list(view.sliders),
        "total": program.add(grouped(total)),
        "change": program.add(change),
        "formula": [program.add(line) for line in lines],
        "legend": program.add(legend),
        "limit": program.add(widened(int(highest) * 5 // 4, highest)),
        "bars": [
            {
                "name": bar.name,
                "color": bar.color,
                "before": int(bar.parameters),
                "figure": program.add(bar.parameters),
                "label": program.add(_label(bar.parameters, total, _)),
            }
            for bar in view.bars
        ],
        "parts": _("Parts"),
        "remark": _(_REMARK),
        "operations": program.operations,
    }


def _slider(model: Model, field: str, _: Translate) -> dict[str, Any]:
    """A slider: the stops at which the formula is valid, and the other sizes that change at each stop.

    A slider for the heads has no stops: on this page, their number changes only with the hidden size.
    """
    config = model.config
    is_moved = config.has(field) and field != "num_attention_heads"
    possible = [stop for stop in stops(config, field) if _holds(model, field, stop)] if is_moved else []
    return {
        "field": field,
        "label": f"{_(WORDS[field])} {EVERY_LETTER[field]}",
        "stops": possible,
        "followers": [followers(config, field, stop) for stop in possible],
    }


def _holds(model: Model, field: str, stop: int) -> bool:
    """Whether the formula is valid at a stop: the model's changes are possible there, with the same numbers."""
    config = model.config
    if not alike(config, field, stop):
        return False
    if not model.changes:
        return True
    try:
        there = model.changed(moved(config, field, stop))
    except InputError:
        return False
    by_same_numbers = _letters_of_changes(there) == _letters_of_changes(model)
    return by_same_numbers and symbolic_model(there) == symbolic_model(model)


def _letters_of_changes(model: Model) -> dict[str, Any]:
    """The values of the letters that only the changes of a model have."""
    sizes = model.config.shared()
    return {field: value for field, value in model.letter_values().items() if field not in sizes}


def _formula(model: Model) -> tuple[str, str]:
    texts = [bracket.text for _component, brackets in component_terms(model) for bracket in brackets]
    sizes = {**_letters_of_changes(model), **live_sizes(model.config)}
    return " + ".join(texts), between(" + ", (filled(text, sizes) for text in texts))


def _legend(model: Model, formula: str, moved_fields: Container[str], _: Translate) -> Iterator[str]:
    """Yield the value and the meaning of each letter of the formula that has no slider."""
    sizes = _letters_of_changes(model) | live_sizes(model.config)
    for letter in dict.fromkeys(re.findall(LETTER, formula)):
        field = FIELD_OF[letter]
        if field not in moved_fields:
            counted = _(COUNTED[field]) if field in COUNTED else f"{{value}} {_(CHANGE_SIZES[field].meaning)}"
            yield fill("{letter} {counted}", letter=letter, counted=fill(counted, value=grouped(sizes[field])))


def _label(count: int, total: int, _: Translate) -> str:
    part = fill(_("{figure} %"), figure=share(count, total))
    return fill("{count:,} · {part}", count=count, part=part)


@cache
def view_script() -> str:
    """The script of ``FormulaView``, with the runtime that computes its program."""
    runtime = Path(bertcalc.live.__file__).with_name("runtime.js")
    return "\n".join(path.read_text(encoding="utf-8") for path in (runtime, _beside("formula_view.js")))


@cache
def view_style() -> str:
    """The style of ``FormulaView``."""
    return _beside("formula_view.css").read_text(encoding="utf-8")


def _beside(name: str) -> Path:
    return Path(__file__).with_name(name)


@cache
def _template() -> Template:
    return Template(_beside("formula_page.html").read_text(encoding="utf-8"))
