"""Tables that several pages show: tensors, checks, counts, modules, inputs and outputs, and config fields."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any

import streamlit as st

from bertcalc import Config, Module
from bertcalc.charts.columns import Columns
from bertcalc.charts.labels import text_width
from bertcalc.config import allowed
from bertcalc.config.fields import EVERY_LETTER, field_named
from bertcalc.explore.field_effects import Effect
from bertcalc.export.table import TableOrChart
from bertcalc.families.published import PublishedCount
from bertcalc.forward.outputs import Entry
from bertcalc.live.live_formulas import live_sizes
from bertcalc.model.difference import ModuleChange
from bertcalc.model.formula import count_formulas, shape_letters, tensor_formulas
from bertcalc.model.formula_latex import count_in_numbers
from bertcalc.model.inventory import inventory, named
from bertcalc.model.model import Model
from bertcalc.model.modules import Shape
from bertcalc.model.totals import Component
from bertcalc.proof.output_proof import ComparedOutput, Returned
from bertcalc.proof.real_model import RealRun
from bertcalc.proof.tensor_proof import Check, Difference
from bertcalc.text import N_, written
from bertcalc.text.digits import fixed, signed_count, size
from bertcalc.text.live_numbers import between, fill, grouped, is_live
from pages.ui.shell import live
from pages.ui.shell.controls import Fold, Switch
from pages.ui.shell.i18n import _, in_a_row, with_colon
from pages.ui.shell.present import presenting
from pages.ui.widgets.export.shown import draw_frame, note, shown_elements
from pages.ui.widgets.numbers import percent, unbroken
from pages.ui.widgets.text_table import draw_text_table

TENSORS = Fold("tensors", N_("Tensors: name, shape, formula, count, share"))
UNFOLD = Switch("unfold", N_("Unfold the layers"))
_LAYER = re.compile(r"\.[0-9]+\.")
_SHORT = 22  # the number of characters that take up half of a phone's width
_LONG = 3 * _SHORT
_FEW, _NUMBER = 4, 14  # number of columns that fit on a phone, and the maximum length of their cells


def show_tensors(model: Model) -> None:
    """Show every tensor with its shape, formula, parameter count and share.

    The tensors of repeated layers are shown once, or for every layer if the reader switches on ``UNFOLD``.
    """
    draw_tensors(
        _tensor_columns(model, unfolded=UNFOLD.show()),
        name=st.column_config.TextColumn(_("Name"), width="large"),
        share=st.column_config.NumberColumn(_("Share"), format="%.3g %%"),
    )


def draw_tensors(columns: Columns, **looks: Any) -> None:
    """Draw a table of tensors. Its columns are texts, except copies and parameters; ``looks`` replaces their look."""
    titles = tensor_titles()
    texts = {name: st.column_config.TextColumn(titles[name]) for name in columns}
    numbers = {
        "copies": st.column_config.NumberColumn(titles["copies"], format="%d ×"),
        "parameters": st.column_config.NumberColumn(titles["parameters"], format="%,d"),
    }
    rows, total = len(columns["name"]), sum(columns["parameters"])
    st.caption(_("{rows:,} rows, {total:,} parameters").format(rows=rows, total=total))
    draw_frame(columns, column_config=texts | numbers | looks, alt=_("The tensors of the model"))


def tensor_titles() -> dict[str, str]:
    """The titles of the columns that a table of tensors can have, keyed by column."""
    return {
        "name": _("Name"),
        "copies": _("Copies"),
        "fields": _("Symbolic shape"),
        "shape": _("Shape"),
        "formula": _("Formula"),
        "parameters": _("Parameters"),
        "share": _("Share"),
    }


def _tensor_columns(model: Model, *, unfolded: bool) -> Columns:
    """The columns of the tensor table. The column "parameters" sums to the model's parameter count."""
    formulas = tensor_formulas(model, copies=not unfolded)
    of_name = {tensor.name: formula for tensor, formula in zip(model.tensors(), formulas, strict=True)}
    tensors = list(model.tensors(folded=not unfolded))
    parameters = [tensor.num_parameters() for tensor in tensors]
    total = sum(parameters)
    return {
        "name": [tensor.name for tensor in tensors],
        "copies": [tensor.copies for tensor in tensors],
        "shape": [shape_text(tensor.shape) for tensor in tensors],
        "formula": [of_name.get(tensor.name) or of_name[_LAYER.sub(".*.", tensor.name)] for tensor in tensors],
        "parameters": parameters,
        "share": [100 * count / total for count in parameters],
    }


