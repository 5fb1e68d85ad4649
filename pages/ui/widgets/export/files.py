"""The files that can be exported. A file's content is created only when a reader downloads it."""

import re
from collections.abc import Callable, Iterator
from functools import partial

from bertcalc.changes.adapter import PeftChange
from bertcalc.charts.blocks import png, svg
from bertcalc.charts.colors import COLORS
from bertcalc.config import Problem
from bertcalc.explore.quantities import Case
from bertcalc.export.adapter_config import adapter_config
from bertcalc.export.formats import csv_text, latex_text, markdown_text
from bertcalc.export.formula_page import interactive_page
from bertcalc.export.formula_tables import component_table, flops_formula
from bertcalc.export.report import Changes, Report, ReportFormulas, Settings, Verification, html, markdown, report
from bertcalc.export.snippet import snippet
from bertcalc.export.step_code import code
from bertcalc.export.table import Math, Table, TableOrChart
from bertcalc.families import hf_json
from bertcalc.model.batch import Batch
from bertcalc.model.change import Change
from bertcalc.model.model import Model
from bertcalc.processes.worker import SlowError, StoppedError
from bertcalc.proof import real_model, tensor_proof
from bertcalc.text import N_, Translate
from bertcalc.text.problem import InputError
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _ as session_text
from pages.ui.shell.i18n import listed
from pages.ui.shell.sidebar import Choice
from pages.ui.widgets.bars import preset_of
from pages.ui.widgets.export.shown import File, Origin, ShownSteps
from pages.ui.widgets.real_answers import answer
from pages.ui.widgets.verdict import in_words


def model_files(
    choice: Choice,
    batch: Batch,
    place: Origin,
    _: Translate,
    settings: Settings | None = None,
    steps: ShownSteps | None = None,
) -> list[File]:
    """The files that describe the model: configs, a Python program, reports and an interactive page.

    The files are created outside a script run, where there is no session state, so the translator ``_`` is a parameter.
    With ``steps``, the files describe the model after the steps; ``left_out`` names the steps that a file cannot
    contain.
    """
    model = exported(choice, steps)
    stem = f"{choice.preset}-changed" if steps else stem_of(choice)
    make_report = partial(_report, choice, batch, place, _, settings, steps)

    def make_program() -> bytes:
        return (code(choice.model, steps.steps) if steps else snippet(model)).encode()

    def make_page() -> bytes:
        page = interactive_page(
            model, COLORS["light"], start=_in_words(choice, _), url=place.url, language=place.language, _=_
        )
        return page.encode()

    def json_file(name: str, write: Callable[[], str]) -> File:
        return File(name, name, "application/json", lambda: write().encode())

    adapters = [change for change in model.changes if isinstance(change, PeftChange)]
    return [
        *(() if _no_config(model) else (json_file("config.json", partial(hf_json.write, model)),)),
        *(json_file("adapter_config.json", partial(adapter_config, change)) for change in adapters),
        File(_("Python program"), f"{stem}.py", "text/x-python", make_program),
        File(_("Report, Markdown"), f"{stem}.md", "text/markdown", lambda: markdown(make_report()).encode()),
        File(_("Report, HTML to print"), f"{stem}.html", "text/html", lambda: html(make_report()).encode()),
        File(_("Interactive page of the parameters, HTML"), f"{stem}-interactive.html", "text/html", make_page),
    ]


def exported(choice: Choice, steps: ShownSteps | None) -> Model:
    """The model that the files describe: the session's model, after the steps if there are any."""
    return steps.changed.model if steps else choice.model


def _no_config(model: Model) -> Problem | None:
    """The reason why a config.json cannot describe the model, or None if it can."""
    try:
        hf_json.write(model)
    except InputError as error:
        return error.problem
    return None


def left_out(steps: ShownSteps) -> Iterator[str]:
    """Yield sentences in the session's language that name the steps that a file leaves out."""
    adapters, quantized = [], []
    for step, words in zip(steps.steps, steps.words, strict=True):
        if not isinstance(step, Change):
            quantized.append(words)
        elif not step.resizes:
            adapters.append(words)
    if problem := _no_config(steps.changed.model):
        yield sentence(problem)
    elif adapters or quantized:
        message = session_text(
            N_(
                "The config.json leaves out {steps}. The Python program contains every step; steps that it cannot "
                "run are commented out."
            )
        )
        yield message.format(steps=listed([*quantized, *adapters]))
    if quantized:
        message = session_text(
            N_("The interactive page omits {steps}, which does not change the number of parameters.")
        )
        yield message.format(steps=listed(quantized))


def table_files(stem: str, title: str, make: Callable[[], Table], model: str = "") -> list[File]:
    """The CSV, Markdown and LaTeX files of a table. Their names begin with ``stem``.

    The caption in LaTeX also contains ``model``, unless it is empty.
    """

    def captioned() -> Table:
        table = make()
        return table._replace(title=f"{table.title}: {model}") if model else table

    stem = f"{stem}-{_slug(title)}"
    return [
        # The byte order mark makes spreadsheet programs read the file as UTF-8.
        File("CSV", f"{stem}.csv", "text/csv", lambda: csv_text(make()).encode("utf-8-sig")),
        File("Markdown", f"{stem}.md", "text/markdown", lambda: markdown_text(make()).encode()),
        File("LaTeX", f"{stem}.tex", "text/x-tex", lambda: latex_text(captioned()).encode()),
    ]


