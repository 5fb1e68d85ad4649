"""The controls, figures and tables of the Compute page."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.compute.conventions import PUBLISHED, RULES
from bertcalc.compute.devices import DEVICES, PRECISIONS, RUNS, Device, Precision, price, seconds
from bertcalc.compute.flops import (
    ELEMENT_COSTS,
    PARTS,
    PYTORCH,
    Convention,
    Part,
    as_stated,
    by_name,
    by_part,
    has_masked_head,
    masked_positions,
    tokens,
    total,
)
from bertcalc.compute.formula import (
    Letters,
    crossover,
    letters,
    name_formulas,
    part_formulas,
    rule_formulas,
    scientific,
    time_formula,
    value,
)
from bertcalc.config import Problem, check_whole_number
from bertcalc.formula import CALL_LETTERS, Formula, latex_number
from bertcalc.forward.outputs import Call, attends, possible, problems, reads_encoder, run
from bertcalc.forward.steps import Step
from bertcalc.forward.walk import key_of
from bertcalc.text import N_
from pages.ui.batch import choose_batch
from pages.ui.compute.charts import length_areas, length_frame
from pages.ui.compute.proof import FlopProof, prove
from pages.ui.controls import Number, Parameters, show_problem, whole_number
from pages.ui.formulas import aligned, colored_sum
from pages.ui.forward_proof import countable
from pages.ui.i18n import translator
from pages.ui.numbers import metric_width, percent
from pages.ui.proof import buildable, installed
from pages.ui.sidebar import Choice
from pages.ui.tables import show_table
from pages.ui.theme import INK

VIEWS = ("forward", "length", "conventions", "time")
CHOICES: dict[str, tuple[str, ...]] = {
    "compute": VIEWS,
    "unit": ("FLOPs", "MACs"),
    "operations": ("matmul", "all"),
    "logits": ("all", "masked"),
    "training": ("3x", "4x"),
    "rule": tuple(RULES),
    "budget": ("steps", "tokens"),
    "device": tuple(DEVICES),
    "format": PRECISIONS,
}
# Default and most of each whole number; the least is 1.
LIMITS: dict[str, tuple[int, int]] = {
    "steps": (10**6, 10**12),
    "tokens": (10**10, 10**15 - 1),
    "devices": (8, 10**6),
    "utilisation": (40, 100),
}
PARAMETERS = Parameters(
    whole_numbers=tuple(LIMITS), booleans=("modules", "pytorch"), decimals=("price",), choices=CHOICES
)
# What each choice of a convention means.
MEANINGS: dict[tuple[str, str], str] = {
    ("unit", "FLOPs"): N_("2 FLOPs for each multiply-add"),
    ("unit", "MACs"): N_("multiply-adds, which element-wise operations have none of"),
    ("operations", "matmul"): N_("matrix products alone"),
    ("operations", "all"): N_("matrix products and element-wise operations"),
    ("logits", "all"): N_("logits at every position"),
    ("logits", "masked"): N_("logits at the 15 % of positions that are masked"),
    ("training", "3x"): N_("training: forward, and backward twice as much"),
    ("training", "4x"): N_("training: forward, the layers forward again, and backward twice as much"),
}
_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")


class Count(NamedTuple):
    """What is counted on this page: a model, what goes through it, by which convention; and the steps of that."""

    choice: Choice
    call: Call
    convention: Convention
    steps: list[Step]

    @property
    def letters(self) -> Letters:
        """The same steps in letters."""
        cross = attends(self.choice.config, self.choice.architecture, self.call)
        return letters(
            self.choice.config, self.choice.architecture, self.convention, cross=cross, **self.choice.options
        )

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers for the letters that are no fields of the configuration."""
        length = self.call.sequence_length
        return {field: getattr(self.call, field) for field in CALL_LETTERS} | {
            "masked_positions": masked_positions(length)
        }

    def written(self, formula: Formula) -> tuple[str, str]:
        """LaTeX with letters, and with numbers."""
        return formula.latex(), formula.latex(self.choice.config, **self.sizes)


