"""The longest sequence and the largest batch that fit into the memory of a device."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertcalc.digits import latex_number, size
from bertcalc.formula import plain
from bertcalc.memory.devices import GAPS, Device
from bertcalc.memory.fit import Most, Polynomial, most
from bertcalc.memory.peak_formulas import growths, most_sequences, peak
from bertcalc.memory.plan import Inference, Plan
from pages.ui.formulas import aligned
from pages.ui.i18n import _, in_a_row
from pages.ui.memory.peak_view import NOT_COUNTED, loop
from pages.ui.memory.run import Run
from pages.ui.memory.stack_bar import DeviceUse, show_bar
from pages.ui.metrics import show_metrics
from pages.ui.numbers import percent
from pages.ui.present import presenting


def show_fit(run: Run, how: Plan | Inference, device: Device, answer: DeltaGenerator) -> None:
    """Write what fits and what the batch needs into ``answer``; below, show metrics, the bar and the formulas."""
    found = peak(run.subject, how, *run.batch)
    total = found.num_bytes
    length = most(growths(run.subject, how, "sequence_length", *run.batch), device.usable, run.choice.config.longest)
    batch = _largest_batch(run, how, device.usable)
    said = _answer(run, device, length)
    if not presenting():
        needs = _("{batch_size:,} × {sequence_length:,} tokens need {needed}, {share} of the {usable}.")
        figures = {"needed": size(total), "share": percent(total, device.usable), "usable": size(device.usable)}
        said = "  \n".join([said, needs.format(**run.batch._asdict(), **figures), _runs(run, how, device)])
    if total <= device.for_tensors:
        answer.success(said, icon=":material/check:")
    elif total <= device.usable:
        answer.warning(said, icon=":material/warning:")
    else:
        answer.error(said, icon=":material/close:")
    longest = _("Longest sequence, batch {batch:,}").format(batch=run.batch.batch_size)
    largest = _("Largest batch of {length:,} tokens").format(length=run.batch.sequence_length)
    limit = _("one without a pad_token_id") if batch.limit == "positions" else _limit(batch)
    show_metrics({longest: (_number(length.number), _limit(length)), largest: (_number(batch.number), limit)})
    start = run.of_preset()
    before = peak(start.subject, how, *start.batch).areas if start else {}
    formulas = {area: plain(formula.expression) for area, formula in found.formulas.items()}
    show_bar(run.choice, DeviceUse(found.areas, before, formulas, device))
    if presenting():
        st.latex(aligned([_solved("S", length, device)]))
        return
    st.latex(aligned([_solved("S", length, device), _solved("B", batch, device)]))
    said = _("{device} has {mebibytes:,} MiB = {memory}, of which {free} are kept free.")
    sizes = {"memory": size(device.num_bytes), "free": size(device.kept_free)}
    said = said.format(device=device.name, mebibytes=device.num_bytes // 2**20, **sizes)
    lines = _(
        "Each line is the formula of the step that reaches the limit first; with a smaller batch, memory can peak at "
        "another step."
    )
    which = loop(run, how, total) if isinstance(how, Plan) else ""
    st.caption(in_a_row([said, lines, which, _(NOT_COUNTED)]))


def _largest_batch(run: Run, how: Plan | Inference, usable: int) -> Most:
    return most(growths(run.subject, how, "batch_size", *run.batch), usable, most_sequences(run.subject))


def _runs(run: Run, how: Plan | Inference, device: Device) -> str:
    """A sentence with the largest batch that leaves room for what a GPU needs besides tensors."""
    batch = _largest_batch(run, how, device.for_tensors)
    said = _(
        "This counts tensors only. With PyTorch's expandable segments, a run on a GPU needs up to {gaps} % more: the "
        "largest batch of {length:,} tokens is then **{number}**."
    )
    return said.format(gaps=GAPS, length=run.batch.sequence_length, number=_number(batch.number))


def _answer(run: Run, device: Device, length: Most) -> str:
    """A sentence or two: the longest sequence, and whether memory or the model limits it."""
    if not length.number:
        said = _("**Not even one token** per sequence in batches of {batch}: {usable} are not enough.")
    elif length.limit == "memory":
        said = _("Up to **{number} tokens** per sequence in batches of {batch}. The limit is memory: {usable} usable.")
    else:
        said = _(
            "Up to **{number} tokens** per sequence in batches of {batch}. The limit is the model's "
            "max_position_embeddings; memory alone would allow {memory}."
        )
    numbers = {"number": _number(length.number), "memory": _number(length.memory)}
    return said.format(batch=f"{run.batch.batch_size:,}", usable=size(device.usable), **numbers)


def _limit(most: Most) -> str:
    return {
        "memory": _("limited by memory"),
        "positions": _("limited by max_position_embeddings"),
        "nothing": _("not limited"),
    }[most.limit]


def _number(found: int | None) -> str:
    return _("any") if found is None else f"{found:,}" if found else _("none")


def _solved(letter: str, found: Most, device: Device) -> str:
    """The inequality for the bytes and its solution, as LaTeX."""
    grown = rf"\text{{{_('bytes')}}}({letter}) &= {_polynomial(found.growth, letter)} \le {latex_number(device.usable)}"
    return rf"{grown} \;\Rightarrow\; {_solution(letter, found)}"


def _polynomial(growth: Polynomial, letter: str) -> str:
    terms = {f"{letter}^2": growth.square, letter: growth.linear, "": growth.constant}
    return " + ".join(rf"{latex_number(count)} \, {power}" for power, count in terms.items() if count) or "0"


def _solution(letter: str, found: Most) -> str:
    if found.number is None:
        return rf"{letter} < \infty"
    if found.limit == "memory":
        return rf"{letter} \le {latex_number(found.number)}"
    memory = r"\infty" if found.memory is None else latex_number(found.memory)
    return rf"{letter} \le \min({memory}, {latex_number(found.number)})"
