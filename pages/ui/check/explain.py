"""Why a number that somebody has differs from the right one: a total, or a count term by term."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import streamlit as st

from bertcalc.check import terms
from bertcalc.check.diagnosis import Diagnosis, Match, Slipped, diagnose
from bertcalc.check.explain import MOST_SLIPS, Explanation
from bertcalc.check.formula import cause_formulas
from bertcalc.check.known import READINGS, Known, Reading
from bertcalc.check.slips import PADDED_TO, SLIPS, Sizes
from bertcalc.check.terms import Gap, Report, Verdict
from bertcalc.check.tools import tool_counts
from bertcalc.config import Problem
from bertcalc.formula import latex_number
from bertcalc.text import N_, shorten
from bertcalc.typed import LONGEST, Typed, TypedError, typed
from pages.ui.controls import Parameters, carry, set_values, show_problem
from pages.ui.i18n import translator
from pages.ui.sidebar import Choice, take_preset
from pages.ui.tables import show_table

VIEWS = ("total", "terms")
# The number that everybody has heard of; and the count that most people write down first.
NUMBER = "110M"
TERMS = """\
embeddings = (V + P + T) * H
attention = L * 4 * H * H
feed-forward = L * 2 * H * I
pooler = H * H"""


class Example(NamedTuple):
    """A count that somebody published, and the model that it is of."""

    preset: str
    terms: str
    changes: dict[str, bool]


EXAMPLES: dict[str, Example] = {
    N_("a config.json in formulas"): Example(
        "bert-base-chinese",
        """\
embeddings = (21128 + 512 + 2) * 768
self-attention = (768*64)*3*12 + 768*768
feed forward = 12 * (768*3072 + 3072*768)
LayerNorm = 768*2 + 768*2*12 + 768*2*12""",
        {},
    ),
    N_("a walk layer by layer"): Example(
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
    N_("a notebook of tensors"): Example(
        "bert-base-uncased",
        """\
word_embeddings = 30522 * 768 = 23,440,896
position_embeddings = 512 * 768 = 393,216
token_type_embeddings = 2 * 768 = 1,536
LayerNorm = 768 + 768
encoder = 85,054,464
pooler.dense.weight = 589,824
pooler.dense.bias = 768""",
        {},
    ),
    N_("an inventory of modules"): Example(
        "bert-base-uncased",
        """\