def choose_count(choice: Choice) -> Count:
    """Draw what goes through and how it is counted; the last or the nearest of it that is possible."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        call = _choose_call(choice)
        steps = run(choice.config, choice.architecture, call, **choice.options)
        said: dict[str, Any] = {
            field: _segmented(field) for field in Convention._fields if field != "logits" or has_masked_head(steps)
        }
    convention = Convention(**said)
    return Count(choice, call, convention, as_stated(steps, convention, call.sequence_length))


def _choose_call(choice: Choice) -> Call:
    config, architecture = choice.config, choice.architecture
    said = Call(*choose_batch(config))
    if reads_encoder(config, architecture):
        said = said._replace(encoder_sequence_length=_size("encoder_sequence_length", None, 205))
    if architecture == "BertForMultipleChoice":
        said = said._replace(num_choices=_size("num_choices", said.num_choices, 130))
    for problem in problems(config, architecture, said):
        if problem.field in CALL_LETTERS:
            show_problem(problem)
    return possible(config, architecture, said)


def _size(field: str, default: Number, width: int) -> Number:
    return whole_number(f"{field} ${CALL_LETTERS[field]}$", field, default, width=width)


def _segmented(field: str) -> str:
    _ = translator()
    options = CHOICES[field]
    meanings = "  \n".join(f"**{option}**: {_(MEANINGS[field, option])}" for option in options)
    chosen: str = st.segmented_control(
        field, options, default=options[0], key=field, required=True, bind="query-params", help=meanings
    )
    return chosen


def show_figures(count: Count) -> None:
    """The large numbers: forward, per token, training; in the unit of the convention."""
    _ = translator()
    unit, steps = count.convention.unit, count.steps
    forward, training = total(steps, count.convention), total(steps, count.convention, "training")
    figures: dict[str, Fraction | int] = {
        _("Forward, {unit}"): forward,
        _("Forward for each token, {unit}"): Fraction(forward, tokens(count.steps)),
        _("Training step, {unit}"): training,
    }
    with st.container(horizontal=True):
        for label, figure in figures.items():
            value, short = f"{round(figure):,}", scaled(figure, unit)
            st.metric(
                label.format(unit=unit),
                value,
                short,
                delta_color="off",
                delta_arrow="off",
                width=metric_width(230, value, short),
            )


def scaled(figure: Fraction | float, unit: str) -> str:
    """A number with four digits and the prefix of its size: 22.35 GFLOPs."""
    power = min(int(math.log10(figure)) // 3, len(_PREFIXES) - 1) if figure >= 1 else 0
    small = float(figure / 1000**power)
    return f"{f'{small:.4g}' if small < 1000 else f'{small:,.0f}'} {_PREFIXES[power]}{unit}"


def show_convention(count: Count) -> None:
    """What the figures count, said in words."""
    _ = translator()
    said = count.convention._asdict()
    if not has_masked_head(count.steps):
        del said["logits"]
    st.caption(" · ".join(_(MEANINGS[choice]) for choice in said.items()))


def forward_formula(count: Count, colors: dict[Part, str]) -> str:
    """LaTeX for the forward cost, each term in the colour of its part: letters, numbers, and what comes out."""
    formulas = part_formulas(count.letters, count.convention)
    written = [(*count.written(term), colors[part]) for part, terms in formulas.items() for term in terms]
    letters = [(latex, color) for latex, _numbers, color in written]
    numbers = [(latex, color) for _letters, latex, color in written]
    unit, whole = count.convention.unit, latex_number(total(count.steps, count.convention))
    lines = [*colored_sum("F &= ", letters), *colored_sum("&= ", numbers), rf"&= {whole}\ \text{{{unit}}}"]
    return aligned(lines)


def show_names(count: Count) -> None:
    """Every module, and every step that is none, with its formula, its cost, and the share that all copies have."""
    _ = translator()
    rows = by_name(count.steps, count.convention)
    formulas = name_formulas(count.letters, count.convention)
    whole, unit = rows[0].cost, count.convention.unit
    show_table(
        {
            _("Module"): [f"`{key_of(row.name) or count.choice.architecture}`" for row in rows],
            # What holds all layers is in the formula of the page, and too wide for a column.
            _("Formula of one"): [
                f"${formulas[row.name].latex()}$" if row.name not in ("", "encoder") else "" for row in rows
            ],
            _("One, {unit}").format(unit=unit): [f"{row.cost:,}" for row in rows],
            _("Copies"): [f"{row.copies:,}\N{NO-BREAK SPACE}×" for row in rows],
            _("Share"): [percent(row.copies * row.cost, whole) for row in rows],
        },
        _("What each module computes in a forward pass"),
    )


def show_verdict(count: Count) -> None:
    """A switch that lets PyTorch count the real model too, and the verdict: at once after every change."""
    _ = translator()
    if not st.toggle(_("Let PyTorch count too"), key="pytorch", bind="query-params"):
        return
    config, architecture, options = count.choice.config, count.choice.architecture, count.choice.options
    if not installed():
        st.info(_("This needs torch and transformers, which are not installed here."))
    elif buildable(config) != config:
        st.info(
            _("transformers 5 no longer builds position_embedding_type {kind}: there is nothing to count.").format(
                kind=config.position_embedding_type
            )
        )
    elif problem := next(problems(config, architecture, count.call), None):
        show_problem(problem)
    elif not countable(config, architecture, options, count.call):
        st.error(_("These tensors are too large for PyTorch to count. Choose a smaller batch or a shorter sequence."))
    else:
        with st.spinner(_("Running the real {architecture} ...").format(architecture=architecture)):
            _show_proof(_prove(config, architecture, options, count.call, recompute=count.convention.training == "4x"))


_prove = st.cache_data(max_entries=100, show_spinner=False)(prove)


def _show_proof(proof: FlopProof) -> None:
    _ = translator()
    if proof.differences:
        st.error(_("PyTorch counts something else."), icon=":material/error:")
        show_table(
            {
                _("Module"): [count.name for count in proof.differences],
                "bertcalc": [_figure(count.ours) for count in proof.differences],
                "PyTorch": [_figure(count.theirs) for count in proof.differences],
            },
            _("The counts that differ"),
        )
    else:
        st.success(
            _(
                "PyTorch counts the same: {forward:,} FLOPs forward, {training:,} with backward, and the same in each "
                "of {modules:,} modules."
            ).format(forward=proof.forward.theirs, training=proof.training.theirs, modules=len(proof.modules)),
            icon=":material/verified:",
        )


def _figure(figure: int | None) -> str:
    return "" if figure is None else f"{figure:,}"


class Crossing(NamedTuple):
    """Where scores and context overtake other parts of the layers: which parts, the formula, the length."""

    parts: tuple[Part, ...]
    formula: Formula
    length: Fraction


def crossings(count: Count) -> list[Crossing]:
    """Where scores and context overtake the feed-forward, and where feed-forward and projections together."""
    found = []
    for parts in _OVERTAKEN:
        formula = crossover(count.letters, count.convention, parts)
        if formula and (length := value(formula, count.choice.config, **count.sizes)) > 0:
            found.append(Crossing(parts, formula, length))
    return found


_OVERTAKEN: tuple[tuple[Part, ...], ...] = (("feed-forward",), ("feed-forward", "projections"))


def crossing_formula(count: Count, crossing: Crossing) -> str:
    """LaTeX for the length of a crossing: letters, numbers, and what comes out."""
    length = crossing.length
    result = latex_number(length.numerator) if length.denominator == 1 else f"{float(length):,.1f}".replace(",", "{,}")
    return "S = " + " = ".join(dict.fromkeys([*count.written(crossing.formula), result]))


def show_lengths(count: Count, look: str) -> None:
    """How the parts' shares change with the sequence length, and where one overtakes others."""
    _ = translator()
    crossed = crossings(count)
    config = count.choice.config
    sentences = (
        _("Scores and context overtake the feed-forward at"),
        _("and feed-forward and projections together at"),
    )
    said = dict(zip(_OVERTAKEN, sentences, strict=True))
    st.markdown("\n\n".join(f"{said[one.parts]} ${crossing_formula(count, one)}$" for one in crossed))
    marks: list[tuple[float, str]] = [
        (count.call.sequence_length, "S ="),
        (config.max_position_embeddings, "max_position_embeddings ="),
        *((float(crossing.length), _("crossover")) for crossing in crossed),
    ]
    # Far enough to see what comes after a crossover, not so far that there is nothing else to see.
    longest = round(max(2 * min(length, _LONGEST) for length, _text in marks))
    first = min(_SHORTEST, config.max_position_embeddings, count.call.sequence_length)
    lengths = sorted({round(first * (longest / first) ** (at / _POINTS)) for at in range(_POINTS + 1)})
    costs = [_parts_at(count, length) for length in lengths]
    names = {part: _(part) for part in PARTS}
    shown = [(length, f"{text} {length:,.0f}") for length, text in marks if length <= longest]
    st.vega_lite_chart(
        length_frame(lengths, costs, names, shown),
        length_areas(look),
        alt=_("Share of each part over the sequence length"),
    )


