"""Descriptions of the causes of a wrong count, with their formulas."""

from bertcalc.config import sizes_of
from bertcalc.diagnosis.cause_formulas import cause_formulas
from bertcalc.diagnosis.explain import Explanation
from bertcalc.diagnosis.known_counts import KnownCount, Mix
from bertcalc.diagnosis.layer_parts import Counted
from bertcalc.diagnosis.miscounts import MiscountSizes
from bertcalc.diagnosis.other_tools import REASONS
from bertcalc.diagnosis.part_words import miscount_in_words
from bertcalc.text import code
from bertcalc.text.digits import latex_number
from pages.ui.shell.controls import sentence
from pages.ui.shell.i18n import _, listed


def causes(reference: KnownCount, explanation: Explanation, count: Counted | None = None) -> list[tuple[str, str, int]]:
    """Describe each miscount of an explanation.

    Each tuple has the miscount in words, its formula with letters and numbers, and the amount that it adds to the
    model's count, or to the count of a part (``count``).
    """
    config = reference.model.config
    if reference.mix:
        mix, *others = explanation
        return [
            (*_taken_sizes(reference, reference.mix), mix.amount),
            *causes(reference._replace(mix=None), tuple(others), count),
        ]
    miscounts = tuple(cause.miscount for cause in explanation)
    formulas = cause_formulas(reference.model, miscounts, count)
    sizes = MiscountSizes.of(reference.model.final_config)
    rows = []
    for cause, formula in zip(explanation, formulas, strict=True):
        padded = {"padded_vocab_size": sizes.padded_by(cause.miscount)}
        in_numbers = formula.latex(config, **padded | reference.model.change_letter_values())
        written = f"${formula.latex()} = {in_numbers}$"
        rows.append((sentence(miscount_in_words(REASONS[cause.miscount])), written, cause.amount))
    return rows


def _taken_sizes(reference: KnownCount, mix: Mix) -> tuple[str, str]:
    """The sizes that were confused with other sizes, in words and with letters."""
    config, symbols = reference.model.config, sizes_of(type(reference.model.config))
    fields = listed([code(type(config).own_name(field)) for field in mix.fields])
    sizes = [f"${symbols[field]} = {latex_number(getattr(config, field))}$" for field in mix.fields]
    if mix.preset:
        message = _("{fields} of {preset}")
    elif mix.fields == ("embedding_size",) and config.hidden_size == vars(config)["embedding_size"]:
        message = _("{fields} assumed to be the hidden size")
    else:
        message = _("{fields} with a different value, perhaps a typo")
    return message.format(fields=fields, preset=mix.preset), listed(sizes)
