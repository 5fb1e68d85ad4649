"""Show the user's own model: a verdict, the groups of its tensors, and a button that copies it to the sidebar."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.checkpoints.checkpoint import Group, Matching, Members, TensorMatch, classes_of
from bertcalc.checkpoints.local_files import CutOff
from bertcalc.config import Config
from bertcalc.config.fields import is_int
from bertcalc.controls.chosen_model import DECIMALS, FIELDS
from bertcalc.explore.model_values import model_of_preset, values_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.model_ref import ModelRef
from bertcalc.text import N_, code, shorten, written
from bertcalc.text.digits import signed_count
from bertcalc.text.problem import InputError, Problem
from pages.ui.session.present_model import take_preset
from pages.ui.shell.i18n import _, listed
from pages.ui.shell.sidebar import choice
from pages.ui.widgets.tables import show_rows

_WORDS: dict[Group, str] = {
    "same": N_("same name and shape"),
    "renamed": N_("older name: gamma, beta"),
    "shape": N_("different shape"),
    "missing": N_("missing from the file"),
    "head": N_("head of a different class"),
    "tied": N_("tied copy"),
    "buffer": N_("buffer: not trained"),
    "other": N_("not in any class with these sizes"),
}


class CheckpointReading(NamedTuple):
    """A checkpoint that was read: its name, its comparison with the model, guessed fields, truncated files, remarks."""

    name: str
    comparison: Matching
    guessed: tuple[str, ...] = ()
    cut_off: tuple[CutOff, ...] = ()
    remarks: Sequence[Problem] = ()


def show_changes(config: Config, item: ModelRef) -> None:
    """Show the fields in which a model differs from the nearest preset, with both values."""
    start = values_of(model_of_preset(item.base))
    rows = [(f"`{config.own_name(name)}`", _written(value), _written(start[name])) for name, value in item.changes]
    alt = _("The fields in which the model differs from the nearest preset")
    show_rows((_("Field"), _("Yours"), item.base), rows, alt)


def show_cut_off(file: CutOff) -> None:
    """Show a warning that a file is truncated."""
    message = _(
        "{name} is incomplete: its header announces {expected:,} bytes of data, but the file has {there:,}. "
        "The header is complete, and nothing else is needed."
    )
    st.warning(message.format(**{**file._asdict(), "name": code(shorten(file.name))}), icon=":material/content_cut:")


def show_details(brought: CheckpointReading) -> None:
    """Show the data types, the common prefix of all tensor names, and the fields that no tensor's shape determines."""
    comparison, config, by_names = brought.comparison, brought.comparison.model.config, "tie_word_embeddings"
    dtypes = " · ".join(f"{dtype} {count:,}" for dtype, count in comparison.dtypes.items())
    lines = [_("Data types: {dtypes}").format(dtypes=dtypes)]
    if comparison.wrapper:
        lines.append(
            _("All names begin with {prefix}, which is omitted here.").format(prefix=code(shorten(comparison.wrapper)))
        )
    if by_names in brought.guessed:
        message = _(
            "{field} is assumed to be false, because the file has its own decoder; in files of older releases, the "
            "decoder can be a copy of the word embeddings."
        )
        lines.append(message.format(field=code(config.own_name(by_names))))
    assumed = _("{field} cannot be read from any shape: {value} is assumed, which does not affect any count.")
    guessed = [field for field in brought.guessed if field != by_names]
    lines += [assumed.format(field=code(field), value=getattr(config, field)) for field in guessed]
    st.caption("  \n".join(lines))


def show_verdict(brought: CheckpointReading) -> None:
    """Show whether a checkpoint matches the model, has additional tensors, or does not fit."""
    comparison = brought.comparison
    names = {"name": code(brought.name), "architecture": _described(comparison.model)}
    if comparison.agrees:
        message = _(
            "According to its header, {name} is {architecture}: it has every tensor, in the right shape, and no others."
        )
        if comparison.groups.keys() & {"tied", "buffer"}:
            message = _(
                "According to its header, {name} is {architecture}: it has every tensor, in the right shape; anything "
                "else is a copy or a buffer."
            )
        st.success(message.format(**names), icon=":material/check_circle:")
    elif comparison.complete:
        message = _("{name} has all tensors of {architecture}, and others as well.")
        st.info(message.format(**names), icon=":material/add_circle:")
    else:
        message = _(
            "{name} does not fit {architecture}: {missing:,} tensors are missing, {other:,} have a different shape."
        )
        missing, other = (
            comparison.groups[group].tensors if group in comparison.groups else 0 for group in ("missing", "shape")
        )
        st.warning(message.format(missing=missing, other=other, **names), icon=":material/warning:")