_POINTS = 40
_SHORTEST, _LONGEST = 16, 500_000


def _parts_at(count: Count, length: int) -> dict[Part, int]:
    call = count.call._replace(batch_size=1, sequence_length=length)  # shares do not depend on the batch
    steps = run(count.choice.config, count.choice.architecture, call, **count.choice.options)
    return by_part(as_stated(steps, count.convention, length), count.convention)


def show_rules(count: Count, look: str) -> None:
    """What others' conventions give for the same model, batch and sequence; one of them in full."""
    _ = translator()
    config, call = count.choice.config, count.call
    steps = run(config, count.choice.architecture, call, **count.choice.options)
    sequences = tokens(steps) // call.sequence_length
    ours = {rule.name: total(steps, PYTORCH, rule.phase) for rule in RULES.values()}
    theirs = {rule.name: rule.flops(config, sequences, call.sequence_length, steps) for rule in RULES.values()}
    phases = {"forward": _("forward"), "training": _("training")}
    show_table(
        {
            _("Convention"): [f"**{rule.name}**, {phases[rule.phase]}" for rule in RULES.values()],
            _("FLOPs"): [f"{round(figure):,}" for figure in theirs.values()],
            _("Against PyTorch"): [_signed_percent(theirs[name] / ours[name] - 1) for name in RULES],
            _("What makes the difference"): [f":small[{_(rule.difference)}]" for rule in RULES.values()],
        },
        _("What other conventions give"),
    )
    chosen = st.segmented_control(
        _("Convention"),
        CHOICES["rule"],
        default=CHOICES["rule"][0],
        key="rule",
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    rule = RULES[chosen]
    cross = attends(config, count.choice.architecture, call)
    symbolic = letters(config, count.choice.architecture, PYTORCH, cross=cross, **count.choice.options)
    starts = (rf"\text{{{rule.name}}} &= ", r"\Delta &= ")
    lines = []
    for start, terms in zip(starts, rule_formulas(symbolic, rule), strict=True):
        lines += colored_sum(start, [(term.latex(), INK[look]) for term in terms])
    st.latex(aligned(lines))
    published = [one for one in PUBLISHED if one.rule == chosen]
    st.caption(
        "  \n".join(
            [
                _("Δ: what PyTorch counts more. Source: {source}").format(source=rule.source),
                *(
                    _(
                        "Published for {preset}, batch {batch:,}, sequence {length:,}: {figure} {unit}; here {ours}"
                    ).format(
                        preset=one.preset,
                        batch=one.batch_size,
                        length=one.sequence_length,
                        figure=f"{one.figure:,}",
                        unit=one.unit,
                        ours=f"{float(one.ours()):,.6g}",
                    )
                    for one in published
                ),
            ]
        )
    )


def show_element_costs() -> None:
    """What each element-wise operation counts, and whose figures these are."""
    _ = translator()
    st.caption(
        _(
            "Element-wise operations count as in ELECTRA's flops_computation.py, for each number that they give; "
            "views, copies and look-ups count nothing."
        )
    )
    show_table(
        {
            _("Operation"): [_(cost.meaning) for cost in ELEMENT_COSTS.values()],
            _("FLOPs for each number"): [f"{cost.flops}" for cost in ELEMENT_COSTS.values()],
        },
        _("What each element-wise operation counts"),
    )


def _signed_percent(share: Fraction) -> str:
    return f"{100 * float(share):+.1f} %" if share else "±0"


class Plan(NamedTuple):
    """A training run: FLOPs, and the devices that it runs on."""

    flops: Fraction
    device: Device
    precision: Precision
    devices: int
    utilisation: Fraction
    hourly: float

    @property
    def duration(self) -> Fraction:
        """Seconds."""
        found: Fraction = seconds(self.flops, self.device.peak[self.precision], self.utilisation, self.devices)
        return found

    @property
    def price(self) -> float:
        """In the money of the hourly price."""
        return price(self.duration, self.devices, self.hourly)


def choose_plan(count: Count) -> Plan:
    """Draw how much is trained and on what; where that is not possible the nearest that is."""
    found: list[Problem] = []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        budget = _selected("budget", 95)
        amount = _number(budget, 150, found)
        name = _selected("device", 118)
        precision = _selected("format", 90)
        devices = _number("devices", 85, found)
        utilisation = _number("utilisation", 105, found)
        hourly = _decimal("price", 2.0, 95, found)
    device = DEVICES[name]
    if precision not in device.peak:
        nearest = next(iter(device.peak))
        found.append(
            Problem(
                "format",
                precision,
                N_("{device} has no {precision} products: {nearest} is what it has."),
                {"device": name, "precision": precision, "nearest": nearest},
                ({"format": nearest},),
            )
        )
        precision = nearest
    for problem in found:
        show_problem(problem)
    step = total(count.steps, count.convention._replace(unit="FLOPs"), "training")
    flops = Fraction(step * amount, 1 if budget == "steps" else tokens(count.steps))
    return Plan(flops, device, precision, devices, Fraction(utilisation, 100), hourly)


def _selected(field: str, width: int) -> Any:
    return st.selectbox(field, CHOICES[field], key=field, bind="query-params", width=width)


def _number(field: str, width: int, found: list[Problem]) -> int:
    default, most = LIMITS[field]
    unit = f"{field}, %" if field == "utilisation" else field
    number = whole_number(unit, field, default, width=width)
    if problem := check_whole_number(field, number, 1, most, default):
        found.append(problem)
        nearest: int = problem.remedies[0][field]
        return nearest
    return number


def _decimal(field: str, default: float, width: int, found: list[Problem]) -> float:
    number: float = st.number_input(
        f"{field}, USD/h", value=default, step=0.1, format="%.2f", key=field, bind="query-params", width=width
    )
    if 0 <= number <= _MOST_EXPENSIVE:
        return number
    message = N_("{field} {value} is not possible: it must be from 0 to {high}.")
    nearest = 0.0 if number < 0 else _MOST_EXPENSIVE
    values = {"field": field, "value": f"{number:g}", "high": f"{_MOST_EXPENSIVE:,.0f}"}
    found.append(Problem(field, number, message, values, ({field: nearest},)))
    return nearest


_MOST_EXPENSIVE = 1e6


def show_plan(plan: Plan) -> None:
    """What it takes: FLOPs, time, price; and the formula of the time with its numbers."""
    _ = translator()
    figures = {
        _("Training, FLOPs"): (scaled(plan.flops, "FLOPs"), f"{round(plan.flops):,}"),
        _("Time"): (duration(plan.duration), f"{round(plan.duration):,} s"),
        _("Price"): (
            f"{plan.price:,.2f} USD",
            f"{float(plan.duration * plan.devices / 3600):,.1f} h × {plan.hourly:g} USD",
        ),
    }
    with st.container(horizontal=True):
        for label, (figure, exact) in figures.items():
            width = metric_width(230, figure, exact)
            st.metric(label, figure, exact, delta_color="off", delta_arrow="off", width=width)
    peak = plan.device.peak[plan.precision]
    formula, numbers = time_formula(plan.flops, peak, plan.utilisation, plan.devices)
    st.latex(rf"t = {formula} = {numbers} = {scientific(plan.duration)}\ \text{{s}}")
    bandwidth = plan.device.bandwidth
    st.caption(
        _(
            "F: FLOPs, as stated above. n: devices. R: their peak for dense products, {peak}; memory {bandwidth}. "
            "u: the share of the peak that is reached. {source}."
        ).format(
            peak=scaled(peak, "FLOP/s"),
            bandwidth=scaled(bandwidth, "B/s") if bandwidth else _("not stated here, for sources disagree"),
            source=plan.device.source,
        )
    )


def show_runs(plan: Plan, convention: Convention) -> None:
    """Pre-training runs as they were reported, beside what the formula gives for them."""
    _ = translator()
    st.markdown(_("**Runs that were published**"))
    rows = [
        (
            run.name,
            f"{run.devices:,} × {run.device}",
            scaled(run.flops(convention), "FLOPs"),
            duration(run.hours * 3600),
            duration(run.seconds(convention, plan.utilisation)),
            f"{100 * float(run.utilisation(convention)):.1f} %",
            f"{_(run.remark)}. {run.source}",
        )
        for run in RUNS
    ]
    columns = (
        _("Run"),
        _("On"),
        _("By the formula"),
        _("Time reported"),
        _("Time at your utilisation"),
        _("Utilisation that fits"),
        _("Source"),
    )
    show_table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)), _("Published pre-training runs"))


def duration(time: Fraction) -> str:
    """Seconds as people say them: 4.0 d, 81.4 h, 76.2 min."""
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 96)):
        if time < most * size:
            return f"{float(time / size):,.1f} {unit}"
    return f"{float(time / 86400):,.1f} d"
