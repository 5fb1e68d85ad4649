"""The FLOPs of a forward pass, where they were discovered, too."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertcalc.discover.result import Discovered
from bertcalc.problem import InputError
from pages.ui.batch import BATCH_SIZE, SEQUENCE_LENGTH
from pages.ui.controls import show_problem
from pages.ui.i18n import _
from pages.ui.metrics import show_metric
from pages.ui.numbers import scaled
from pages.ui.present import presenting

_MOST = 1_000_000


def show_flops(found: Discovered, sizes: Mapping[str, int]) -> None:
    """For a batch and a length; nothing where a discovery knows none. The projector has no room for them."""
    known: Any = found
    if getattr(known, "flops", None) is None or presenting():
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch_size = BATCH_SIZE.show_within(1, _MOST)
        length = SEQUENCE_LENGTH.show_within(1, _MOST)
        try:
            count: int = known.count_flops(batch_size=batch_size, sequence_length=length, **sizes)
        except InputError as error:
            show_problem(error.problem)
            return
        show_metric(_("FLOPs of a forward pass"), f"{count:,}", scaled(count, "FLOPs"), least=200)
