"""The choice of a tool on the page Other tools, and the wording of a tool's main mistake."""

from collections.abc import Sequence

from bertcalc.diagnosis.tools import TOOLS, Correction
from bertcalc.text import N_
from pages.ui.controls import Select
from pages.ui.diagnosis.cause_words import miscount_in_words
from pages.ui.i18n import _
from pages.ui.numbers import unbroken

TOOL = Select("tool", N_("Tool"), TOOLS, row=True, label_visibility="collapsed")


def main_reason(found: Sequence[Correction], missing: int) -> str:
    """The reason for most of the difference, and the number of other reasons."""
    most = max(found, key=lambda one: one.amount * missing)
    said = miscount_in_words(most.miscount)
    more = unbroken(_("{count} more").format(count=len(found) - 1))
    return said if len(found) == 1 else _("{said}; {more}").format(said=said, more=more)


def escaped(text: str) -> str:
    """A name with its underscores escaped for Markdown."""
    return text.replace("_", r"\_")
