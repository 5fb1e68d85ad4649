"""Check a count term by term: a verdict on each line, and the corrections from the typed sum to the right sum."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import streamlit as st

from bertcalc.diagnosis import count_lines
from bertcalc.diagnosis.hand_count import Gap, LineVerdict, TermsReport, check
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.diagnosis.part_words import known_in_words, part_in_layers
from bertcalc.families import family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.text import N_, code, shorten
from bertcalc.text.digits import signed_count
from pages.ui.diagnosis.cause_words import causes
from pages.ui.session.present_model import take_preset
from pages.ui.shell.controls import Reason, Text, sentence, set_values
from pages.ui.shell.i18n import _, in_a_row, listed, with_colon
from pages.ui.widgets.tables import show_rows

# The count that most readers write down first.
TERMS = """\
embeddings = (V + P + T) * H
attention = L * 4 * H * H
feed-forward = L * 2 * H * I
pooler = H * H"""
_MOST_ALSO = 2  # maximum number of other parts with the same count that a verdict names


class Example(NamedTuple):
    """A published hand count (``terms``), and its model: a preset with changed fields."""

    preset: str
    terms: str
    changes: Mapping[str, bool] = {}


EXAMPLES: dict[str, Example] = {
    N_("formulas with the values of a config.json"): Example(
        "bert-base-chinese",
        """\
embeddings = (21128 + 512 + 2) * 768
self-attention = (768*64)*3*12 + 768*768
feed forward = 12 * (768*3072 + 3072*768)
LayerNorm = 768*2 + 768*2*12 + 768*2*12""",
    ),
    N_("a layer-by-layer count"): Example(
        "bert-large-chinese",
        """\
Embedding-Token = 21128 * 1024
Embedding-Segment = 2 * 1024
Embedding-Position = 512 * 1024
Embedding-Norm = 2048
MultiHeadSelfAttention = 4 * (1024*1024 + 1024)
its norm = 2048
FeedForward = 4,198,400 + 4,195,328
its norm = 2048
the other 23 transformer layers = 23 * 12,596,224""",
        {"add_pooling_layer": False},
    ),
    N_("tensor-by-tensor notes"): Example(
        "bert-base-uncased",
        """\
word_embeddings = 30522 * 768 = 23,440,896
position_embeddings = 512 * 768 = 393,216
token_type_embeddings = 2 * 768 = 1,536
LayerNorm = 768 + 768
encoder = 85,054,464
pooler.dense.weight = 589,824
pooler.dense.bias = 768""",
    ),
    N_("an inventory of modules"): Example(
        "bert-base-uncased",
        """\
Dropout = 1 + (1+1+1)*12 = 37
LayerNorm = 1 + (1+1)*12 = 25
dense = (1+1+1)*12 + 1 = 37
Linear = 6*12 + 1 = 73""",
    ),
}


def _check(text: str) -> Reason | None:
    problem = count_lines.problem(text)
    return None if problem is None else (problem.message, problem.values)


COUNT = Text(
    "terms",
    N_("Your count, one line per term: name = calculation. V, H, L, A, I, P, T are the sizes of the current model."),
    TERMS,
    count_lines.LONGEST,
    check=_check,
    draw=st.text_area,
)


def report_on(model: Model, text: str) -> TermsReport:
    """Check a typed count; return a verdict on each line, and the gaps in the sum."""
    return check(model, model.final_config, count_lines.read(text, model.config))


def show_examples() -> None:
    """Draw a button for each published hand count, which puts the count into the field and loads its model."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for name in EXAMPLES:
            st.button(_(name), key=f"example {name}", on_click=_take_example, args=(name,))


def _take_example(name: str) -> None:
    example = EXAMPLES[name]
    set_values({"terms": example.terms})
    take_preset(example.preset, architecture=family_of(PRESETS[example.preset].config).base.name, **example.changes)


def show_verdicts(model: Model, report: TermsReport) -> None:
    """Show a table with each line of a count, its verdict and its mistakes."""
    present = KnownCount(model, report.right)
    titles = (_("Term"), _("Value"), _("Verdict"), _("What is wrong, and by how much"))
    rows = [
        (_name(verdict), _value(verdict), _verdict(verdict), _miscounts(verdict, present))
        for verdict in report.verdicts
    ]
    with st.container(key="terms-table"):  # window.css styles this table
        show_rows(titles, rows, _("Each term with its verdict"))


def show_in_short(model: Model, text: str) -> None:
    """Show the report on a count in projector view, as two short tables side by side."""
    report = report_on(model, text)
    terms, sums = st.columns([0.54, 0.46], gap="medium")
    with terms:
        rows = [(code(shorten(verdict.line.text)), _verdict(verdict)) for verdict in report.verdicts]
        show_rows((_("Term"), _("Verdict")), rows, _("Each term with its verdict"))
    with sums:
        show_corrections(model, report)


def _name(verdict: LineVerdict) -> str:
    return verdict.line.name and code(shorten(verdict.line.name))


