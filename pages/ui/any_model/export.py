"""The exports of the page Any model: the formula as LaTeX and as a Python function, and an interactive page."""

from collections.abc import Callable, Mapping
from functools import partial

from bertcalc.charts.colors import COLORS
from bertcalc.discover.results.components import NAMES, components, groups
from bertcalc.discover.results.discovered_page import discovered_page
from bertcalc.discover.results.expressions import function, latex
from bertcalc.discover.results.result import Discovered
from pages.ui.shell.i18n import _, translator
from pages.ui.widgets.export import shown
from pages.ui.widgets.export.shown import File, Origin, OwnExport


def offer(discovery: Discovered, sizes: Mapping[str, int]) -> None:
    """Make the export dialog offer this model's files instead of the files of the session's model.

    ``sizes`` are the sizes that the reader has changed. If some tensors have no formula, there are no files.
    """
    stem = f"{discovery.model_type}-{discovery.cls}"

    def file(label: str, name: str, mime: str, make: Callable[[], str]) -> File:
        return File(label, f"{stem}-{name}", mime, lambda: make().encode())

    def files(place: Origin) -> list[File]:
        if discovery.unexplained:
            return []
        make_page = partial(
            discovered_page, discovery, sizes, COLORS["light"], url=place.url, language=place.language, _=translator()
        )
        return [
            file(_("Interactive page of the parameters, HTML"), "interactive.html", "text/html", make_page),
            file(_("Formula, LaTeX"), "formula.tex", "text/x-tex", partial(formula_latex, discovery)),
            file(_("Formula, Python"), "parameters.py", "text/x-python", partial(function, discovery)),
        ]

    shown.offer(OwnExport(stem, files))


def formula_latex(discovery: Discovered) -> str:
    """Return the formula as LaTeX with field names instead of letters, and with a line for each component."""
    plain = {field: field for field in discovery.fields}
    lines: list[str] = []
    for kind, tensors in components(discovery).items():
        written = []
        for group in groups(tensors, discovery.fields):
            inside = latex(group.elements, plain)
            factor = "" if group.copies == 1 else rf"\left({latex(group.copies, plain)}\right) "
            written.append(
                rf"{factor}\left({inside}\right)" if factor and not group.elements.is_Symbol else factor + inside
            )
        lines.append(f"&{'+ ' if lines else ''}{' + '.join(written)} && \\text{{{NAMES[kind]}}}")
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n"
