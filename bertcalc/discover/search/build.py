"""Build a class on the meta device, where tensors have shapes but no data, and group the tensors of its layers."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from time import thread_time
from typing import Any, TypeVar

from bertcalc.discover.results.search_errors import TOO_MANY, Ended, Refused
from bertcalc.text import N_, shorten, visible
from bertcalc.text.problem import InputError

T = TypeVar("T")
Shape = tuple[int, ...]
Folded = dict[str, dict[tuple[int, ...], Shape]]

_MOST_PARTS = 30_000  # maximum number of modules and parameters; the default models have fewer than 4,000
_REASON = 240  # maximum length of an error message, in characters
NUMBER = re.compile(r"(?:(?<=\.)|(?<=^)|(?<=expert_))\d+(?=\.|$)")


def not_built(error: Exception, line: int = 0) -> Refused:
    """Convert an exception of transformers to Refused, with one line of its message.

    ``line`` is the index of the line. If the line ends with a colon, the following lines are added.
    """
    first, *rest = [line.strip() for line in str(error).splitlines() if line.strip()][line:] or [""]
    while first.endswith(":") and rest:
        first += f" {rest.pop(0)}"
    text = visible(f"{type(error).__name__}: {first}")
    text = text if len(text) <= _REASON else f"{text[:_REASON]} ..."
    return Refused.because(N_("transformers cannot build this model: {reason}"), reason=text)


@contextmanager
def refusing_unexpected(name: str) -> Iterator[None]:
    """Turn unexpected exceptions into Refused: transformers' code may raise anything, even SystemExit."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise Refused.because(N_("{name} could not be read: {error}."), name=shorten(name), error=kind) from None


def unless_refused(run: Callable[..., T], *arguments: Any) -> T | None:
    """Return the result of a function; None if it raises any exception except Ended.

    Classes of transformers refuse arguments with exceptions of any type.
    """
    try:
        return run(*arguments)
    except Ended:
        raise
    except Exception:
        return None


def config_class(kind: str) -> Any:
    """Return the configuration class of a model type. Raises Refused if there is none."""
    from transformers import CONFIG_MAPPING

    try:
        return CONFIG_MAPPING[kind]
    except KeyError:
        message = N_("The installed transformers has no model type {kind}.")
        raise Refused.because(message, kind=shorten(kind) or '""') from None


def model_class(name: str) -> Any:
    """Return the transformers model class with this name. Raises Refused if there is none."""
    import transformers

    cls = getattr(transformers, name, None)
    if not (isinstance(cls, type) and issubclass(cls, transformers.PreTrainedModel)):
        raise Refused.because(N_("The installed transformers has no model class {name}."), name=shorten(name) or '""')
    return cls


def build_model(cls: Any, config: Any, until: float) -> Any:
    """Build a model on the meta device, with tied weights.

    Raises Refused if transformers or a limit prevents it, and Ended when the time limit is reached.
    """
    import torch
    from transformers.initialization import no_init_weights

    with _limited(until):
        try:
            with torch.device("meta"), no_init_weights():
                model = cls(config)
            model.tie_weights()
        except (Refused, Ended):
            raise
        except Exception as error:  # transformers raises exceptions of all types
            raise not_built(error) from None
    return model


def tensors(cls: Any, config: Any, until: float) -> Folded:
    """Build a model and return the shapes of its parameters: folded name -> layer numbers -> shape.

    A folded name has * in place of numbers. Tied tensors count once, under the name that PyTorch gives them. Raises
    Refused and Ended, like ``build_model``.
    """
    folded: Folded = {}
    for name, tensor in build_model(cls, config, until).named_parameters():
        numbers = tuple(int(number) for number in NUMBER.findall(name))
        folded.setdefault(NUMBER.sub("*", name), {})[numbers] = tuple(tensor.shape)
    return folded


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' warnings about unusual configurations, and prevent access to the Hub.

    A configuration can name a backbone on the Hub, which transformers would otherwise look up.
    """
    import transformers
    from huggingface_hub import constants

    before, offline = transformers.logging.get_verbosity(), constants.HF_HUB_OFFLINE
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    constants.HF_HUB_OFFLINE = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers.logging.set_verbosity(before)
        constants.HF_HUB_OFFLINE = offline


@contextmanager
def _limited(until: float) -> Iterator[None]:
    """Stop building a model that has too many modules and parameters, or that takes too long.

    Parameters count as well, because a list of a million simple modules is built before it is added to a model.
    """
    from torch.nn.modules import module

    built, thread = 0, get_ident()

    def count(*_args: Any) -> None:
        nonlocal built
        if get_ident() != thread:  # hooks are global and run in all threads
            return
        built += 1
        if built > _MOST_PARTS:
            raise Refused.because(TOO_MANY, most=_MOST_PARTS)
        if not built % 64 and thread_time() > until:
            raise Ended

    with ExitStack() as hooks:
        hooks.callback(module.register_module_module_registration_hook(count).remove)
        hooks.callback(module.register_module_parameter_registration_hook(count).remove)
        yield
