"""The real class on the meta device, which has shapes but no numbers, with its tensors folded by layer."""

import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from time import thread_time
from typing import Any

from bertcalc.text import N_, shorten, visible
from bertcalc.text.problem import InputError, Problem

Shape = tuple[int, ...]
Folded = dict[str, dict[tuple[int, ...], Shape]]

_MOST_PARTS = 30_000  # no default of transformers has 4,000
_REASON = 240  # characters of an error message
_TOO_MANY = N_("This model has more than {most} modules and tensors: it is not built here.")
_MEMORY = re.compile("MemoryError|.*DefaultCPUAllocator")
NUMBER = re.compile(r"(?:(?<=\.)|(?<=^)|(?<=expert_))\d+(?=\.|$)")


class Refused(InputError):  # noqa: N818 # not an error of this program: transformers says no
    """The real class cannot be built with these values, or not within the limits."""

    @classmethod
    def because(cls, message: str, **values: object) -> "Refused":
        return cls(Problem.of(message, **values))

    @property
    def is_limit(self) -> bool:
        """Whether it is not transformers that refuses, but a limit here: of modules, or of memory."""
        return self.problem.message == _TOO_MANY or self.lacks_memory

    @property
    def lacks_memory(self) -> bool:
        return bool(_MEMORY.match(self.problem.values.get("reason", "")))


class Ended(Exception):  # noqa: N818
    """The time is up."""


def not_built(error: Exception, line: int = 0) -> Refused:
    """Return an exception of transformers as Refused, with one line of its message; after a colon, the next as well."""
    first, *more = [line.strip() for line in str(error).splitlines() if line.strip()][line:] or [""]
    while first.endswith(":") and more:
        first += f" {more.pop(0)}"
    said = visible(f"{type(error).__name__}: {first}")
    said = said if len(said) <= _REASON else f"{said[:_REASON]} ..."
    return Refused.because(N_("transformers does not build this model: {reason}"), reason=said)


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Raise unexpected exceptions as Refused: code of transformers may raise anything, even SystemExit."""
    try:
        yield
    except (InputError, Ended, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise Refused.because(N_("{name} could not be read: {error}."), name=shorten(name), error=kind) from None


def config_class(kind: str) -> Any:
    """The configuration class of a model type. Raises Refused if there is none."""
    from transformers import CONFIG_MAPPING

    try:
        return CONFIG_MAPPING[kind]
    except KeyError:
        message = N_("The installed transformers has no model type {kind}.")
        raise Refused.because(message, kind=shorten(kind) or '""') from None


def model_class(name: str) -> Any:
    """A class of transformers. Raises Refused if there is none."""
    import transformers

    found = getattr(transformers, name, None)
    if not (isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)):
        raise Refused.because(N_("The installed transformers has no model class {name}."), name=shorten(name))
    return found


def made(cls: Any, config: Any, until: float) -> Any:
    """The model on the meta device. Raises Refused, or Ended when the time is up."""
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
    """Return the parameters of the class: folded names with * for numbers, each with its numbers and their shapes.

    Tied tensors count once, under the name that PyTorch gives them. Raises as ``made`` does.
    """
    found: Folded = {}
    for name, tensor in made(cls, config, until).named_parameters():
        numbers = tuple(int(number) for number in NUMBER.findall(name))
        found.setdefault(NUMBER.sub("*", name), {})[numbers] = tuple(tensor.shape)
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the warnings of transformers about unusual configurations, and keep it off the Hub.

    A configuration can name a backbone on the Hub, which transformers would look up there.
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
    """Stop building a model that has too many modules, or takes too long.

    Parameters count, too: a list of a million plain modules is made before it becomes part of a model.
    """
    from torch.nn.modules import module

    built, here = 0, get_ident()

    def count(*_args: Any) -> None:
        nonlocal built
        if get_ident() != here:  # hooks are called in all threads
            return
        built += 1
        if built > _MOST_PARTS:
            raise Refused.because(_TOO_MANY, most=_MOST_PARTS)
        if not built % 64 and thread_time() > until:
            raise Ended

    with ExitStack() as hooks:
        hooks.callback(module.register_module_module_registration_hook(count).remove)
        hooks.callback(module.register_module_parameter_registration_hook(count).remove)
        yield