def chart_files(stem: str, chart: TableOrChart, title: str) -> list[File]:
    """The SVG and PNG files of a chart, in its colors for the light theme."""
    stem, spec = f"{stem}-{_slug(title)}", chart.spec or {}
    return [
        File("SVG", f"{stem}.svg", "image/svg+xml", lambda: svg(spec, chart.data).encode()),
        File("PNG", f"{stem}.png", "image/png", lambda: png(spec, chart.data)),
    ]


def model_name(choice: Choice) -> str:
    """The model's architecture, followed by its preset, with "-changed" if the model differs from the preset."""
    return f"{choice.architecture}, {stem_of(choice)}"


def _report(
    choice: Choice, batch: Batch, place: Origin, _: Translate, settings: Settings | None, steps: ShownSteps | None
) -> Report:
    model = exported(choice, steps)
    flops: tuple[Math, Math] | str
    try:
        flops = flops_formula(model, *batch.shape)
    except InputError as error:
        flops = _(error.problem.message).format(**error.problem.values)
    verification, changes = _verification(choice.model, _), None
    if steps:
        before = _("The model before the steps: {verdict}").format(verdict=verification.verdict)
        verification = verification._replace(verdict=before)
        program = code(choice.model, steps.steps)
        changes = Changes("; ".join(steps.words), program, quantized=steps.changed.base is not None)
    return report(
        Case(model, batch),
        ReportFormulas(component_table(model, _), flops),
        verification,
        settings=settings,
        changes=changes,
        name=_in_words(choice, _),
        url=place.url,
        language=place.language,
        _=_,
    )


def _in_words(choice: Choice, _: Translate) -> str:
    is_changed = choice != preset_of(choice)
    words = _("{architecture} from {preset}, with fields changed") if is_changed else _("{architecture} of {preset}")
    return words.format(architecture=choice.architecture, preset=choice.preset)


def _verification(model: Model, _: Translate) -> Verification:
    if not real_model.installed():
        return Verification(
            _("Not compared with the real model, because torch and transformers are not installed here.")
        )
    compared = real_model.buildable(model)
    try:
        result = answer(tensor_proof.prove, compared)
    except (SlowError, StoppedError, MemoryError):
        return Verification(_("Not compared with the real model, because PyTorch returned no result."))
    versions = _(", ").join(f"{name} {version}" for name, version in result.versions.items())
    verdict = f"{in_words(model, result, _)} ({versions})"
    if compared != model:
        message = _(
            "The comparison used the same model with absolute positions, because transformers 5 supports no other "
            "positions; the {added} parameters of {kind} were not compared."
        )
        added, kind = f"{real_model.not_checked(model):,}", model.config.position_embedding_type
        verdict += " " + message.format(added=added, kind=kind)
    # The checks of each kind of module would fill a page. Only failed checks are reported.
    kinds = {module.class_name for _path, module, _copies in model.modules()}
    rows = tuple(
        (_(check.name), check.ours, check.theirs, _("✓ agrees") if check.agrees else _("✗ differs"))
        for check in result.checks
        if check.name not in kinds or not check.agrees
    )
    columns = (_("Compared item"), "bertcalc", "transformers", _("Verdict"))
    return Verification(verdict, Table(_("What was compared, and the verdicts"), columns, rows))


def stem_of(choice: Choice) -> str:
    """The beginning of a model's file names: the preset, with "-changed" if the model differs from it."""
    return f"{choice.preset}{'-changed' if choice != preset_of(choice) else ''}"


_LONGEST = 30
_PHRASE_END = re.compile(r"[,;(，；（、]")
# A shortened title must not end with one of these words.
_OPEN_ENDS = {"a", "an", "and", "as", "at", "by", "each", "every", "for", "from", "in", "into", "of", "on"} | {
    *("one", "or", "the", "to", "which", "with")
}


def _slug(title: str) -> str:
    """A title as part of a file name, without the prefix "Table: "; a long title is cut at the end of a phrase."""
    name = re.split("[:：]", title, maxsplit=1)[-1]
    ends = [*(match.start() for match in _PHRASE_END.finditer(name)), len(name)]
    slugs = [re.sub(r"\W+", "-", name[:end]).strip("-").lower() for end in ends]
    short = [slug for slug in slugs if slug and len(slug) <= _LONGEST]
    if short:
        return short[-1]
    words = slugs[0][: _LONGEST + 1].split("-")[:-1]
    while words and words[-1] in _OPEN_ENDS:  # "the parts of the" becomes "the parts"
        words.pop()
    return "-".join(words) or slugs[0][:_LONGEST]
