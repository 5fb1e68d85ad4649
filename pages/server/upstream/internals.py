"""Describe the undocumented parts of other packages that the app uses; check that the installed versions have them."""

import inspect
import logging
from collections.abc import Callable, Collection
from functools import lru_cache, wraps
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

# The versions for which the modules in this folder were written.
WRITTEN_FOR = {"streamlit": "1.67", "uvicorn": "0.54", "websockets": "17.4"}
Method: TypeAlias = Callable[..., Any]
_originals: dict[Method, Method] = {}  # keyed by the replacement


class Internal(NamedTuple):
    """Undocumented names of another package that a feature needs, and the loss without the feature.

    A name is ``module:Class.attribute``, or ``package:file#text`` for a text in a package's file; ``file`` can be a
    pattern such as ``index.*.js``. If the app replaces a method, it is the first name, and ``parameters`` are its first
    parameters. ``issue`` is the address of the public issue, or "" if there is none.
    """

    names: tuple[str, ...]
    reason: str
    loss: str
    issue: str = ""
    parameters: str = ""


@lru_cache
def is_usable(internal: Internal) -> bool:
    """Whether the installed version has these names and parameters. If not, the difference is logged once."""
    problem = _difference(internal)
    if problem:
        package = internal.names[0].partition(":")[0].partition(".")[0]
        logging.getLogger("bertcalc").warning(
            "%s %s has %s (bertcalc was written for %s): %s",
            *(package, version(package), problem, WRITTEN_FOR[package], internal.loss),
        )
    return not problem


def _difference(internal: Internal) -> str:
    for name in internal.names:
        try:
            look_up(name)
        except (ImportError, AttributeError, OSError):
            return f"no {name}"
    name, parameters = internal.names[0], internal.parameters.split(", ")
    if internal.parameters and [*inspect.signature(look_up(name)).parameters][: len(parameters)] != parameters:
        return f"different parameters for {name}"
    return ""


def look_up(name: str) -> Any:
    """Return the value of a name in the format of ``Internal``.

    The value is None for an attribute that only instances have, and the text itself for a text in a file. Raises
    ImportError, OSError or AttributeError if the name does not exist.
    """
    module_name, _, path = name.partition(":")
    value: Any = import_module(module_name)
    if "#" in path:
        file, _, text = path.partition("#")
        if text not in package_file(value, file):
            raise AttributeError(name)
        return text
    for attribute in path.split("."):
        value = None if attribute in _instance_attributes(value) else getattr(value, attribute)
    return value


@lru_cache
def package_file(package: Any, file: str) -> str:
    """Return the joined text of a package's files that match the pattern ``file``. Raises OSError if there are none."""
    return "".join(path.read_text(encoding="utf-8") for path in package_files(package, file))


def package_files(package: Any, file: str) -> list[Path]:
    """Return the files of a package that match the pattern ``file``, sorted. Raises OSError if there are none."""
    paths = sorted(Path(package.__file__).parent.glob(file))
    if not paths:
        raise FileNotFoundError(file)
    return paths


def _instance_attributes(owner: Any) -> Collection[str]:
    """Return the attributes that only instances of a class have; () if ``owner`` is not a class.

    These are fields, and attributes that constructors set.
    """
    if not inspect.isclass(owner):
        return ()
    if hasattr(owner, "DESCRIPTOR"):  # a protobuf message
        return {*owner.DESCRIPTOR.fields_by_name}
    names: set[str] = {*getattr(owner, "__dataclass_fields__", ())}
    for constructor in (vars(base).get("__init__") for base in owner.__mro__):
        code = getattr(inspect.unwrap(constructor) if constructor else None, "__code__", None)
        if code:
            names |= {*code.co_names, *(text for text in code.co_consts if isinstance(text, str))}
    return names - {*dir(owner)}


def replace(internal: Internal, make: Callable[[Method], Method]) -> None:
    """If ``internal`` is usable, replace the method that its first name denotes with ``make(method)``.

    A repeated call replaces the original method again instead of wrapping the replacement.
    """
    if is_usable(internal):
        owner_name, _, name = internal.names[0].rpartition(".")
        owner = look_up(owner_name)
        method = getattr(owner, name)
        original = _originals.get(method, method)
        replacement = wraps(original)(make(original))
        _originals[replacement] = original
        setattr(owner, name, replacement)
