"""Questions to the real transformers model, for all pages. A worker process answers them; most answers are cached."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from bertcalc.forward.outputs import Call, problems
from bertcalc.model.model import Model
from bertcalc.processes.worker import WORKER, SlowError, StoppedError
from bertcalc.proof import real_model
from bertcalc.proof.output_proof import countable
from bertcalc.text.digits import fixed
from bertcalc.text.problem import InputError
from pages.server.restarts import tell_browser
from pages.server.run_queue import RUN_QUEUE
from pages.server.upstream.streamlit_internals import outside_of_runs
from pages.ui.shell.controls import show_problem
from pages.ui.shell.i18n import _

P = ParamSpec("P")
R = TypeVar("R")


def wanted() -> object:
    """End this run if its result is no longer wanted, for example because the reader has opened another page.

    Streamlit 1.67 ends an outdated run when the script accesses the session state (tests/pages/test_streamlit.py).
    """
    return outside_of_runs() or "track" in st.session_state


WORKER.wanted = wanted


@contextmanager
def sorry() -> Iterator[None]:
    """Context manager that shows an error message if PyTorch or bertcalc cannot answer.

    The message replaces the rest of the block.
    """
    try:
        yield
    except InputError as error:
        show_problem(error.problem)
    except SlowError:
        message = _("PyTorch did not answer within {seconds} s. Try again in a moment.")
        st.error(message.format(seconds=fixed(WORKER.limit, 0)))
    except StoppedError:
        st.error(_("The process that runs PyTorch was stopped, perhaps because it ran out of memory. Try again."))
    except NotImplementedError as missing:
        message = _("The installed transformers has no {architecture}: there is nothing to compare with.")
        st.error(message.format(architecture=missing))
    except MemoryError:
        st.error(_("The model does not fit into memory. Choose a smaller model, or run the app on a larger machine."))


def ask(architecture: str, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """Like ``answer``, but show a spinner on the page meanwhile."""
    tell_browser()
    with st.spinner(_("Checking with the real {architecture} ...").format(architecture=architecture)):
        return answer(function, *arguments, **named)


def answer(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """Return the result of a function that needs PyTorch, from the cache of all sessions or from the worker."""
    # The pause encloses the cached function, because a second reader with the same question waits inside it: for the
    # cache, not for the worker.
    with RUN_QUEUE.pause():
        kept: R = _kept(f"{function.__module__}.{function.__qualname__}", arguments, named, function)
    return kept


def run(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """Run a function that needs PyTorch in the worker, and return its result without caching it."""
    with RUN_QUEUE.pause():
        return WORKER.run(function, *arguments, **named)


@st.cache_data(max_entries=200, show_spinner=False)
def _kept(name: str, arguments: tuple[Any, ...], named: dict[str, Any], _function: Callable[..., Any]) -> Any:
    """The function's result. The cache key is ``name`` and the arguments; Streamlit ignores ``_function``."""
    return WORKER.run(_function, *arguments, **named)


def show_agreement(agrees: bool, text: str) -> None:
    """Show the verdict of a comparison with the real model."""
    if agrees:
        st.success(text, icon=":material/verified:")
    else:
        st.error(text, icon=":material/error:")


def runs(model: Model, call: Call) -> bool:
    """Whether the real model can run with these arguments; if not, show the reason."""
    if not real_model.installed():
        st.info(_("Comparing with the real model requires torch and transformers, which are not installed here."))
    elif real_model.buildable(model) != model:
        message = _(
            "transformers 5 no longer supports position_embedding_type {kind}, so PyTorch cannot count this model."
        )
        st.info(message.format(kind=model.config.position_embedding_type))
    elif problem := next(problems(model, call), None):
        show_problem(problem)
    elif not countable(model, call):
        st.error(_("These tensors are too large for PyTorch to count. Choose a smaller batch or a shorter sequence."))
    else:
        return True
    return False
