"""The tables of the pages."""

import re
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from bertcalc import Module
from bertcalc.formula import tensor_formulas
from bertcalc.nn import Shape
from bertcalc.presets import PublishedCount
from pages.ui.i18n import translator
from pages.ui.numbers import size
from pages.ui.proof import Check, Difference, Run
from pages.ui.sidebar import Choice


def show_tensors(choice: Choice, model: Module, *, unfolded: bool) -> None:
    """Every tensor with shape, formula, count and share; a repeated layer once, or in full."""
    _ = translator()
    frame = tensor_frame(choice, model, unfolded=unfolded)
    total = int(frame["parameters"].sum())
    st.caption(_("{rows:,} rows, {total:,} parameters").format(rows=len(frame), total=total))
    st.dataframe(
        frame,
        hide_index=True,
        height="content" if len(frame) < 40 else 640,
        column_config={
            "name": st.column_config.TextColumn(_("Name"), width="large"),
            "copies": st.column_config.NumberColumn(_("Copies"), format="%d ×"),
            "shape": st.column_config.TextColumn(_("Shape")),
            "formula": st.column_config.TextColumn(_("Formula")),
            "parameters": st.column_config.NumberColumn(_("Parameters"), format="%,d"),
            "share": st.column_config.NumberColumn(_("Share"), format="%.4f %%"),
        },
        alt=_("The tensors of the model"),
    )


def tensor_frame(choice: Choice, model: Module, *, unfolded: bool) -> pd.DataFrame:
    """The rows of the table; their parameters sum to the model's."""
    formulas = tensor_formulas(choice.config, choice.architecture, copies=not unfolded, **choice.options)
    of_name = {tensor.name: formula for tensor, formula in zip(model.tensors(), formulas, strict=True)}
    rows = [
        (
            tensor.name,
            tensor.copies,
            shape_text(tensor.shape),
            of_name[_LAYER.sub(".*.", tensor.name)],
            tensor.num_parameters(),
        )
        for tensor in model.tensors(folded=not unfolded)
    ]
    frame = pd.DataFrame(rows, columns=["name", "copies", "shape", "formula", "parameters"])
    frame["share"] = 100 * frame["parameters"] / frame["parameters"].sum()
    return frame


_LAYER = re.compile(r"\.[0-9]+\.")


def show_checks(checks: Sequence[Check]) -> None:
    """What we say, what the real model says, and the verdict, one row a check."""
    _ = translator()
    _show(
        {
            _("Check"): [_(check.name) for check in checks],
            "bertcalc": [check.ours for check in checks],
            "transformers": [check.theirs for check in checks],
            _("Verdict"): [_verdict(check.agrees) for check in checks],
        },
        _("What was compared, and the verdicts"),
    )


def show_differences(differences: Sequence[Difference]) -> None:
    """The tensors that are not the same, each as we and as the real model have it."""
    _ = translator()
    _show(
        {
            "bertcalc": [_tensor(difference.ours) for difference in differences],
            "transformers": [_tensor(difference.theirs) for difference in differences],
        },
        _("The tensors that differ"),
    )


def show_run(run: Run) -> None:
    """What a forward pass gave."""
    _ = translator()
    st.success(
        _("It ran in {seconds:.1f} s: {parameters:,} parameters in {weights}.").format(
            seconds=run.seconds, parameters=run.parameters, weights=size(run.weight_bytes)
        )
    )
    _show(
        {
            _("Output"): [name for name, _shape in run.outputs],
            _("Shape"): [shape_text(shape) for _n, shape in run.outputs],
        },
        _("The outputs of the forward pass"),
    )


def show_published(counts: Sequence[PublishedCount]) -> None:
    """Counts that others have published, beside ours."""
    _ = translator()
    ours = [count.model().num_parameters() for count in counts]
    _show(
        {
            _("Model"): [count.preset for count in counts],
            _("Architecture"): [count.architecture for count in counts],
            _("Published"): [f"{count.parameters:,}" for count in counts],
            "bertcalc": [f"{count:,}" for count in ours],
            _("Verdict"): [_verdict(count.parameters == mine) for count, mine in zip(counts, ours, strict=True)],
            _("Convention"): [_(count.convention) for count in counts],
            _("Source"): [count.source for count in counts],
        },
        _("Published counts, ours, and the verdicts"),
    )


def _show(columns: dict[str, list[str]], alt: str) -> None:
    # st.table wraps long texts, where st.dataframe cuts them off.
    st.table(pd.DataFrame(columns), border="horizontal", hide_index=True, alt=alt)


def _verdict(agrees: bool) -> str:
    _ = translator()
    verdict = _("✓ agrees") if agrees else _("✗ differs")
    return verdict.replace(" ", "\N{NO-BREAK SPACE}")


def _tensor(tensor: tuple[str, Shape] | None) -> str:
    return "" if tensor is None else f"{tensor[0]}  [{shape_text(tensor[1])}]"


def shape_text(shape: Shape) -> str:
    """A shape as people write it: 30,522 × 768."""
    return " × ".join(f"{side:,}" for side in shape)
