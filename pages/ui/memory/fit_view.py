"""The view What fits of the Memory page: the longest sequence and the largest batch that fit into a device's memory."""

from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertcalc.export.table import Table
from bertcalc.memory.devices import LARGEST_GAPS, Device
from bertcalc.memory.fit import LIMITS, LargestFit, Polynomial, counted_or
from bertcalc.memory.peak.live_peak_formulas import LiveGrowths, live_growths
from bertcalc.memory.peak.peak_formulas import most_sequences, peak
from bertcalc.memory.plan import Inference, Plan
from bertcalc.model.batch import Batch
from bertcalc.model.formula import plain
from bertcalc.model.formula_latex import lines as latex_lines
from bertcalc.text.digits import latex_number, size
from bertcalc.text.live_choices import distance, place_of_largest, text_at
from bertcalc.text.live_numbers import FigureBound, between, fill
from pages.ui.memory.peak_view import NOT_COUNTED, loop
from pages.ui.memory.run import VIEW, Run
from pages.ui.memory.stack_bar import DeviceUse, show_bar
from pages.ui.shell import live
from pages.ui.shell.i18n import _, in_a_row
from pages.ui.shell.present import presenting
from pages.ui.widgets.export.shown import note_results
from pages.ui.widgets.growth import show_growth
from pages.ui.widgets.metrics import show_metrics
from pages.ui.widgets.numbers import percent

_EMPTY = "\u200b"  # a text without width


class Largest(NamedTuple):
    """The largest batch size or sequence length that fits, and what limits it.

    ``most`` has both as plain values. ``number`` and ``limit`` are live (see ``most_fitting``).
    """

    most: LargestFit
    number: int
    limit: int


class WhatFits(NamedTuple):
    """What fits into a device: the bytes that the batch needs, the longest sequence, and the largest batch."""

    needed: int  # the bytes that the batch needs, including the allocator's overhead
    length: Largest
    batch: Largest

    def fits(self, device: Device) -> bool:
        return self.needed <= device.usable


def show_fit(run: Run, how: Plan | Inference, device: Device, answer: DeltaGenerator) -> None:
    """Show whether the batch fits (in the container ``answer``), followed by metrics, a bar and the formulas.

    Projector view leaves out explanations. ``how`` is the plan of training, or the settings of inference.
    """
    highest = run.live_peak(how)
    lengths, batches = (
        live_growths(run.model, how, field, *run.batch.shape) for field in ("sequence_length", "batch_size")
    )
    most_batches = most_sequences(run.model)
    length = _largest(lengths, device, run.choice.config.longest)
    fit = WhatFits(device.needed(highest.num_bytes), length, _largest(batches, device, most_batches))
    with answer:
        _show_verdict(run, fit, device)
    note_results(Table(_("What fits on {device}").format(device=device.name), *_results(run, fit, device)))
    show_metrics(
        {
            _length_title(run): (_number(fit.length), _limit(fit.length)),
            _batch_title(run): (_number(fit.batch), _limit(fit.batch, _("limited to 1 without a pad_token_id"))),
        }
    )
    _show_reservations(how, device, batches, most_batches)
    start = run.of_preset()
    before = peak(start.model, how, *start.batch.shape).areas if start else {}
    formulas = peak(run.model, how, *run.batch.shape).formulas
    written = {area: plain(formula.expression) for area, formula in formulas.items()}
    show_bar(run.choice, DeviceUse(highest.areas, before, written, device))
    if not presenting() and start and before != highest.areas:
        show_growth(run.growth(how), _("Memory"), run.choice.preset)
    st.latex(latex_lines([_solved("S", fit.length.most, device), _solved("B", fit.batch.most, device)]))
    bytes_of_a_size = _(
        "bytes(S) and bytes(B): the peak when only S or only B changes; the coefficients contain all other sizes."
    )
    if presenting():  # present.css hides captions there
        st.markdown(bytes_of_a_size)
        return
    which = loop(run, how, highest.num_bytes) if isinstance(how, Plan) else ""
    live.caption(in_a_row([_capacity(device), bytes_of_a_size, _lines(how), which, _(NOT_COUNTED)]))