def _described(model: Model) -> str:
    name = model.architecture
    return name if model.add_pooling_layer else _("{architecture} without pooler").format(architecture=name)


def show_groups(matching: Matching) -> None:
    """Show the groups of tensors that account for the difference between bertcalc and the file, with their counts."""
    bold = "**{}**".format
    ours = bold(_("{architecture} has").format(architecture=matching.model.architecture))
    tensors, numbers = bold(f"{matching.tensors:,}"), bold(f"{matching.numbers:,}")
    rows = [(ours, "", "", bold(f"{matching.ours:,}"), "")]
    for group, members in matching.groups.items():
        difference, example = matching.differences.get(group, 0), _examples(group, members, matching.model.config)
        counts = (f"{members.tensors:,}", f"{members.in_checkpoint:,}", signed_count(difference))
        rows.append((_(_WORDS[group]), *counts, example))
    rows.append((bold(_("the file has")), tensors, numbers, numbers, ""))
    titles = (_("What it is"), _("Tensors"), _("Elements"), _("Difference"), _("For example"))
    # style.css sets the small type of the table. Markdown's :small[...] would end at the first bracket in a name.
    with st.container(key="groups"):
        show_rows(titles, rows, _("The tensors of the file in groups"))


def _examples(group: Group, members: Members, config: Config) -> str:
    """An example for a group: its first tensor, with both shapes if they differ.

    For heads, it is a list of all modules and of the architectures that have these modules.
    """
    tensors = members.first
    if group == "head":
        modules = dict.fromkeys(tensor.name.rpartition(".")[0] for tensor in tensors)
        return f"{', '.join(map(code, modules))}: {', '.join(classes_of(tensors, config))}"
    if group == "shape":
        tensor = tensors[0]
        assert tensor.entry is not None
        assert tensor.shape is not None
        return _("{name}: {theirs} instead of {ours}").format(
            name=code(_full_name(tensor)), theirs=list(tensor.entry.shape), ours=list(tensor.shape)
        )
    return code(shorten(_full_name(tensors[0])) if group == "other" else _full_name(tensors[0]))


def _full_name(tensor: TensorMatch) -> str:
    """The name of a tensor in the file, or in the model if the file lacks the tensor."""
    return tensor.entry.name if tensor.entry else tensor.name


def offer(model: Model, item: ModelRef) -> None:
    """Draw the button that copies the model to the sidebar, or a check mark if the sidebar has this model.

    If the sidebar lacks a control for a field that affects the parameter count, show a note instead of the button.
    """
    kind = type(model.config)
    preset = PRESETS.get(item.base)
    base = preset.config if preset and type(preset.config) is kind else kind.default()
    changed = [field for field, value in model.config.shared().items() if value != base.shared()[field]]
    left = [kind.own_name(field) for field in changed if field not in FIELDS]
    with st.container(width="content", gap="xxsmall"):
        if counted := [name for name in left if _changes_count(model, name, getattr(base, name))]:
            message = _("This app cannot show this model: it has no control for {fields}, which changes the count.")
            st.caption(message.format(fields=listed(f"`{name}`" for name in counted)))
            return
        if _is_in_use(model):
            st.button(_("In use on every page"), icon=":material/check:", disabled=True)
        else:
            st.button(_("Use this model"), icon=":material/arrow_back:", on_click=_take, args=(model, item))
        if left:
            message = _("Not copied, because these fields have no control and affect no count: {fields}")
            st.caption(message.format(fields=listed(f"`{field}`" for field in left)))


def _is_in_use(model: Model) -> bool:
    """Whether the current model has the class of ``model`` and its values in all fields that have a control."""
    present = choice().model
    if (model.architecture, model.add_pooling_layer) != (present.architecture, present.add_pooling_layer):
        return False
    values, present_values = model.config.shared(), present.config.shared()
    return all(values.get(field) == present_values.get(field) for field in FIELDS)


def _changes_count(model: Model, name: str, value: Any) -> bool:
    """Whether setting a field to ``value`` changes the parameter count; True if the value is invalid."""
    try:
        other = model.changed(config=replace(model.config, **{name: value}))
    except InputError:
        return True
    return other.num_parameters() != model.num_parameters()


def _take(model: Model, item: ModelRef) -> None:
    changes = {field: value for field, value in item.changes if field in (*FIELDS, "add_pooling_layer", "architecture")}
    # Streamlit's number fields with decimals accept 0.0, but not 0.
    decimals = {field: float(changes[field]) for field in DECIMALS if field in changes}
    take_preset(item.base, **changes | decimals | {"architecture": model.architecture})


def _written(value: object) -> str:
    return written(value) if is_int(value) else f"`{value}`"
