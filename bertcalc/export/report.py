"""A one-page report on a model: configuration, parameters, the steps of the forward pass, costs, and the proof.

A report is a sequence of blocks, which ``markdown`` and ``html`` write.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple, cast

from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.export.formats import html_cell, html_text, markdown_cell, markdown_text
from bertcalc.export.snippet import fields_sentence, snippet
from bertcalc.export.table import Cell, Math, Table
from bertcalc.forward.outputs import Call, run
from bertcalc.forward.walk import keras_rows, walk
from bertcalc.memory.plan import Inference, Plan
from bertcalc.text import N_, Translate


class Heading(NamedTuple):
    text: str


class Program(NamedTuple):
    text: str


class Link(NamedTuple):
    url: str


Part = Heading | Program | Link | Table | str | tuple[str | Math, ...]


class TwoColumns(NamedTuple):
    """Two columns on paper; in Markdown, the right column follows the left."""

    left: tuple[Part, ...]
    right: tuple[Part, ...]


Block = Part | TwoColumns


class Report(NamedTuple):
    """A title, a language code, and the blocks under the title."""

    title: str
    language: str
    blocks: tuple[Block, ...]


class Verification(NamedTuple):
    """The verdict of the comparison with the real model, and the individual checks if the model was built."""

    verdict: str
    checks: Table | None = None


class ReportFormulas(NamedTuple):
    """The formulas of a report, as bertcalc.export.formula_tables writes them.

    The caller passes them, because they need SymPy. ``flops`` is a sentence if the steps of the model are unknown.
    """

    components: Table
    flops: tuple[Math, Math] | str


class Changes(NamedTuple):
    """The steps that change the model, in words, and the program that runs them.

    ``quantized``: whether the weights are quantized. If so, the report gives bytes only in ``Settings.results``.
    """

    words: str
    program: str
    quantized: bool = False


class Settings(NamedTuple):
    """The settings for training or inference on the page, in words and as a plan."""

    words: str
    plan: Plan = Plan()
    inference: Inference | None = None  # None means inference in the dtype of training
    results: Table | None = None  # the results that the page shows


def report(
    case: Case,
    formulas: ReportFormulas,
    verification: Verification,
    *,
    settings: Settings | None = None,
    changes: Changes | None = None,
    name: str,
    url: str,
    language: str,
    _: Translate,
) -> Report:
    """Make the report on a model and its batch.

    ``name`` is the model's preset, perhaps with changes, and ``url`` is the model's link, or "". ``settings`` are the
    settings of the page; without them, the report assumes float32 and AdamW. ``changes`` are the steps that change the
    preset's model.
    """
    settings = settings or Settings(_("in float32, trained with AdamW"))
    model = case.model
    tensors = sum(1 for _tensor in model.named_parameters())
    total = model.num_parameters()
    sizes = _("Batch size {batch_size}, sequence length {sequence_length}").format(
        batch_size=f"{case.batch.batch_size:,}", sequence_length=f"{case.batch.sequence_length:,}"
    )
    if model.reads_encoder:
        sizes += f", encoder_sequence_length X = {case.batch.sequence_length:,}"
    if model.cls.takes_choices:
        sizes += ", num_choices 1"
    blocks: tuple[Block, ...] = (
        _("{name}: {parameters} parameters in {tensors} tensors.").format(
            name=name, parameters=f"{total:,}", tensors=f"{tensors:,}"
        ),
        fields_sentence(model),
        *((_("Changes, step by step: {steps}.").format(steps=changes.words),) if changes else ()),
        *((Link(url),) if url else ()),
        Heading(_("Parameters")),
        formulas.components,
        _("Total: {parameters}.").format(parameters=f"{total:,}"),
        *_forward(case, formulas, sizes, _),
        TwoColumns(
            (
                _("{sizes}; {settings}. FLOPs include only matrix products, as PyTorch counts them.").format(
                    sizes=sizes, settings=settings.words
                ),
                _costs(case, settings, _, quantized=bool(changes and changes.quantized)),
            ),
            (
                Heading(_("Verification")),
                verification.verdict,
                *((verification.checks,) if verification.checks else ()),
            ),
        ),
        *((Heading(settings.results.title), settings.results) if settings.results else ()),
        _("This program builds the model with transformers and checks the count."),
        Program(changes.program if changes else snippet(model)),
    )
    return Report(f"{model.architecture}: {total:,}", language, blocks)


def _forward(case: Case, formulas: ReportFormulas, sizes: str, _: Translate) -> tuple[Block, ...]:
    """The steps of a forward pass and their FLOPs, or why they are unknown."""
    heading = Heading(_("The forward pass, step by step"))
    if isinstance(formulas.flops, str):
        return heading, formulas.flops, Heading(_("Cost"))
    letters, numbers = formulas.flops
    return (
        heading,
        _("The steps of a forward pass: {sizes}, one layer in full.").format(sizes=sizes),
        _walk(case, _),
        Heading(_("Cost")),
        (_("FLOPs of a forward pass") + ": ", letters),
        ("= ", numbers, f" = {QUANTITIES['forward'].of(case):,}"),
    )


def markdown(report: Report) -> str:
    return "\n\n".join([f"# {markdown_cell(report.title)}", *map(_markdown, report.blocks)]) + "\n"


def html(report: Report) -> str:
    """Write the report as one HTML file for printing on A4."""
    body = "\n".join(map(_html, report.blocks))
    return _PAGE.substitute(language=escape(report.language), title=escape(report.title), body=body)


def _markdown(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {markdown_cell(text)}"
        case Program(text):
            return f"```python\n{text}```"
        case Link(url):
            return f"<{url}>"
        case Table():
            return markdown_text(block).rstrip("\n")
        case TwoColumns(left, right):
            return "\n\n".join(map(_markdown, (*left, *right)))
        case _:
            return markdown_cell(block)


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Program(text):
            return f"<pre>{escape(text)}</pre>"
        case Link(url):
            return f'<p><a href="{escape(url)}">{escape(url)}</a></p>'
        case Table():
            return html_text(block)
        case TwoColumns():
            sides = ("".join(map(_html, side)) for side in block)
            return f'<div class="beside">{"".join(f"<div>{side}</div>" for side in sides)}</div>'
        case _:
            return f"<p>{html_cell(block)}</p>"


def _costs(case: Case, settings: Settings, _: Translate, *, quantized: bool) -> Table:
    """The costs of the case. For a quantized model, only costs that quantization does not change are listed."""
    trained, run = case._replace(plan=settings.plan), case._replace(plan=_as_plan(settings))
    # This meaning leaves out the optimizer, because the words of the settings name it.
    meanings = {"training_memory": N_("peak memory of a training step")}
    rows: list[tuple[Cell, ...]] = [
        (_(meanings.get(name, quantity.meaning)), figure, quantity.unit)
        for name, quantity in QUANTITIES.items()
        if quantity.unit != "parameters"
        and not (quantized and (quantity.unit == "bytes" or name == "training"))
        and (figure := quantity.known(run if name in ("weights", "inference_memory") else trained)) is not None
    ]
    return Table(_("Cost"), (_("Quantity"), _("Number"), _("Unit")), tuple(rows))


def _as_plan(settings: Settings) -> Plan:
    """A plan with the dtype and attention of inference, or else of training; both 16-bit dtypes have the same size."""
    if settings.inference is None:
        return settings.plan
    return Plan("fp32" if settings.inference.dtype == "float32" else "bf16", attention=settings.inference.attention)


def _walk(case: Case, _: Translate) -> Table:
    call = Call(case.batch.batch_size, case.batch.sequence_length, encoder_sequence_length=case.batch.sequence_length)
    rows: list[tuple[Cell, ...]] = [
        (
            row.keras,
            _names([stop.inside for stop in row.stops]),
            " × ".join(f"{side:,}" for side in row.shape),
            row.parameters,
            row.stops[-1].so_far,
        )
        for row in keras_rows(walk(run(case.model, call)))
    ]
    whole, so_far = case.model.num_parameters(), rows[-1][-1]
    if whole != so_far:  # peft keeps the frozen original of a module that is trained as a copy
        rows.append((_("Modules that do not run"), "", "", whole - cast(int, so_far), whole))
    columns = (_("Keras-style name"), "Hugging Face", _("Output shape"), _("Parameters"), _("So far"))
    return Table(_("The whole forward pass"), columns, tuple(rows))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 2 else f"{names[0]} ... {names[-1]}"


_PAGE = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