def _show_verdict(run: Run, fit: WhatFits, device: Device) -> None:
    """Show whether the batch fits, in a box with the color and icon of the verdict.

    While a slider reverses the verdict, style.css removes both.
    """
    first, second = _answer(run, fit, device)
    # In projector view, the metrics below replace the second sentence.
    text = first if presenting() else fill("{first}  \n{second}", first=first, second=second)
    fits = fit.fits(device)
    verdict = FigureBound(fit.needed, 0, device.usable) if fits else FigureBound(fit.needed, device.usable + 1)
    with st.container(key="verdict"), live.container_within((verdict,)):
        if fits:
            live.success(text, icon=":material/check:")
        else:
            live.error(text, icon=":material/close:")
        if not presenting():
            st.caption(what_is_counted(device))


def what_is_counted(device: Device) -> str:
    """A sentence on the memory besides tensors: the overhead included in what a batch needs, and the reserve."""
    message = _(
        "This includes {overhead} % for PyTorch's allocator. Not counted: the driver and the CUDA context, for which "
        "{free} are reserved."
    )
    return message.format(overhead=device.overhead, free=size(device.kept_free))


def _capacity(device: Device) -> str:
    message = _(
        "{device} has {mebibytes:,} MiB = {memory}; without the reserve and the allocator's share, {room} are left for "
        "tensors."
    )
    sizes = {"memory": size(device.num_bytes), "room": size(device.for_tensors)}
    return message.format(device=device.name, mebibytes=device.num_bytes // 2**20, **sizes)


def _lines(how: Plan | Inference) -> str:
    message = _(
        "The view {view} has the peak's formula in letters. Each line is the formula of the step that reaches the "
        "limit first; with a smaller batch, memory may peak at a different step."
    )
    return message.format(view=VIEW.word("training" if isinstance(how, Plan) else "inference"))


def _show_reservations(how: Plan | Inference, device: Device, batches: LiveGrowths, most_batches: int | None) -> None:
    """Show the largest batch at the largest measured overhead; show a warning if the device emulates bfloat16.

    In projector view, show only the warning.
    """
    if device.overhead < LARGEST_GAPS and not presenting():
        room = device._replace(overhead=LARGEST_GAPS).for_tensors
        fewest, _limit_of_these = batches.most_fitting(room, most_batches)
        note = _(
            "Batches of at most {number} if the allocator takes {overhead} %, the maximum measured with PyTorch's "
            "default settings."
        )
        live.caption(fill(note, overhead=LARGEST_GAPS, number=_counted(fewest)))
    if how.uses_bfloat16 and not device.has_bfloat16:
        st.warning(
            _(
                "{device} has no bfloat16: PyTorch emulates it, which is slow. The native 16-bit type of "
                "this device is float16."
            ).format(device=device.name)
        )


def whether_it_fits(batch: Batch, needed: int, device: Device) -> str:
    """A sentence on whether a batch that needs ``needed`` bytes fits into the device."""
    numbers = {"needed": size(needed), "usable": size(device.usable), "share": percent(needed, device.usable)}
    messages = (
        _("**Fits:** {batch_size:,} × {sequence_length:,} tokens need {needed}, {share} of the {usable}."),
        _("**Does not fit:** {batch_size:,} × {sequence_length:,} tokens need {needed}, {share} of the {usable}."),
    )
    # Each message begins with a verdict in bold type.
    verdict, rest = zip(*(message[2:].split("**") for message in messages), strict=True)
    whether = place_of_largest((device.usable, needed))
    needs = text_at(tuple(fill(text, **batch.sizes(), **numbers) for text in rest), whether)
    return fill("**{verdict}**{needs}", verdict=text_at(verdict, whether), needs=needs)


def _answer(run: Run, fit: WhatFits, device: Device) -> list[str]:
    values = {
        "number": _number(fit.batch),
        "length": f"{run.batch.sequence_length:,}",
        "longest": _number(fit.length),
        "batch": f"{run.batch.batch_size:,}",
    }
    nothing = _("Not even one sequence of {length} tokens fits, nor one token per sequence in batches of {batch}.")
    most = _(
        "At most: batches of **{number}** with {length} tokens, or **{longest}** tokens per sequence in batches of "
        "{batch}."
    )
    fits = place_of_largest((0, distance(fit.length.number, 0) + distance(fit.batch.number, 0)))
    # The browser replaces the sentence piece by piece, where a piece is a text in one style. So both versions of the
    # sentence need the same number of pieces. A zero-width space stands for an empty piece.
    pieces = most.split("**")
    instead = [nothing, *(len(pieces) - 1) * [_EMPTY]]
    texts = (text_at(tuple(fill(text, **values) for text in both), fits) for both in zip(instead, pieces, strict=True))
    return [whether_it_fits(run.batch, fit.needed, device), between("**", texts)]


def _results(run: Run, fit: WhatFits, device: Device) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    verdict = _("fits") if fit.fits(device) else _("does not fit")
    rows = (
        (_("Memory"), size(device.num_bytes)),
        (_("Reserved"), size(device.kept_free)),
        (_("Allocator"), f"{device.overhead} %"),
        (_("{batch_size:,} × {sequence_length:,} tokens").format(**run.batch.sizes()), size(fit.needed)),
        (_("Verdict"), verdict),
        (_length_title(run), _number(fit.length)),
        (_batch_title(run), _number(fit.batch)),
    )
    return (device.name, _("Number")), rows


def _length_title(run: Run) -> str:
    return _("Longest sequence, batch {batch:,}").format(batch=run.batch.batch_size)


def _batch_title(run: Run) -> str:
    return _("Largest batch of {length:,} tokens").format(length=run.batch.sequence_length)


def _largest(growths: LiveGrowths, device: Device, positions: int | None) -> Largest:
    """The largest batch size or sequence length that fits; ``growths`` are the polynomials of its bytes.

    ``positions`` is a second upper limit besides the memory; None means no second limit.
    """
    room = device.for_tensors
    return Largest(growths.most(room, positions), *growths.most_fitting(room, positions))


def _limit(largest: Largest, by_positions: str = "") -> str:
    words = {
        "memory": _("limited by memory"),
        "positions": by_positions or _("limited by max_position_embeddings"),
        "nothing": _("not limited"),
    }
    return text_at(tuple(words[limit] for limit in LIMITS), largest.limit)


def _number(largest: Largest) -> str:
    return _counted(largest.number)


def _counted(number: int) -> str:
    return counted_or(number, _("any"), _("none"))


def _solved(letter: str, most: LargestFit, device: Device) -> str:
    """Return LaTeX for the inequality bytes(``letter``) ≤ room, and its solution."""
    room = latex_number(device.for_tensors)
    grown = rf"\text{{{_('bytes')}}}({letter}) = {_polynomial(most.growth, letter)} \le {room}"
    return rf"{grown} \;\Rightarrow\; {_solution(letter, most)}"


def _polynomial(growth: Polynomial, letter: str) -> str:
    terms = {f"{letter}^2": growth.square, letter: growth.linear, "": growth.constant}
    return " + ".join(rf"{latex_number(count)} \, {power}" for power, count in terms.items() if count) or "0"


def _solution(letter: str, most: LargestFit) -> str:
    if most.number is None:
        return rf"{letter} < \infty"
    if most.limit == "memory":
        return rf"{letter} \le {latex_number(most.number)}"
    memory = r"\infty" if most.memory is None else latex_number(most.memory)
    return rf"{letter} \le \min({memory}, {latex_number(most.number)})"