Dropout = 1 + (1+1+1)*12 = 37
LayerNorm = 1 + (1+1)*12 = 25
dense = (1+1+1)*12 + 1 = 37
Linear = 6*12 + 1 = 73""",
        {},
    ),
}
# Totals to try: of the present model's configuration, the last is that of the first example.
NUMBERS: dict[str, str] = {"110M": "", "1.1e8": "", "437.9 MB": "", "75,641,856": "bert-base-chinese"}


def check_number(text: str) -> tuple[str, dict[str, str]] | None:
    """What is wrong with a number in the link that the field could not show."""
    if len(text) <= LONGEST:
        return None
    return N_("{name} in the link is too long: {most} characters are the most."), {"most": f"{LONGEST}"}


def check_terms(text: str) -> tuple[str, dict[str, str]] | None:
    """What is wrong with a count in the link."""
    found = terms.problem(text)
    return None if found is None else (found.message, found.values)


PARAMETERS = Parameters(
    booleans=("others",), choices={"explain": VIEWS}, texts={"number": check_number, "terms": check_terms}
)


def show_total(choice: Choice) -> None:
    """A number, and what it turns out to be."""
    _ = translator()
    number = _choose_number()
    if number is None:
        return
    known = Known(choice.config, choice.architecture, choice.add_pooling_layer, 0, choice.model().num_parameters())
    found = diagnose(known, number)
    _show_matches(choice, found.matches)
    tools = [name for name, count in tool_counts(choice.config) if number.low == count == number.high]
    if tools:
        st.info(_("The formula of {tools} gives exactly this: see Other tools.").format(tools=", ".join(tools)))
    if found.slipped:
        _show_slipped(found)
    elif not found.matches and not tools:
        _show_nothing(choice, number)


def _choose_number() -> Typed | None:
    """The number that is typed, or the last that could be read."""
    _ = translator()
    carry("number", NUMBER)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            _("A number of parameters, as you have it"),
            NUMBER,
            key="number",
            bind="query-params",
            max_chars=LONGEST,
            width=320,
        )
        for number, preset in NUMBERS.items():
            st.button(number, key=f"example {number}", on_click=_take_number, args=(number, preset))
    try:
        found = typed(text)
    except TypedError as error:
        st.error(_say(Problem("number", text, error.message, error.values)))
        last = st.session_state.get("last_number")
        if last is not None:
            st.caption(_("Shown is the last number that could be read: {text}").format(text=last))
        return None if last is None else typed(last)
    st.session_state["last_number"] = text
    return found


def _take_number(number: str, preset: str) -> None:
    set_values({"number": number})
    if preset:
        take_preset(preset)


def _say(problem: Problem) -> str:
    _ = translator()
    return _(problem.message).format(**{name: _(value) for name, value in problem.values.items()})


def _show_matches(choice: Choice, matches: Sequence[Match]) -> None:
    """The known counts that a number may mean, by what it means."""
    _ = translator()
    groups: dict[Reading, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.reading, []).append(match)
    for reading, some in groups.items():
        if reading.exact is None:
            st.markdown(f"**{_meaning(reading)}**")
        else:
            st.success(_meaning(reading), icon=":material/check_circle:")
        here = choice.model().num_parameters()
        show_table(
            {
                _("Parameters"): [
                    f"**{match.total:,}**" if match.total == here else f"{match.total:,}" for match in some
                ],
                _("Which count it is"): ["  \n".join(map(_describe, match.models)) for match in some],
            },
            _("Known counts"),
        )


def _meaning(reading: Reading) -> str:
    """What a number is taken to be, in words."""
    _ = translator()
    said = _(READINGS[reading.key][0])
    if reading.exact is not None:
        return _("Exactly a known count, as {meaning}:").format(meaning=said)
    bounds = {"meaning": said, "low": f"{float(reading.low):,.0f}", "high": f"{float(reading.high):,.0f}"}
    if reading.rounded:
        return _("If its last zeros are not meant, as {meaning}: from {low} to {high}").format(**bounds)
    return _("All that rounds to it, as {meaning}: from {low} to {high}").format(**bounds)


def _describe(known: Known) -> str:
    """A known count in words: its class, and what else is said about it."""
    _ = translator()
    said = [f"`{known.architecture}`"]
    if known.architecture == "BertModel":
        said.append(_("with pooler") if known.add_pooling_layer else _("without pooler"))
    if any("predictions" in tensor.name for tensor in known.model().tensors()):
        said.append(_("decoder tied") if known.config.tie_word_embeddings else _("decoder untied"))
    if known.buffers:
        said.append(_("with {count:,} position_ids, a buffer in files of older releases").format(count=known.buffers))
    return " · ".join(said)


def _show_slipped(found: Diagnosis) -> None:
    """The shortest explanations: the first at once, those that are as short on request."""
    _ = translator()
    first, *others = found.slipped
    count = len(first.explanation) + (first.reading.key != "parameters")
    if first.reading.exact is None:
        said = _(
            "No known count rounds to it. {count} slips can lead to a total that does, but with a rounded number that "
            "may be chance: the exact total can tell."
        )
    elif count == 1:
        said = _("One slip explains it exactly.")
    else:
        said = _("{count} slips together explain it exactly; fewer do not.")
    st.info(said.format(count=count), icon=":material/troubleshoot:")
    _show_sum(first)
    if others:
        label = _("{count} other explanations are equally short").format(count=len(others))
        if len(others) == 1:
            label = _("Another explanation is equally short")
        folder = st.expander(label, key="others", bind="query-params", on_change="rerun")
        if folder.open:
            with folder:
                for other in others:
                    _show_sum(other)


def _show_sum(slipped: Slipped) -> None:
    """From the right count to the number, line by line."""
    _ = translator()
    known = slipped.model
    rows = [(_("right: {model}").format(model=_describe(known)), "", f"{known.parameters:,}")]
    rows += [
        (said, formula, f"{amount:+,}")
        for said, formula, amount in _causes(known, slipped.explanation, lambda name: True)
    ]
    wrong = known.parameters + sum(cause.amount for cause in slipped.explanation)
    meaning, factor = READINGS[slipped.reading.key]
    if slipped.reading.key != "parameters":
        rows.append((_("in parameters"), "", f"{wrong:,}"))
        rows.append((_(meaning), rf"$\div\ {_latex_fraction(factor)}$", f"{float(wrong / factor):,.0f}"))
    rows.append((_("**your number**"), "", f"**{shorten(st.session_state['last_number'])}**"))
    names = (_("What is counted"), _("Formula"), _("Parameters"))
    show_table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), _("From the right count to yours"))


def _latex_fraction(factor: Fraction) -> str:
    if factor.denominator == 1:
        return latex_number(factor.numerator)
    return rf"\tfrac{{{latex_number(factor.numerator)}}}{{{latex_number(factor.denominator)}}}"


def _causes(known: Known, explanation: Explanation, counted: Callable[[str], bool]) -> list[tuple[str, str, int]]:
    """Each slip in words, its formula with letters and with numbers, and what it adds."""
    _ = translator()
    names = frozenset(tensor.name.removeprefix("bert.") for tensor in known.model().tensors())
    slips = tuple(cause.slip for cause in explanation)
    chosen = frozenset(filter(counted, names | {""}))
    formulas = cause_formulas(known.config, known.architecture, slips, known.options, chosen)
    padded = Sizes.of(known.config).padded
    found = []
    for cause, formula in zip(explanation, formulas, strict=True):
        multiple = next((size for size in PADDED_TO if cause.slip == f"padded to {size}"), PADDED_TO[0])
        written = f"${formula.latex()} = {formula.latex(known.config, padded_vocab_size=padded[multiple])}$"
        found.append((_(SLIPS[cause.slip].said), written, cause.amount))
    return found


def _show_nothing(choice: Choice, number: Typed) -> None:
    _ = translator()
    st.warning(
        _(
            "No known count of this configuration, and no {most} slips or fewer, give {number}. It may be of another "
            "model: {architecture} of the sidebar has {count:,} parameters. An exact total, or the single terms of the "
            "count, can tell more."
        ).format(
            most=MOST_SLIPS,
            number=shorten(st.session_state["last_number"]),
            architecture=choice.architecture,
            count=choice.model().num_parameters(),
        ),
        icon=":material/help:",
    )


def show_terms(choice: Choice) -> None:
    """The lines of a count, each with its verdict and its correction."""
    _ = translator()
    text = _choose_terms()
    if found := terms.problem(text):
        show_problem(found)
    report = terms.check(choice.model(), choice.config, terms.read(text, choice.config))
    if not report.verdicts:
        st.info(_("Write one line for each term, such as attention = L * 4 * H * H."))
        return
    known = Known(choice.config, choice.architecture, choice.add_pooling_layer, 0, report.right)
    show_table(
        {
            _("Term"): [_literal(verdict.line.name) for verdict in report.verdicts],
            _("Value"): [_value(verdict) for verdict in report.verdicts],
            _("Verdict"): [_verdict(verdict) for verdict in report.verdicts],
            _("What is wrong, and by how much"): [_slips(verdict, known) for verdict in report.verdicts],
        },
        _("Each term with its verdict"),
    )
    if report.right:
        _show_corrections(report, known)


def _choose_terms() -> str:
    _ = translator()
    carry("terms", TERMS)
    with st.container(horizontal=True, vertical_alignment="center"):
        for name in EXAMPLES:
            st.button(_(name), key=f"example {name}", on_click=_take_example, args=(name,))
    text: str = st.text_area(
        _("Your count, a line for each term: name = calculation. V, H, L, A, I, P, T are the sidebar's numbers."),
        TERMS,
        height=130,
        key="terms",
        bind="query-params",
        max_chars=terms.LONGEST,
    )
    return text


def _take_example(name: str) -> None:
    example = EXAMPLES[name]
    set_values({"terms": example.terms, "architecture": "BertModel"})
    take_preset(example.preset, **example.changes)


def _literal(text: str) -> str:
    """Somebody's text in a table, where Markdown would be read."""
    return f"`{shorten(text)}`".replace("``", "") if "`" not in text else shorten(text).replace("`", "'")


