"""The controls, figures, charts and tables of the Memory page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import pandas as pd
import streamlit as st

from bertcalc.config import check_whole_number
from bertcalc.formula import Formula, latex_number, shape_letters
from bertcalc.forward.outputs import Call, problems
from bertcalc.memory import footprint
from bertcalc.memory.footprint import DEVICES, WEIGHT_BITS, WRITE_UP, Growth, Plan, Subject, binding, grow, weight_bytes
from bertcalc.memory.formula import kept_formulas, korthikanti_formulas, moment_formulas, part_formulas
from bertcalc.memory.optimizers import OPTIMIZERS, PARTS, PRECISIONS, Part, sizes
from bertcalc.memory.saved import ATTENTIONS, ITEM_BYTES, RECOMPUTE, Attention, Dtype, Saved, by_module, total_bytes
from bertcalc.text import N_
from bertcalc.tree.totals import Component, component_of
from pages.ui import forward_proof, proof
from pages.ui.batch import Batch, choose_batch
from pages.ui.charts import Spec, ranked_bars, spec_of
from pages.ui.controls import Parameters, carry, show_problem, whole_number
from pages.ui.formulas import aligned, colored_sum
from pages.ui.frozen import choose_freezing
from pages.ui.i18n import translator
from pages.ui.memory import proof as memory_proof
from pages.ui.numbers import metric_width, percent, size, unbroken
from pages.ui.sidebar import Choice
from pages.ui.tables import shape_text, show_table
from pages.ui.theme import BACKGROUND, INK, appearance, colors

VIEWS = ("weights", "training", "activations", "inference", "fit")
CHOICES: dict[str, tuple[str, ...]] = {
    "memory": VIEWS,
    "training_dtype": tuple(PRECISIONS),
    "optimizer": tuple(OPTIMIZERS),
    "attention": ATTENTIONS,
    "recompute": RECOMPUTE,
    "dtype": tuple(ITEM_BYTES),
    "task": ("training", "inference"),
    "device_memory": (*(f"{gigabytes}GB" for gigabytes in DEVICES), "GiB"),
}
PARAMETERS = Parameters(
    whole_numbers=("device_gib",), booleans=("fused_dropout", "hooks", "kept", "korthikanti"), choices=CHOICES
)
_DEFAULTS = {"device_memory": "16GB"}
_MORE = ("fused_dropout", "freeze_layers", "train", "freeze_embeddings")
_WIDTHS = {
    "training_dtype": 115,
    "optimizer": 132,
    "attention": 92,
    "recompute": 108,
    "dtype": 115,
    "task": 115,
    "device_memory": 105,
    "device_gib": 130,
}
_LARGEST_GIB = 1_000_000
_FONT = 15
# Okabe and Ito's hues again, darkened or lightened as in theme.py, with a violet and two greys.
COLORS: dict[str, tuple[str, ...]] = {
    "light": ("#0072b2", "#5b4bb5", "#007556", "#b34700", "#a8437d", "#5f6673", "#7a6200", "#a8437d"),
    "dark": ("#56b4e9", "#b5a6ff", "#2fc79b", "#f0a050", "#e391c0", "#a9b0bd", "#e3d04f", "#e391c0"),
}
LEGENDS: dict[str, str] = {
    "adamw-8bit": N_(
        "bitsandbytes: 2 bytes a parameter, and 2 float32 scales for each of $K$ blocks of 256; the $N_s$ parameters "
        "of tensors with fewer than 4,096 keep 8 bytes each."
    ),
    "adafactor": N_(
        "Adafactor: a float32 for each of the $R$ rows and $C$ columns of matrices, and of the $v$ numbers in vectors."
    ),
}


class Run(NamedTuple):
    """What the page is about: a model, and what goes through it."""

    choice: Choice
    batch: Batch

    @property
    def subject(self) -> Subject:
        """The model as the core takes it."""
        choice = self.choice
        return Subject(choice.config, choice.architecture, tuple(choice.options.items()))

    def written(self, formula: Formula) -> tuple[str, str]:
        """LaTeX with letters, and with numbers."""
        return formula.latex(), formula.latex(self.choice.config, **self.batch._asdict())


def show_weights(choice: Choice) -> None:
    """The weights alone by the type of their numbers; and the 72.1 MB of a write-up."""
    _ = translator()
    count = choice.model().num_parameters()
    _metrics({_("Parameters in {architecture}").format(architecture=choice.architecture): (f"{count:,}", "N")})
    found = {dtype: weight_bytes(count, bits) for dtype, bits in WEIGHT_BITS.items()}
    show_table(
        {
            _("Numbers"): list(WEIGHT_BITS),
            _("Formula"): [
                rf"${factor} N = {factor} \cdot {latex_number(count)}$" for factor in map(_factor, WEIGHT_BITS.values())
            ],
            _("Bytes"): [f"{total:,}" for total in found.values()],
            "MB": [f"{total / 10**6:,.1f} MB" for total in found.values()],
            "MiB": [f"{total / 2**20:,.1f} MiB" for total in found.values()],
        },
        _("Weights by the type of their numbers"),
    )
    st.caption(_("1 MB is 1,000,000 bytes, 1 MiB is 1,048,576. The scales of int8 and 4-bit formats come on top."))
    st.info(
        _(
            'A write-up counts {count} parameters, divides by 1,024 · 1,024, and calls the result "{mebi} MB". It is '
            "{mebi} mebi-parameters: in float32 these parameters take {size}."
        ).format(count=f"{WRITE_UP:,}", mebi=f"{WRITE_UP / 2**20:.1f}", size=size(weight_bytes(WRITE_UP, 32)))
    )


def _factor(bits: int) -> str:
    share = Fraction(bits, 8)
    return f"{share}" if share.denominator == 1 else rf"\tfrac{{{share.numerator}}}{{{share.denominator}}}"


def choose_plan(choice: Choice, *, states: bool = True) -> tuple[Run, Plan]:
    """Draw what goes through and how it is trained; ``states``: whether the optimizer matters."""
    _ = translator()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch = choose_batch(choice.config)
        said: dict[str, Any] = {"precision": _select("training_dtype")}
        if states:
            said["optimizer"] = _select("optimizer")
        said |= {field: _select(field) for field in ("attention", "recompute")}
        changed = sum(field in st.query_params for field in _MORE)
        with st.popover(f"{_('More')} ({changed})" if changed else _("More")):
            said["fused_dropout"] = _checkbox("fused_dropout")
            freezing = choose_freezing(choice.config)
    if problem := replace(freezing, layers=st.session_state["freeze_layers"]).problem(choice.config):
        show_problem(problem._replace(remedies=()))  # again, where it is seen: the way out is beside the control
    _show_remarks(choice)
    if said["fused_dropout"]:
        st.caption(_("One-byte dropout masks are what PyTorch keeps on CUDA. Not measured here: there is no GPU."))
    return Run(choice, batch), Plan(**said, freezing=freezing)


def choose_inference(choice: Choice) -> tuple[Run, Dtype, Attention]:
    """Draw what goes through and how."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch = choose_batch(choice.config)
        dtype: Any = _select("dtype")
        attention: Any = _select("attention")
    _show_remarks(choice)
    return Run(choice, batch), dtype, attention