def show_checks(checks: Sequence[Check]) -> None:
    """Show each check as a row: bertcalc's value, the real model's value, and the verdict."""
    titles = (_("Compared item"), "bertcalc", "transformers", _("Verdict"))
    rows = [(_(check.name), check.ours, check.theirs, _verdict(check.agrees)) for check in checks]
    show_rows(titles, rows, _("What was compared, and the verdicts"))


def show_differences(differences: Sequence[Difference]) -> None:
    """Show the name and shape of differing tensors, in bertcalc and in the real model."""
    rows = [(_tensor(difference.ours), _tensor(difference.theirs)) for difference in differences]
    show_rows(("bertcalc", "transformers"), rows, _("The tensors that differ"))


def show_run(run: RealRun) -> None:
    """Show how long the real model ran, its size, and the shapes of its outputs."""
    message = _("The model ran in {seconds} s: {parameters:,} parameters in {weights}.")
    st.success(message.format(seconds=fixed(run.seconds), parameters=run.parameters, weights=size(run.weight_bytes)))
    rows = [(name, shape_text(shape)) for name, shape in run.outputs]
    show_rows((_("Output"), _("Shape")), rows, _("The outputs of the forward pass"))


def show_published(counts: Sequence[PublishedCount]) -> None:
    """Show published counts beside bertcalc's counts, with verdicts and sources."""
    counted = (_("Published"), _("Verdict"), "bertcalc")  # in this order, the verdict is visible on a phone
    titles = (_("Model"), *counted, _("Count"), _("Source (names as published)"))
    rows = []
    for count in counts:
        ours, theirs = _ours(count), count.parameters
        adds_up = count.surplus and theirs + count.surplus == ours
        verdict = signed_count(count.surplus) if adds_up else _verdict(theirs == ours)
        figures = (f"{theirs:,}", verdict, f"{ours:,}")
        rows.append((count.preset, *figures, f"`{count.architecture}` · {_(count.convention)}", count.source))
    show_rows(titles, rows, _("Published counts, bertcalc's counts, and the verdicts"))


@cache
def _ours(count: PublishedCount) -> int:
    return count.model().num_parameters()


def show_inventory(model: Model) -> None:
    """Show how many modules of each type there are, and how many are named ``dense``, as formulas and numbers.

    A second table lists the modules' paths; projector view omits it. The numbers are live if the model is live.
    """
    formulas, sizes = count_formulas(model), live_sizes(model.config)
    parts = {part.name: part for part in inventory(model)}
    parts[_("named dense")] = named(model, "dense")
    counts = [
        (
            name,
            f"${formulas[part.name].latex()}$",
            count_in_numbers(formulas[part.name], sizes, part.modules),
            grouped(part.parameters),
        )
        for name, part in parts.items()
    ]
    titles = (_("Modules"), _("How many"), _("In numbers"), _("Parameters"))
    show_rows(titles, counts, _("The modules of the model by kind"))
    if presenting():
        return
    rows = [(name, "  \n".join(f"`{path}`" for path in part.paths)) for name, part in parts.items()]
    show_rows((_("Modules"), _("Where")), rows, _("Where the modules of each kind are"))


def show_module_differences(changes: Sequence[ModuleChange], before: str, after: str) -> None:
    """Show the difference in parameters between two architectures, and the modules that differ or that only one has."""
    difference = sum(change.parameters for change in changes)
    message = _("From {here} to {there}: {difference} parameters")
    live.markdown(fill(message, here=before, there=after, difference=signed_count(difference)))
    if changes:
        rows = [
            (
                _sign(change),
                f"`{change.path}`",
                _kind(change.here),
                _kind(change.there),
                signed_count(change.parameters, "0"),
            )
            for change in changes
        ]
        show_rows(("", _("Module"), before, after, _("Parameters")), rows, _("The modules that differ"))