def _value(verdict: Verdict) -> str:
    value = verdict.line.value
    if value is None:
        return ""
    return f"{int(value):,}" if value.denominator == 1 else f"{float(value):,g}"


def _verdict(verdict: Verdict) -> str:
    """Whether a line is right, and what it is taken to count."""
    _ = translator()
    if verdict.modules:
        return _(":material/check_circle: a number of modules")
    if verdict.counted and verdict.is_right:
        return f":material/check_circle: {_part(verdict)}"
    if verdict.counted:
        return f":material/cancel: {_part(verdict)}: {verdict.counted.right:,}"
    return ":material/help:"


def _slips(verdict: Verdict, known: Known) -> str:
    """Each slip of a line with its formula and what it adds; or why nothing can be said."""
    _ = translator()
    said = [_escaped(_say(verdict.line.problem))] if verdict.line.problem else []
    if verdict.counted and verdict.explanation is not None:
        names = {tensor.name for tensor in verdict.counted.tensors}
        said += [
            f"{slip}  \n{formula} = {amount:+,}"
            for slip, formula, amount in _causes(known, verdict.explanation, names.__contains__)
        ]
    elif verdict.counted:
        said.append(_("No slips were found that give this value."))
    elif verdict.line.value is not None and not verdict.modules:
        said.append(_("Nothing of this model has this value."))
    return "  \n".join(said)