def _show_remarks(choice: Choice) -> None:
    """Relative positions have no fused attention; an encoder's output is as long as the decoder's own sequence."""
    _ = translator()
    if choice.config.position_embedding_type != "absolute" and st.session_state["attention"] == "fused":
        st.caption(_("With relative positions there is no fused attention: counted is eager attention."))
    if Subject(choice.config, choice.architecture).seen(1):
        st.caption(_("The cross attention looks at an encoder's output as long as the sequence."))


def show_training(run: Run, plan: Plan) -> None:
    """All parts of a training step: the total, one bar, a formula for each."""
    _ = translator()
    found = footprint.training(run.subject, plan, *run.batch)
    total, model = sum(found.values()), run.choice.model()
    steady = sum(found[part] for part in found if part not in ("activations", "recomputed"))
    _metrics(
        {
            _("Memory for a training step"): (
                size(total),
                _("{batch_size:,} × {sequence_length:,} tokens").format(**run.batch._asdict()),
            ),
            _("Beside activations"): (
                _("{bytes:.2f} bytes a parameter").format(bytes=steady / model.num_parameters()),
                size(steady),
            ),
        }
    )
    _show_bar(found)
    trained = sizes(map(plan.freezing.trained, model.tensors()))
    written = part_formulas(plan.precision, plan.optimizer, model.num_parameters(), trained)
    formulas: dict[Part, str] = {part: f"${letters} = {numbers}$" for part, (letters, numbers) in written.items()}
    kept = kept_formulas(run.subject, plan, *run.batch).components
    formulas["activations"] = f"${' + '.join(formula.latex() for formula in kept.values())}$"
    formulas["recomputed"] = _("what one recomputation brings back")
    rows = {part: count for part, count in found.items() if count}
    show_table(
        {
            _("Part"): [unbroken(_(part)) for part in rows],
            _("Formula, in bytes"): [formulas[part] for part in rows],
            _("Size"): [unbroken(size(count)) for count in rows.values()],
        },
        _("The parts of a training step"),
    )
    legends = [N_("$N$ are all parameters, $N_t$ those that are trained."), PRECISIONS[plan.precision].meaning]
    legends += [LEGENDS[plan.optimizer]] if plan.optimizer in LEGENDS else []
    st.caption(" ".join(map(_, legends)))