def _sign(change: ModuleChange) -> str:
    sign = _("≠ differs") if change.here and change.there else _("− missing") if change.here else _("+ added")
    return unbroken(sign)  # in Markdown, a plus followed by a space begins a list


def _kind(module: Module | None) -> str:
    if module is None:
        return ""
    line = next(module.printed_lines())
    return fill("`{text}`", text=module.class_name if line.opens else line.text)


def show_sums(totals: Mapping[Component, int]) -> None:
    """Show the parameter count and share of each component, and the total."""
    bold = "**{}**".format
    whole = sum(totals.values())
    total = fill("**{whole:,}**", whole=whole)
    rows = [(_(component), grouped(count), percent(count, whole)) for component, count in totals.items()]
    ends = [(bold(_("Total")), total, ""), (bold(_("Trainable (nothing is frozen)")), total, "")]
    show_rows((_("Component"), _("Parameters"), _("Share")), [*rows, *ends], _("Parameters of each component"))


def show_named_parameters(model: Module) -> None:
    """Show each tensor's name, shape and number of elements, in the order of ``named_parameters()``."""
    tensors = list(model.named_parameters())
    draw_frame(
        {
            "name": [name for name, _shape in tensors],
            "shape": [str(shape) for _name, shape in tensors],
            "numel": [prod(shape) for _name, shape in tensors],
        },
        height=260 if presenting() else 430,
        column_config={
            "name": st.column_config.TextColumn(width="large"),
            "numel": st.column_config.NumberColumn(format="%,d"),
        },
        alt=_("The tensors of the model"),
    )


def show_entries(entries: Sequence[Entry], letters: Sequence[Entry], are_given: bool, alt: str) -> None:
    """Show inputs or outputs of a forward pass, with shapes in letters and in numbers.

    ``letters`` are the same entries with symbolic shapes. Only entries whose ``given`` equals ``are_given`` are shown.
    """
    pairs = [pair for pair in zip(entries, letters, strict=True) if pair[0].given == are_given]
    numbers = [entry for entry, _letters in pairs]
    columns = {
        _("Index"): [f"[{entry.position}]" for entry in numbers if entry.position is not None],
        _("Name"): [entry.name for entry in numbers],
        _("Type"): [f"{entry.container} {entry.dtype}".lstrip() for entry in numbers],
        _("Shape"): [_shapes(symbols, shape_letters) for _numbers, symbols in pairs],
        _("In numbers"): [_shapes(entry, shape_text) for entry in numbers],
        _("Elements"): [f"{entry.num_elements():,}" if entry.tensors else "" for entry in numbers],
        _("Bytes"): [_size(entry) for entry in numbers],
    }
    with st.container(key=f"entries-{len(shown_elements())}"):  # on a phone, window.css shows a row in two lines
        show_table({name: cells for name, cells in columns.items() if cells}, alt)
    # The meanings are below the table: a column would be too narrow for sentences.
    st.caption("  \n".join(f"`{entry.name}` {_(entry.meaning)}" for entry in numbers))


def _size(entry: Entry) -> str:
    """The bytes of an entry in both units, "" without tensors; a line can break only between the units."""
    return unbroken(size(entry.num_bytes())).replace("\N{NO-BREAK SPACE}(", " (") if entry.tensors else ""


def _shapes(entry: Entry, text: Callable[[Shape], str]) -> str:
    """The shape of an entry's tensor. For a container of tensors, each shape with its number of copies."""
    if not entry.container:
        return " ".join(unbroken(text(shape) or "()") for _copies, shape in entry.tensors)
    groups = [f"{unbroken(text((copies,)))} × [{unbroken(text(shape))}]" for copies, shape in entry.tensors]
    return " + ".join(groups) or "()"


def show_comparisons(comparisons: Sequence[ComparedOutput]) -> None:
    """Show each output of a forward pass as bertcalc and the real model return it, and the verdict."""
    rows = [(_returned(output.ours), _returned(output.theirs), _verdict(output.agrees)) for output in comparisons]
    alt = _("Outputs of bertcalc and of the real model, with verdicts")
    show_rows(("bertcalc", "transformers", _("Verdict")), rows, alt)


