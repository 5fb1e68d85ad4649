"""Show a visitor's model: its count or the groups of its tensors, and the button that copies it to the sidebar."""

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from bertcalc.checkpoints.checkpoint import Group, Matched, Matching, Members, classes_of
from bertcalc.checkpoints.local_files import CutOff
from bertcalc.config import Config
from bertcalc.config.fields import is_int
from bertcalc.controls.history import DECIMALS, FIELDS
from bertcalc.explore.models import WrittenModel, subject_of_preset, values_of
from bertcalc.model.subject import Subject
from bertcalc.text import N_, code, shorten, written
from bertcalc.text.digits import signed_count
from bertcalc.text.problem import Problem
from pages.ui.session.model import take_preset
from pages.ui.shell.i18n import _, listed
from pages.ui.widgets.numbers import metric_width
from pages.ui.widgets.tables import show_rows

_WORDS: dict[Group, str] = {
    "same": N_("same name and shape"),
    "renamed": N_("older name: gamma, beta"),
    "shape": N_("another shape"),
    "missing": N_("missing in the file"),
    "head": N_("head of another class"),
    "tied": N_("tied copy"),
    "buffer": N_("buffer: nothing learned"),
    "other": N_("in no class of this size"),
}


class Brought(NamedTuple):
    """A checkpoint that was read: its name, its comparison, guessed fields, files that are cut off, and remarks."""

    name: str
    comparison: Matching
    guessed: tuple[str, ...] = ()
    cut_off: tuple[CutOff, ...] = ()
    remarks: Sequence[Problem] = ()


def show_changes(config: Config, item: WrittenModel) -> None:
    """Show the fields in which a model differs from the nearest preset."""
    start = values_of(subject_of_preset(item.base))
    rows = [(f"`{config.own_name(name)}`", _written(value), _written(start[name])) for name, value in item.changes]
    alt = _("The fields in which the model differs from the nearest preset")
    show_rows((_("Field"), _("Yours"), item.base), rows, alt)


def show_cut_off(file: CutOff) -> None:
    """Say that a file ends too early."""
    said = _(
        "{name} is incomplete: its header announces {expected:,} bytes of data, and {there:,} are there. The "
        "header is complete, and nothing else is read."
    )
    st.warning(said.format(**{**file._asdict(), "name": code(shorten(file.name))}), icon=":material/content_cut:")


def show_details(brought: Brought) -> None:
    """Show data types, what all names begin with, and the fields that no shape tells."""
    found, config, by_names = brought.comparison, brought.comparison.subject.config, "tie_word_embeddings"
    dtypes = " · ".join(f"{dtype} {count:,}" for dtype, count in found.dtypes.items())
    lines = [_("Data types: {dtypes}").format(dtypes=dtypes)]
    if found.wrapper:
        lines.append(_("All names begin with {prefix}, which is left out.").format(prefix=code(shorten(found.wrapper))))
    if by_names in brought.guessed:
        said = _(
            "{field} is guessed to be false, because the file has a decoder of its own; in files of older releases it "
            "can be a copy of the word embeddings."
        )
        lines.append(said.format(field=code(config.own_name(by_names))))
    assumed = _("{field} cannot be read from any shape: {value} is assumed, which changes no count.")
    guessed = [field for field in brought.guessed if field != by_names]
    lines += [assumed.format(field=code(field), value=getattr(config, field)) for field in guessed]
    st.caption("  \n".join(lines))


