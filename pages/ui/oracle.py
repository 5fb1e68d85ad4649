"""What the real model says, for all pages: whether it can be run at all, and an answer that is asked for once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from bertcalc.forward.outputs import Call, problems
from bertcalc.memory.footprint import Subject
from pages.ui import proof
from pages.ui.controls import show_problem
from pages.ui.forward_proof import countable
from pages.ui.i18n import translator
from pages.ui.turn import TURN
from pages.ui.worker import WORKER, SlowError, StoppedError

P = ParamSpec("P")
R = TypeVar("R")


def wanted() -> object:
    """Streamlit takes a newer move of the same reader wherever a script looks into its state."""
    return "track" in st.session_state


WORKER.wanted = wanted


@contextmanager
def sorry() -> Iterator[None]:
    """Say it where PyTorch gave no answer, instead of the rest of what is drawn inside."""
    _ = translator()
    try:
        yield
    except SlowError:
        st.error(
            _("PyTorch gave no answer within {seconds:.0f} s. Try again in a moment.").format(seconds=WORKER.limit)
        )
    except StoppedError:
        st.error(_("The process that asks PyTorch was stopped, perhaps for want of memory. Try again."))
    except MemoryError:
        st.error(_("That does not fit. Choose a smaller model, or run the app on a larger machine."))


def ask(architecture: str, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """What ``answer`` gives, on a page: it says meanwhile what is going on."""
    _ = translator()
    with st.spinner(_("Asking the real {architecture} ...").format(architecture=architecture)):
        return answer(function, *arguments, **named)


def answer(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """What a function of an importable module returns that needs PyTorch: run once, kept for all sessions."""
    # The second who asks the same waits for the cache, not for the worker: neither may hold up the others.
    with TURN.pause():
        kept: R = _kept(f"{function.__module__}.{function.__qualname__}", arguments, named, function)
    return kept


@st.cache_data(max_entries=200, show_spinner=False)
def _kept(name: str, arguments: tuple[Any, ...], named: dict[str, Any], _function: Callable[..., Any]) -> Any:
    """What the function of this name returns; Streamlit does not look at what begins with an underscore."""
    return WORKER.run(_function, *arguments, **named)


def runs(subject: Subject, call: Call) -> bool:
    """Whether the real model can be run with these arguments; where it cannot, says why."""
    _ = translator()
    config, architecture, options = subject
    if not proof.installed():
        st.info(_("This needs torch and transformers, which are not installed here."))
    elif proof.buildable(config) != config:
        st.info(
            _("transformers 5 no longer builds position_embedding_type {kind}: there is nothing to count.").format(
                kind=config.position_embedding_type
            )
        )
    elif problem := next(problems(config, architecture, call), None):
        show_problem(problem)
    elif not countable(config, architecture, dict(options), call):
        st.error(_("These tensors are too large for PyTorch to count. Choose a smaller batch or a shorter sequence."))
    else:
        return True
    return False