def show_activations(run: Run, plan: Plan) -> None:
    """What autograd keeps: the total, its formula, the modules it is kept for; the tensors, and a published formula."""
    _ = translator()
    saved = footprint.kept(run.subject, plan, *run.batch)
    formulas = kept_formulas(run.subject, plan, *run.batch)
    total = total_bytes(saved)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _metrics({_("Kept for the backward pass"): (size(total), _("{total:,} bytes").format(total=total))})
        check = st.toggle(_("Ask PyTorch"), key="hooks", bind="query-params")
    verdict = st.container()  # filled last: the first comparison takes seconds
    st.latex(_kept_latex(run, formulas.components, total))
    modules = by_module(saved)
    if modules:
        st.vega_lite_chart(
            _modules_frame(modules),
            ranked_bars(appearance(), len(modules)),
            alt=_("Bytes that are kept for each module"),
        )
    tensors = st.expander(_("Tensors: name, shape, type, bytes, formula"), key="kept", bind="query-params")
    if tensors.open:
        with tensors:
            _show_saved(saved, formulas.saved, PRECISIONS[plan.precision].dtype)
    published = st.expander(_("Beside the formula of Korthikanti et al."), key="korthikanti", bind="query-params")
    if published.open:
        with published:
            _show_korthikanti(run, plan)
    if check:
        with verdict:
            _show_verdict(run, plan)


def _kept_latex(run: Run, components: Mapping[Component, Formula], total: int) -> str:
    """The bytes of each component in its colour, with letters, with numbers, and what comes out."""
    inks = colors()
    written = {component: run.written(formula) for component, formula in components.items()}
    letters = [(letters, inks[component]) for component, (letters, _numbers) in written.items()]
    numbers = [(numbers, inks[component]) for component, (_letters, numbers) in written.items()]
    start = r"\text{bytes} &= "
    return aligned([*colored_sum(start, letters), *colored_sum("&= ", numbers), f"&= {latex_number(total)}"])


def _modules_frame(modules: Mapping[str, int]) -> pd.DataFrame:
    whole = sum(modules.values())
    return pd.DataFrame(
        {
            "name": list(modules),
            "path": list(modules),
            "component": [component_of(path) for path in modules],
            "parameters": list(modules.values()),
            "label": [f"{size(count)}  ·  {percent(count, whole)}" for count in modules.values()],
            "room": 1.6 * max(modules.values()),
        }
    )


def _show_saved(saved: Sequence[Saved], letters: Sequence[Saved], dtype: Dtype) -> None:
    _ = translator()
    st.dataframe(
        pd.DataFrame(
            {
                "name": [one.name for one in saved],
                "step": [one.step for one in saved],
                "shape": [shape_text(one.shape) for one in saved],
                "dtype": [_dtype(one.item_bytes, dtype) for one in saved],
                "formula": [_product(one) for one in letters],
                "bytes": [one.num_bytes() for one in saved],
            }
        ),
        hide_index=True,
        height="content" if len(saved) < 40 else 640,
        column_config={
            "name": st.column_config.TextColumn(_("Tensor"), width="large"),
            "step": st.column_config.TextColumn(_("Needed first by")),
            "shape": st.column_config.TextColumn(_("Shape")),
            "dtype": st.column_config.TextColumn(_("Type")),
            "formula": st.column_config.TextColumn(_("Copies × shape × bytes")),
            "bytes": st.column_config.NumberColumn(_("Bytes"), format="%,d"),
        },
        alt=_("The tensors that autograd keeps"),
    )