def _value(verdict: LineVerdict) -> str:
    return "" if verdict.line.value is None else count_lines.written_value(verdict.line.value)


def _verdict(verdict: LineVerdict) -> str:
    """The verdict on a line as Markdown: whether it is right, what it counts, whether a later line multiplies it."""
    step = _("A later line multiplies this value.") if verdict.kind == "step" else ""
    return "  \n".join(filter(None, (_part(verdict), step)))


def _part(verdict: LineVerdict) -> str:
    if verdict.kind == "modules":
        return _(":material/check_circle: a count of modules")
    if verdict.kind == "size":
        return _(":material/check_circle: a size of the model")
    if verdict.kind == "no parameters":
        return _(":material/check_circle: no parameters") if verdict.is_right else _(":material/cancel: should be 0")
    if verdict.counted and verdict.is_right:
        parts = [sentence(part_in_layers(counted)) for counted in (verdict.counted, *verdict.also[:_MOST_ALSO])]
        words = _(" or ").join(parts) + (" ..." if len(verdict.also) > _MOST_ALSO else "")
        return f":material/check_circle: {words}"
    if verdict.counted and verdict.line.means(verdict.counted.right):  # a wrong shape with the same number of elements
        return f":material/cancel: {sentence(part_in_layers(verdict.counted))}"
    if verdict.counted:
        should = _("should be {count}").format(count=f"{verdict.counted.right:,}")
        part = with_colon(sentence(part_in_layers(verdict.counted)), "").rstrip()
        return f":material/cancel: {part}  \n{should}"  # on a separate line, even in a narrow column
    return ":material/cancel:" if verdict.line.problem and verdict.line.value is not None else ":material/help:"


def _miscounts(verdict: LineVerdict, present: KnownCount) -> str:
    """The mistakes of a line as Markdown: each miscount with its formula and amount, or another reason."""
    texts = [sentence(verdict.line.problem)] if verdict.line.problem else []
    if verdict.above is not None and verdict.line.value is not None:
        texts.append(_sum_above(verdict.above, verdict))
    elif verdict.explanation is None and verdict.line.problem:
        pass
    elif verdict.counted and verdict.explanation is None:
        texts.append(_("No known miscount leads to this value."))
    elif verdict.line.value is not None and not verdict.counted and verdict.kind == "parameters":
        texts.append(_("Nothing in this model has this value."))
    if verdict.counted and verdict.explanation:
        texts += [
            f"{miscount}  \n{formula} = {signed_count(amount)}"
            for miscount, formula, amount in causes(present, verdict.explanation, verdict.counted)
        ]
    return "  \n".join(texts)


def _sum_above(above: Fraction, verdict: LineVerdict) -> str:
    if verdict.line.means(int(above)):
        return _("The lines above add up to this.")
    return _("The lines above add up to {sum}.").format(sum=count_lines.written_value(above))


def show_corrections(model: Model, report: TermsReport) -> None:
    """Show the corrections from the typed sum to the right sum; show nothing if no term counts parameters."""
    if not report.right:
        return
    totals = [verdict.line.value for verdict in report.verdicts if verdict.kind == "total"]
    if report.right in totals and all(verdict.is_right for verdict in report.verdicts):
        message = _("The total is right: {total:,} parameters.").format(total=report.right)
        st.success(message, icon=":material/verified:")
        return
    if any(verdict.kind == "total" and verdict.line.uses_others for verdict in report.verdicts):
        return  # the verdict on this total has its corrections
    rows: list[tuple[str, int]] = []
    for verdict in report.verdicts:
        if not verdict.is_term or not verdict.line.value:
            continue
        if not verdict.counted:
            text = _("{term} is not part of this model").format(term=_name(verdict))
            rows.append((text, -int(verdict.line.value)))
        elif lack := verdict.counted.right - verdict.line.value:
            text = _("{term}, exactly") if verdict.is_right else _("missing from {term}")
            rows.append((text.format(term=_name(verdict)), int(lack)))
    rows += [(_gap(gap), gap.parameters) for gap in report.gaps]
    if not rows:
        st.success(
            _("Every term is right and none is missing: {total:,} parameters.").format(total=report.right),
            icon=":material/verified:",
        )
        return
    first = (_("the sum of the terms"), f"{int(report.typed):,}")
    last = (f"**{sentence(known_in_words(KnownCount(model, report.right)))}**", f"**{report.right:,}**")
    title = _("From this sum to the right one")
    show_rows((title, _("Parameters")), [first, *((text, signed_count(amount)) for text, amount in rows), last], title)


def _gap(gap: Gap) -> str:
    """A gap as text: whether its tensors are not counted or counted twice, and the names of the first three."""
    names = listed(name.removeprefix(f"{gap.component}.").removeprefix("layer.*.") for name in gap.names[:3])
    ellipsis = " ..." if len(gap.names) > 3 else ""
    kind = _("not counted") if gap.parameters > 0 else _("counted twice")
    tensors = _("({names})").format(names=names + ellipsis)
    return with_colon(kind, in_a_row([_(gap.component), f":small[{tensors}]"]))
