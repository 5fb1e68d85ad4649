"""The number to explain: its input field, examples, how its text is read, and the message if nothing explains it."""

import math

import streamlit as st

from bertcalc.config import Config, letters
from bertcalc.diagnosis.flop_counts import flop_counts
from bertcalc.diagnosis.known_counts import HAND_COUNTS, READINGS, readings
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted, total
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.text import N_, literal, shorten
from bertcalc.text.amounts import Typed, amount
from bertcalc.text.arithmetic import LONGEST
from bertcalc.text.digits import fixed, scaled, scientific
from bertcalc.text.problem import InputError
from pages.ui.any_model.link_to import show_links_of_count
from pages.ui.shell.controls import Text, sentence, view
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.tables import show_rows

VIEW = view("explain", {"total": N_("One number"), "terms": N_("Term by term")})
YOURS = Text("number", N_("Your number"), "110M", LONGEST, placeholder="12*7087872", width=320)


def numbers_to_try(model: Model) -> list[str]:
    """Return example numbers: the model's count rounded, in scientific notation and in megabytes, and a wrong count.

    The wrong count is a published hand count of the model's family if there is one.
    """
    count = model.num_parameters()
    wrong = total(MISCOUNTS["LayerNorm"].make(counted(model), MiscountSizes.of(model.final_config)))
    hands = [hand.parameters for hand in HAND_COUNTS if type(PRESETS[hand.preset].config) is type(model.config)]
    rounded = f"{fixed(count / 10**6, int(count < 10**7))}M"
    return [rounded, scientific(count, 2), f"{fixed(count / 250_000)} MB", f"{(hands or [wrong])[0]:,}"]


def read_number(text: str, config: Config) -> Typed | None:
    """Read a text as a number. Return None for an empty text; for an invalid text, show an error and return None."""
    try:
        return amount(text, names=letters(config)) if text.strip() else None
    except InputError as error:
        st.error(sentence(error.problem))
        return None


def show_reading(number: Typed) -> None:
    """Show how the text was read: as an exact number or as a range."""
    numbers = {name: getattr(number, name) for name in ("value", "low", "high")}
    values = {name: f"{int(value) if value.denominator == 1 else float(value):,}" for name, value in numbers.items()}
    if number.unit in ("bytes", "FLOPs", "MACs"):
        exactly, about = _("Read as {value} {unit}."), _("Read as {low} to {high} {unit}.")
        message = exactly if number.low == number.high else about
    elif number.low == number.high:
        message = _("Read as {value}, exactly.")
    else:
        message = _("Read as a range: {low} to {high}.")
    st.caption(message.format(**values, unit=_(number.unit) if number.unit else ""))


def show_nothing(model: Model, number: Typed, text: str) -> None:
    """State that nothing explains the number.

    Unless it is a number of FLOPs or MACs, also show links to models that have this parameter count by default and, if
    it is rounded, the counts that it can mean.
    """
    if cost := next((cost for cost in flop_counts(model) if cost.unit == number.unit), None):
        message = _(
            "No common batch of this configuration costs {number}. One forward pass of {architecture} over a single "
            "sequence of {tokens:,} tokens takes {cost}."
        )
        costs = {"number": literal(shorten(text)), "cost": scaled(cost.operations, cost.unit)}
        message = message.format(**costs, architecture=model.architecture, tokens=cost.sequence_length)
        st.warning(message, icon=":material/help:")
        return
    if exactly := number.low == number.high:
        message = _(
            "{number} has no simple explanation: it is not a known count of this configuration or of a part of it, and "
            "no common mistake leads to it. It may belong to another model: the current one, {architecture}, has "
            "{count:,} parameters. Enter the individual terms of the count to learn more."
        )
    else:
        message = _(
            "No known count of this configuration rounds to {number}. It may belong to another model: the current "
            "one, {architecture}, has {count:,} parameters. Enter the exact total, or the individual terms of the "
            "count, to learn more."
        )
    quoted = f"{math.floor(number.low):,}" if exactly else literal(shorten(text))
    count = model.num_parameters()
    st.warning(message.format(number=quoted, architecture=model.architecture, count=count), icon=":material/help:")
    show_links_of_count(math.ceil(number.low), math.floor(number.high))
    if not exactly:
        zeros = _("if the trailing zeros are not significant")
        rows = [
            (
                listed([_(READINGS[reading.key][0]), *([zeros] if reading.rounded else [])]),
                f"{fixed(reading.low, 0)} – {fixed(reading.high, 0)}",
            )
            for reading in readings(number)
        ]
        show_rows((_("If the number means"), _("Parameters")), rows, _("What the number may mean"))