def _dtype(item_bytes: int, dtype: Dtype) -> str:
    # Two bytes in a float32 model are xielu's, which transformers makes in bfloat16.
    return {1: "bool", 4: "float32"}.get(item_bytes) or ("bfloat16" if dtype == "float32" else dtype)


def _product(saved: Saved) -> str:
    copies = () if saved.copies == 1 else (saved.copies,)
    return shape_letters((*copies, *saved.shape, saved.item_bytes))


def _show_korthikanti(run: Run, plan: Plan) -> None:
    """Their bytes for one layer, and what makes the difference to ours, one reason after the other."""
    _ = translator()
    terms = footprint.korthikanti(run.subject, plan, *run.batch)
    formulas = korthikanti_formulas(run.subject, plan, *run.batch)
    rows = [
        (reason, run.written(formula), more) for (reason, more), formula in zip(terms, formulas, strict=True) if more
    ]
    show_table(
        {
            _("One trained layer"): [*(_(reason) for reason, _formula, _more in rows), _("together: ours")],
            _("Formula, in bytes"): [*(f"${letters}$" for _reason, (letters, _n), _more in rows), ""],
            _("In numbers"): [*(f"${numbers}$" for _reason, (_l, numbers), _more in rows), ""],
            _("Bytes"): [
                *(f"{more:,}" if at == 0 else f"{more:+,}" for at, (_reason, _formula, more) in enumerate(rows)),
                f"{sum(more for _reason, more in terms):,}",
            ],
        },
        _("The published formula, and what makes the difference"),
    )
    st.caption(
        _(
            "Korthikanti et al. 2022, arXiv:2205.05198: s b h (34 + 5 a s / h) bytes a layer in 16 bits; 34 s b h with "
            "selective recomputation, 2 s b h with full. It takes i = 4 h and one-byte dropout masks."
        )
    )


def _show_verdict(run: Run, plan: Plan) -> None:
    """PyTorch's own count, or why there is none."""
    _ = translator()
    subject = run.subject
    config = proof.buildable(subject.config)
    call = Call(*run.batch, subject.seen(run.batch.sequence_length), num_choices=1)
    problem = next(problems(config, subject.architecture, call), None)
    if not proof.installed():
        st.info(_("This needs torch and transformers, which are not installed here."))
    elif plan.attention == "fused":
        st.info(
            _("On the device without memory PyTorch runs no fused attention: the test suite compares it on the CPU.")
        )
    elif config != subject.config:
        st.info(_("transformers 5 does not build relative positions."))
    elif problem:
        show_problem(problem)
    elif not forward_proof.countable(config, subject.architecture, dict(subject.options), call):
        st.error(_("These tensors are too large for PyTorch to count. Choose a smaller batch or a shorter sequence."))
    else:
        with st.spinner(_("Running the real {architecture} ...").format(architecture=subject.architecture)):
            prove = st.cache_data(max_entries=100, show_spinner=False)(memory_proof.prove)
            found = prove(subject, plan, *run.batch)
        masks = " " + _("Compared with masks as wide as activations.") if plan.fused_dropout else ""
        if found.ours == found.theirs:
            st.success(
                _("PyTorch counts the same: {bytes:,} bytes.").format(bytes=found.theirs) + masks,
                icon=":material/verified:",
            )
        else:
            st.error(
                _("PyTorch counts {theirs:,} bytes, we count {ours:,}.").format(**found._asdict()) + masks,
                icon=":material/error:",
            )