def show_verdict(brought: Brought) -> None:
    """Say whether a checkpoint is the model, has all of it, or does not fit."""
    found = brought.comparison
    names = {"name": code(brought.name), "architecture": _described(found.subject)}
    if found.agrees:
        said = _(
            "According to its header, {name} is {architecture}: it has every tensor, in the right shape, and no others."
        )
        if found.groups.keys() & {"tied", "buffer"}:
            said = _(
                "According to its header, {name} is {architecture}: it has every tensor, in the right shape; anything "
                "else is only copies or buffers."
            )
        st.success(said.format(**names), icon=":material/check_circle:")
    elif found.complete:
        said = _("{name} has all of {architecture}, and other tensors as well.")
        st.info(said.format(**names), icon=":material/add_circle:")
    else:
        said = _("{name} does not fit {architecture}: {missing:,} tensors are missing, {other:,} have another shape.")
        missing, other = (found.groups[group].tensors if group in found.groups else 0 for group in ("missing", "shape"))
        st.warning(said.format(missing=missing, other=other, **names), icon=":material/warning:")


def _described(subject: Subject) -> str:
    return subject.architecture if subject.add_pooling_layer else f"{subject.architecture} ({_('without pooler')})"


def show_groups(found: Matching) -> None:
    """Show the groups of tensors that lead from our count to the file's own."""
    bold = "**{}**".format
    ours = bold(_("{architecture} has").format(architecture=found.subject.architecture))
    tensors, numbers = bold(f"{found.tensors:,}"), bold(f"{found.numbers:,}")
    rows = [(ours, "", "", bold(f"{found.ours:,}"), "")]
    for group, some in found.groups.items():
        difference, example = found.differences.get(group, 0), _examples(group, some, found.subject.config)
        counts = (f"{some.tensors:,}", f"{some.in_checkpoint:,}", signed_count(difference))
        rows.append((_(_WORDS[group]), *counts, example))
    rows.append((bold(_("the file has")), tensors, numbers, numbers, ""))
    titles = (_("What it is"), _("Tensors"), _("Elements"), _("Difference"), _("For example"))
    # style.css makes it small: the first bracket in a name would end :small[...], even in code.
    with st.container(key="groups"):
        show_rows(titles, rows, _("The tensors of the file in groups"))


def _examples(group: Group, members: Members, config: Config) -> str:
    """The name of one tensor of a group; of heads, the names of all modules, with the classes that have them."""
    some = members.first
    if group == "head":
        modules = dict.fromkeys(one.name.rpartition(".")[0] for one in some)
        return f"{', '.join(map(code, modules))}: {', '.join(classes_of(some, config))}"
    if group == "shape":
        one = some[0]
        assert one.entry is not None
        assert one.shape is not None
        return _("{name}: {theirs} instead of {ours}").format(
            name=code(_full_name(one)), theirs=list(one.entry.shape), ours=list(one.shape)
        )
    return code(shorten(_full_name(some[0])) if group == "other" else _full_name(some[0]))


def _full_name(one: Matched) -> str:
    """A tensor's name in the file if it is there, else in the model."""
    return one.entry.name if one.entry else one.name


def show_figure(label: str, count: int) -> None:
    value = f"{count:,}"
    st.metric(label, value, width=metric_width(130, value, label))


def offer(subject: Subject, item: WrittenModel) -> None:
    """Draw the button that copies the model to the sidebar."""
    kind = type(subject.config)
    changed = [field for field, value in subject.config.shared().items() if value != getattr(kind, field)]
    left = [kind.own_name(field) for field in changed if field not in FIELDS]
    with st.container(width="content", gap="xxsmall"):
        st.button(_("Use this model"), icon=":material/arrow_back:", on_click=_take, args=(subject, item))
        if left:
            said = _("Not copied to the sidebar, which has no control for them; no count changes: {fields}")
            st.caption(said.format(fields=listed(f"`{field}`" for field in left)))


def _take(subject: Subject, item: WrittenModel) -> None:
    """Copy a model to the sidebar; in a callback."""
    changes = {field: value for field, value in item.changes if field in (*FIELDS, "add_pooling_layer", "architecture")}
    # Number fields with decimals accept 0.0, but not 0.
    decimals = {field: float(changes[field]) for field in DECIMALS if field in changes}
    take_preset(item.base, **changes | decimals | {"architecture": subject.architecture})


def _written(value: object) -> str:
    return written(value) if is_int(value) else f"`{value}`"