def _returned(output: Returned | None) -> str:
    """An output as text: its name, type, and the number of tensors of each shape and dtype; "" for None."""
    if output is None:
        return ""
    groups = Counter(f"[{shape_text(shape)}] {dtype}" for shape, dtype in output.tensors)
    shapes = " + ".join(unbroken(f"{count:,} × {group}") for group, count in groups.items())
    return f"{output.name}: {output.kind}, {shapes or '()'}"


def stacked_on_a_phone() -> Any:
    """A container for a table of four or five columns; on a phone, it wraps each row to several lines (window.css)."""
    return st.container(key=f"stacked-{len(shown_elements())}")


def show_rows(titles: Sequence[str], rows: Sequence[Sequence[str]], alt: str) -> None:
    """Show a table of Markdown texts, given as rows (see ``show_table``)."""
    show_table({title: [row[column] for row in rows] for column, title in enumerate(titles)}, alt)


def show_table(columns: dict[str, list[str]], alt: str) -> None:
    """Show a table of Markdown texts, given as columns, and record it for export.

    ``alt`` describes the table for screen readers, and is its title in the export.
    """
    note(TableOrChart(alt, columns, marked=True))
    # A cell is Markdown, where ">99.9 %" would be a block quote.
    cells = {name: [re.sub("^>", r"\\>", text) for text in texts] for name, texts in columns.items()}
    *_others, last = columns.values()
    short = all(text_width(text) <= _SHORT for text in last)
    sentences = len(columns) > _FEW and any(text_width(text) > _LONG for text in next(iter(columns.values())))
    key = f"{('sentences' if sentences else 'amounts') if short else 'texts'}-{len(shown_elements())}"
    others = [text for title, texts in list(columns.items())[1:] for text in (title, *texts)]
    if len(columns) <= _FEW and all(text_width(text) <= _NUMBER for text in others):
        key += "-fits"
    if any(is_live([title, *texts]) for title, texts in columns.items()):
        key += "-live"
        _put_cells(key, columns)
    # On a phone, a short last column with amounts or verdicts stays in view (window.css), unless the first column has
    # sentences: the columns between them would have no room.
    with st.container(key=key):
        # A text table wraps long texts, whereas st.dataframe cuts them off.
        draw_text_table(cells, alt)


def _put_cells(key: str, columns: Mapping[str, Sequence[str]]) -> None:
    """Register the live texts of the table in the container ``key``, so that the browser updates them."""
    for column, (title, texts) in enumerate(columns.items()):
        for role, place, text in (
            ("title", column, title),
            *(("cell", row * len(columns) + column, text) for row, text in enumerate(texts)),
        ):
            live.put_pieces(key, role, place, text)


def _verdict(agrees: bool) -> str:
    return unbroken(_("✓ agrees") if agrees else _("✗ differs"))


def _tensor(tensor: tuple[str, Shape] | None) -> str:
    return "" if tensor is None else f"{tensor[0]}  [{shape_text(tensor[1])}]"


def shape_text(shape: Shape) -> str:
    """A shape as text, such as "30,522 × 768"; the text is live if a dimension is live."""
    return between(" × ", map(grouped, shape))


def show_fields(config: Config, effects: Mapping[str, Effect]) -> None:
    """Show the fields in ``effects``: meaning, allowed values, default, current value, and the effects of a change."""
    changes = (_("Parameters"), _("Compute, FLOPs"), _("Memory, bytes"))
    rows = []
    for field, effect in effects.items():
        letter = f" ${EVERY_LETTER[field]}$" if field in EVERY_LETTER else ""
        name = f"**{config.own_name(field)}**{letter}"
        description = with_colon(name, _(field_named(field).meaning))
        message, limits = allowed(field)
        values = (written(getattr(type(config), field)), written(getattr(config, field)))
        changed = f"{written(effect.before)} → {written(effect.after)}"
        differences = [signed_count(difference, "–") for difference in (effect.parameters, effect.flops, effect.memory)]
        rows.append((in_a_row([description, f"*{_(message).format(**limits)}*"]), *values, changed, *differences))
    show_rows(
        (_("Field, meaning, *what is allowed*"), _("Default"), _("Now"), _("Changed"), *changes),
        rows,
        _("Every configuration field and what it changes"),
    )
