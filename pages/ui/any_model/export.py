"""Exports of the page: the formula as LaTeX and as a Python function."""

from bertcalc.discover.results.components import NAMES, components, groups
from bertcalc.discover.results.expressions import function, latex
from bertcalc.discover.results.result import Discovered
from pages.ui.shell.i18n import _
from pages.ui.widgets.export import shown
from pages.ui.widgets.export.shown import File, OwnExport


def offer(discovery: Discovered) -> None:
    """Offer this model in the export dialog instead of the session's model."""
    stem = f"{discovery.model_type}-{discovery.cls}"
    files = (
        File(_("Formula, LaTeX"), f"{stem}-formula.tex", "text/x-tex", lambda: formula_latex(discovery).encode()),
        File(_("Formula, Python"), f"{stem}-parameters.py", "text/x-python", lambda: function(discovery).encode()),
    )
    shown.offer(OwnExport(stem, () if discovery.unexplained else files))


def formula_latex(discovery: Discovered) -> str:
    """Return the formula in field names as LaTeX, with a line for each component."""
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
