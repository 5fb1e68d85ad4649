"""Tables with formulas in LaTeX and MathML, which SymPy writes from the same expression."""

import re

from sympy.printing.mathml import mathml

from bertcalc.compute.flop_formulas import letters, name_formulas
from bertcalc.compute.flops import PYTORCH
from bertcalc.export.table import Cell, Math, Table
from bertcalc.model.formula import Formula, component_formulas, tensor_formulas
from bertcalc.model.letters import FIELD_OF, LETTER
from bertcalc.model.model import Model
from bertcalc.model.totals import totals_by_component
from bertcalc.text import Translate
from bertcalc.text.digits import rounded

_IDENTIFIER = re.compile(rf"<mi>({LETTER})</mi>")


def component_table(model: Model, _: Translate) -> Table:
    """The parameters of each component: the formula with letters and with numbers, the count, and the share."""
    totals = totals_by_component(model)
    formulas = component_formulas(model)
    whole = sum(totals.values())
    rows: list[tuple[Cell, ...]] = [
        (_(component), *letters_and_numbers(formula, model), totals[component], _percent(totals[component], whole))
        for component, formula in formulas
    ]
    columns = (_("Component"), _("Formula"), _("In numbers"), _("Parameters"), _("Share, %"))
    return Table(_("Parameters of each component"), columns, tuple(rows))


def tensor_table(model: Model, _: Translate) -> Table:
    """All tensors with the formulas of their sizes; repeated layers are listed once, with their number of copies."""
    texts = tensor_formulas(model)
    whole = model.num_parameters()
    rows: list[tuple[Cell, ...]] = [
        (
            tensor.name,
            tensor.copies,
            " × ".join(f"{side:,}" for side in tensor.shape),
            Math(text.replace("·", r"\cdot")),
            tensor.num_parameters(),
            _percent(tensor.num_parameters(), whole),
        )
        for tensor, text in zip(model.tensors(), texts, strict=True)
    ]
    columns = (_("Name"), _("Copies"), _("Shape"), _("Formula"), _("Parameters"), _("Share, %"))
    return Table(_("The tensors of the model"), columns, tuple(rows))


def flops_formula(model: Model, batch_size: int, sequence_length: int) -> tuple[Math, Math]:
    """The formula for the FLOPs of a forward pass, as PyTorch counts them, with letters and with numbers."""
    cross = model.reads_encoder
    steps = letters(model, cross=cross)
    sizes = {"batch_size": batch_size, "sequence_length": sequence_length}
    if cross:
        sizes["encoder_sequence_length"] = sequence_length
    return letters_and_numbers(name_formulas(steps, PYTORCH)[""], model, num_choices=1, **sizes)


def letters_and_numbers(formula: Formula, model: Model, **sizes: int) -> tuple[Math, Math]:
    """A formula with letters, and with the numbers of a model and its inputs."""
    values = {**model.letter_values(), **sizes}
    beside = {field: size for field, size in values.items() if field not in model.config.shared()}
    dotted = mathml(formula.expression, printer="presentation", mul_symbol="dot")
    written = dotted.replace("&#xB7;", "&InvisibleTimes;")  # reuses ``dotted``, because SymPy's printer is slow
    numbers = _IDENTIFIER.sub(lambda match: f"<mn>{values[FIELD_OF[match[1]]]:,}</mn>", dotted)
    return (
        Math(formula.latex(), f"<math>{written}</math>"),
        Math(formula.latex(model.config, **beside), f"<math>{numbers}</math>"),
    )


def _percent(part: int, whole: int) -> float:
    """A share in percent with three significant digits, such as 21.8 or 0.0014; 100 only if the part is the whole."""
    share = rounded(100 * part / whole)
    return min(share, 99.9) if part < whole else share