def show_inference(run: Run, dtype: Dtype, attention: Attention) -> None:
    """Weights, cache and the largest moment: the total, one bar, the formula of the moment, and what is alive then."""
    _ = translator()
    subject = run.subject
    found = footprint.inference(subject, dtype, attention, *run.batch)
    moments = footprint.moments(subject, attention, *run.batch)
    width = ITEM_BYTES[dtype]
    at = max(range(len(moments)), key=lambda number: moments[number].num_bytes(width))
    _metrics(
        {
            _("Memory for inference"): (size(sum(found.values())), dtype),
            _("Outputs kept"): (size(footprint.output_bytes(subject, dtype, *run.batch)), _("part of what is alive")),
        }
    )
    _show_bar(found)
    letters, numbers = run.written(moment_formulas(subject, attention, dtype)[at])
    st.markdown(_("The most is alive at once while this step runs: {step}").format(step=f"`{moments[at].step}`"))
    st.latex(aligned([f"&{letters}", f"&= {numbers} = {latex_number(found['alive at once'])}"]))
    show_table(
        {
            _("Alive"): [f"`{value.name}`" for value in moments[at].values],
            _("Shape"): [shape_text(value.shape) for value in moments[at].values],
            _("Size"): [unbroken(size(footprint.value_bytes(value, width))) for value in moments[at].values],
        },
        _("What is alive at the largest moment"),
    )
    st.caption(
        _("A value stays until the last step that takes it. Masks and what a kernel needs for itself come on top.")
    )


class Device(NamedTuple):
    """A memory: its bytes, and what it is called."""

    num_bytes: int
    name: str


def choose_task() -> tuple[str, Device]:
    """What shall fit, and into how much memory."""
    task = _select("task", label_visibility="collapsed")
    chosen = _select("device_memory", label_visibility="collapsed")
    if chosen != "GiB":
        return task, Device(int(chosen.removesuffix("GB")) * 10**9, chosen.replace("GB", " GB"))
    typed = whole_number("device_gib", "device_gib", 16, width=_WIDTHS["device_gib"], label_visibility="collapsed")
    if problem := check_whole_number("device_gib", typed, 1, _LARGEST_GIB, 16):
        show_problem(problem)
        typed = problem.remedies[0]["device_gib"]
    return task, Device(typed * 2**30, f"{typed:,} GiB")


def show_training_fit(run: Run, plan: Plan, device: Device) -> None:
    """What of a batch can be trained on a device."""
    subject, (batch_size, sequence_length) = run.subject, run.batch
    _show_fit(
        run,
        device,
        footprint.training(subject, plan, *run.batch),
        grow(lambda batch: footprint.training_figures(subject, plan, batch, sequence_length)),
        grow(lambda length: footprint.training_figures(subject, plan, batch_size, length)),
    )


def show_inference_fit(run: Run, dtype: Dtype, attention: Attention, device: Device) -> None:
    """What of a batch can be run on a device."""
    subject, (batch_size, sequence_length) = run.subject, run.batch
    _show_fit(
        run,
        device,
        footprint.inference(subject, dtype, attention, *run.batch),
        grow(lambda batch: footprint.inference_figures(subject, dtype, attention, batch, sequence_length)),
        grow(lambda length: footprint.inference_figures(subject, dtype, attention, batch_size, length)),
    )


def _show_fit(
    run: Run,
    device: Device,
    found: Mapping[Part, int],
    by_batch: Sequence[Growth],
    by_length: Sequence[Growth],
) -> None:
    """Whether it fits, the largest batch and the longest sequence, and the formulas that were solved for them."""
    _ = translator()
    total = sum(found.values())
    needed, limit = size(total), size(device.num_bytes)
    if total <= device.num_bytes:
        st.success(_("It fits: {needed} of {limit}.").format(needed=needed, limit=limit), icon=":material/check:")
    else:
        st.error(_("It does not fit: {needed} of {limit}.").format(needed=needed, limit=limit), icon=":material/close:")
    longest = run.choice.config.max_position_embeddings
    first_batch, first_length = binding(by_batch, device.num_bytes), binding(by_length, device.num_bytes)
    batch, length = first_batch.largest(device.num_bytes), first_length.largest(device.num_bytes)
    possible = None if length is None else min(length, longest)
    _metrics(
        {
            _("Largest batch of {length:,} tokens").format(length=run.batch.sequence_length): (
                _number(batch),
                device.name,
            ),
            _("Longest sequence, batch {batch:,}").format(batch=run.batch.batch_size): (
                f"{longest:,}" if possible is None else _number(possible),
                device.name,
            ),
        }
    )
    _show_bar(found, device.num_bytes)
    st.latex(
        aligned(
            [
                rf"\text{{bytes}}(B) &= {_polynomial(first_batch, 'B')} \le {latex_number(device.num_bytes)}"
                rf" \;\Rightarrow\; {_solution('B', batch)}",
                rf"\text{{bytes}}(S) &= {_polynomial(first_length, 'S')} \le {latex_number(device.num_bytes)}"
                rf" \;\Rightarrow\; {_solution('S', length)}",
            ]
        )
    )
    if length is None or length > longest:
        st.caption(
            _("The memory would do for more: max_position_embeddings is the longest sequence, {longest:,}.").format(
                longest=longest
            )
        )
    st.caption(
        _(
            "Read from the same count at three sizes and solved exactly. Counted are tensors alone: the CUDA context, "
            "gaps between tensors and working memory of kernels come on top."
        )
    )


