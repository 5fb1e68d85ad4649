"""The page's files: the formula as LaTeX, and as a function in Python."""

from bertcalc.discover.results.components import NAMES, components, groups
from bertcalc.discover.results.expressions import function, latex
from bertcalc.discover.results.result import Discovered
from pages.ui.shell.i18n import _
from pages.ui.widgets.export import shown
from pages.ui.widgets.export.shown import File, OwnExport


def offer(found: Discovered) -> None:
    """Have the export dialog offer this model instead of the session's."""
    stem = f"{found.model_type}-{found.cls}"
    files = (
        File(_("Formula, LaTeX"), f"{stem}-formula.tex", "text/x-tex", lambda: formula_latex(found).encode()),
        File(_("Formula, Python"), f"{stem}-parameters.py", "text/x-python", lambda: function(found).encode()),
    )
    shown.offer(OwnExport(stem, () if found.unexplained else files))


def formula_latex(found: Discovered) -> str:
    """The formula in the names of the fields, a line for each component."""
    plain = {field: field for field in found.fields}
    lines: list[str] = []
    for kind, tensors in components(found).items():
        written = []
        for group in groups(tensors, found.fields):
            inside = latex(group.one, plain)
            factor = "" if group.copies == 1 else rf"\left({latex(group.copies, plain)}\right) "
            written.append(rf"{factor}\left({inside}\right)" if factor and not group.one.is_Symbol else factor + inside)
        lines.append(f"&{'+ ' if lines else ''}{' + '.join(written)} && \\text{{{NAMES[kind]}}}")
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n"
