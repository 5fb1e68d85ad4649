"""Configuration: the meaning of every field, its possible values, and what it affects."""

import streamlit as st

from bertcalc.config import LETTERS
from bertcalc.config.fields import FIELDS as KNOWN
from bertcalc.config.fields import OWN_FIELDS
from bertcalc.controls.chosen_model import FIELDS
from bertcalc.controls.stops import SLIDERS
from bertcalc.explore.field_effects import effect
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.navigation import page_at
from pages.ui.shell.present import presenting
from pages.ui.shell.sidebar import choice as current_choice
from pages.ui.widgets import tables
from pages.ui.widgets.batch_controls import choose_batch, show_seen

choice = current_choice()
config = choice.config
declared = [field for field in (*KNOWN, *OWN_FIELDS) if config.has(field)]

with st.container(horizontal=True, vertical_alignment="bottom"):
    batch = choose_batch(choice.config)
    if not presenting():
        with st.container(gap="xxsmall"):
            message = _(
                "This table is read-only. Change {sizes} with the sliders and other fields under **More fields**."
            )
            without = _("No count depends on these fields, so they have no control: {fields}.")
            names = listed(f"`{config.own_name(field)}`" for field in declared if field not in FIELDS)
            sizes = listed(f"${LETTERS[field]}$" for field in SLIDERS)
            st.markdown(message.format(sizes=sizes), help=without.format(fields=names))
            st.page_link(page_at("bring"), label=_("Count your own config.json →"), query_params={"bring": "config"})
st.caption(
    _(
        "Each effect is computed by recounting {architecture} with the field changed. Compute: the FLOPs of the "
        "matrix products in a forward pass. Memory: weights, activations saved for training and a decoder's cache, "
        "in float32."
    ).format(architecture=choice.architecture)
)
show_seen(choice.model)
fields = SLIDERS if presenting() else declared
effects = {field: effect(field, choice.model, *batch.shape) for field in fields}
tables.show_fields(choice.config, effects)