def _number(found: int | None) -> str:
    _ = translator()
    return _("any") if found is None else f"{found:,}" if found else _("none")


def _polynomial(growth: Growth, letter: str) -> str:
    terms = {f"{letter}^2": growth.square, letter: growth.linear, "": growth.constant}
    return " + ".join(rf"{latex_number(count)} \, {power}" for power, count in terms.items() if count) or "0"


def _solution(letter: str, found: int | None) -> str:
    return rf"{letter} < \infty" if found is None else rf"{letter} \le {latex_number(found)}"


def _select(field: str, **look: Any) -> Any:
    options = CHOICES[field]
    default = _DEFAULTS.get(field, options[0])
    carry(field, default)
    index, width = options.index(default), _WIDTHS[field]
    return st.selectbox(field, options, index=index, key=field, bind="query-params", width=width, **look)


def _checkbox(field: str) -> bool:
    carry(field, False)
    return st.checkbox(field, key=field, bind="query-params")


def _metrics(figures: Mapping[str, tuple[str, str]]) -> None:
    """Large numbers with something small under each."""
    with st.container(horizontal=True):
        for label, (value, below) in figures.items():
            width = metric_width(10 * _columns(label), "0" * _columns(value), "0" * _columns(below))
            st.metric(label, value, below, delta_color="off", delta_arrow="off", width=width)


def _columns(text: str) -> int:
    """How wide a text is: a Chinese character is as wide as two Latin ones."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _show_bar(found: Mapping[Part, int], limit: int | None = None) -> None:
    """One bar cut in proportion, with a mark at the limit."""
    _ = translator()
    st.vega_lite_chart(
        bar_frame(found, [_(part) for part in found], limit),
        stacked_bar(appearance()),
        alt=_("The parts in proportion"),
    )


def bar_frame(found: Mapping[Part, int], names: Sequence[str], limit: int | None) -> pd.DataFrame:
    """The data of the bar: a row for each part, and one for the limit if there is one."""
    whole, rows, end = max(sum(found.values()), limit or 0), [], 0
    for (part, count), name in zip(found.items(), names, strict=True):
        if count:
            label = f"{name} {percent(count, sum(found.values()))}"
            short = label if count > whole * len(label) / 90 else ""
            rows.append(
                {"part": part, "start": end, "end": end + count, "label": f"{name}  ·  {size(count)}", "short": short}
            )
        end += count
    return pd.DataFrame([*rows, *([{"limit": limit, "label": size(limit)}] if limit else [])])


@lru_cache
def stacked_bar(look: str) -> Spec:
    """Parts of memory as one bar, cut in proportion; a line where the memory of the device ends."""
    import altair as alt

    paper, ink = BACKGROUND[look], INK[look]
    scale = alt.Scale(nice=False, zero=True)
    tooltip = [alt.Tooltip("label:N", title=" ")]
    color = alt.Color("part:N", legend=None, scale=alt.Scale(domain=list(PARTS), range=list(COLORS[look])))
    parts = alt.Chart().transform_filter("isValid(datum.part)")
    x = alt.X("start:Q", axis=None, scale=scale)
    pieces = parts.mark_rect(stroke=paper, strokeWidth=1).encode(x=x, x2="end:Q", color=color, tooltip=tooltip)
    labels = (
        parts.transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(fontSize=_FONT)
        .encode(x=alt.X("middle:Q", axis=None), text="short:N", color=alt.value(paper))
    )
    limit = (
        alt.Chart()
        .transform_filter("isValid(datum.limit)")
        .mark_rule(color=ink, strokeWidth=4)
        .encode(x=alt.X("limit:Q", axis=None), tooltip=tooltip)
    )
    return spec_of(alt.layer(pieces, labels, limit).properties(width="container", height=44))