def _escaped(text: str) -> str:
    """A text for a table's cell: none of it is Markdown."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-.!|$~:^" else sign for sign in text)


def _part(verdict: Verdict) -> str:
    _ = translator()
    assert verdict.counted
    part = _(verdict.counted.part)
    if verdict.counted.layers == "all":
        return part
    one = verdict.counted.layers == "one"
    if verdict.counted.part == "layers":
        return _("one layer") if one else _("all layers but one")
    return (_("{part} of one layer") if one else _("{part} of all layers but one")).format(part=part)


def _show_corrections(report: Report, known: Known) -> None:
    """From the typed sum to the right one: what each line lacks, and what no line counts."""
    _ = translator()
    rows: list[tuple[str, int]] = []
    for verdict in report.verdicts:
        if verdict.counted and verdict.line.value is not None and (lack := verdict.counted.right - verdict.line.value):
            rows.append((_("missing in {term}").format(term=_literal(verdict.line.name)), int(lack)))
        elif not verdict.counted and verdict.line.value and not verdict.modules:
            rows.append(
                (
                    _("{term} is no part of this model").format(term=_literal(verdict.line.name)),
                    -int(verdict.line.value),
                )
            )
    rows += [(_gap(gap), gap.parameters) for gap in report.gaps]
    if not rows:
        st.success(
            _("Every term is right and none is missing: {total:,} parameters.").format(total=report.right),
            icon=":material/verified:",
        )
        return
    show_table(
        {
            _("From your sum to the right one"): [
                _("your terms together"),
                *(said for said, _amount in rows),
                f"**{_describe(known)}**",
            ],
            _("Parameters"): [
                f"{int(report.typed):,}",
                *(f"{amount:+,}" for _said, amount in rows),
                f"**{report.right:,}**",
            ],
        },
        _("From your sum to the right one"),
    )


def _gap(gap: Gap) -> str:
    """What no line counts, or one too many: the component and its tensors."""
    _ = translator()
    names = ", ".join(name.removeprefix(f"{gap.component}.").removeprefix("layer.*.") for name in gap.names[:3])
    more = " ..." if len(gap.names) > 3 else ""
    said = _("not counted") if gap.parameters > 0 else _("counted twice")
    return f"{said}: {_(gap.component)} :small[({_escaped(names)}{more})]"
