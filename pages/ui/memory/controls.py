"""What is counted on the Memory page: the model, what goes through it, how it is trained or run, and on what."""

from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from bertcalc.config import check_whole_number
from bertcalc.formula import Formula
from bertcalc.forward.steps import batch_problems
from bertcalc.memory.devices import DEFAULT, DEVICES, KEPT_FREE, Device, kept_free
from bertcalc.memory.footprint import Plan, Subject
from bertcalc.memory.optimizers import OPTIMIZERS, PRECISIONS
from bertcalc.memory.saved import ATTENTIONS, ITEM_BYTES, RECOMPUTE, Attention, Dtype
from pages.ui.bars import preset_of
from pages.ui.batch import Batch, choose_batch, show_seen
from pages.ui.controls import Parameters, carry, choose, show_problem, whole_number
from pages.ui.frozen import choose_freezing
from pages.ui.i18n import translator
from pages.ui.labels import label_of, option_of
from pages.ui.sidebar import Choice

VIEWS = ("fit", "weights", "training", "activations", "inference")
CHOICES: dict[str, tuple[str, ...]] = {
    "memory": VIEWS,
    "training_dtype": tuple(PRECISIONS),
    "optimizer": tuple(OPTIMIZERS),
    "attention": ATTENTIONS,
    "recompute": RECOMPUTE,
    "dtype": tuple(ITEM_BYTES),
    "task": ("training", "inference"),
    "device_memory": (*DEVICES, "GiB"),
}
PARAMETERS = Parameters(
    whole_numbers=("device_gib",),
    booleans=("fused_dropout", "hooks", "kept", "korthikanti"),
    decimals=("kept_free",),
    choices=CHOICES,
)
_DEFAULTS = {"device_memory": DEFAULT}
_MORE = ("fused_dropout", "freeze_layers", "train", "freeze_embeddings")
_WIDTHS = {
    "training_dtype": 163,
    "optimizer": 138,
    "attention": 94,
    "recompute": 116,
    "dtype": 115,
    "task": 115,
    "device_memory": 160,
    "device_gib": 105,
    "kept_free": 120,
}

_LARGEST_GIB = 1_000_000


class Run(NamedTuple):
    """What the page is about: a model, and what goes through it."""

    choice: Choice
    batch: Batch

    @property
    def subject(self) -> Subject:
        """The model as the core takes it."""
        return self.choice.subject

    def of_preset(self) -> "Run | None":
        """The preset with the same going through it; None where so much cannot."""
        start = preset_of(self.choice)
        return None if any(batch_problems(start.config, self.batch._asdict())) else Run(start, self.batch)

    def written(self, formula: Formula) -> tuple[str, str]:
        """LaTeX with letters, and with numbers."""
        return formula.latex(), formula.latex(self.choice.config, **self.batch._asdict())


def choose_plan(choice: Choice, *, states: bool = True) -> tuple[Run, Plan]:
    """Draw what goes through and how it is trained; ``states``: whether the optimizer matters."""
    _ = translator()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
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
    """Relative positions have no fused attention; what a cross attention sees."""
    _ = translator()
    if choice.config.position_embedding_type != "absolute" and st.session_state["attention"] == "fused":
        st.caption(_("With relative positions there is no fused attention: eager attention is counted."))
    show_seen(choice.subject)


def choose_task() -> tuple[str, Device]:
    """What is asked about, and on which device; with an impossible size or share of it, the nearest."""
    _ = translator()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = _select("task")
        chosen = _select("device_memory", help=_("Total memory as nvidia-smi reports it."))
        device = Device(option_of("device_memory", chosen), DEVICES[chosen]) if chosen in DEVICES else _typed_device()
        carry("kept_free", KEPT_FREE)
        typed: float = st.number_input(
            label_of("kept_free"),
            value=KEPT_FREE,
            step=0.5,
            format="%.2f",
            key="kept_free",
            bind="query-params",
            width=_WIDTHS["kept_free"],
            help=_(
                "For everything but tensors: driver, CUDA context, gaps between tensors, working memory of kernels."
            ),
        )
    found = kept_free(device, typed)
    if isinstance(found, Device):
        return task, found
    show_problem(found)
    return task, device


def _typed_device() -> Device:
    typed = whole_number(label_of("device_gib"), "device_gib", 16, width=_WIDTHS["device_gib"])
    if problem := check_whole_number("device_gib", typed, 1, _LARGEST_GIB, 16):
        show_problem(problem)
        typed = problem.remedies[0]["device_gib"]
    return Device(f"{typed:,} GiB", typed * 2**30)


def _select(field: str, **look: Any) -> Any:
    options = CHOICES[field]
    default = _DEFAULTS.get(field, options[0])
    carry(field, default)
    return choose(field, options, default=default, width=_WIDTHS[field], **look)


def _checkbox(field: str) -> bool:
    carry(field, False)
    return st.checkbox(label_of(field), key=field, bind="query-params")
