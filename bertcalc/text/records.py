"""Frozen dataclasses as calls in Python: the arguments that differ from their defaults."""

from collections.abc import Collection
from dataclasses import Field, fields
from typing import Any


def default(part: Field[Any]) -> object:
    """The default of an argument; MISSING if it has none."""
    return part.default_factory() if callable(part.default_factory) else part.default


def arguments(record: Any, always: Collection[str] = ()) -> dict[str, Any]:
    """The arguments of a record that differ from their defaults, and those that are ``always`` among them."""
    values = {part: getattr(record, part.name) for part in fields(record)}
    return {part.name: value for part, value in values.items() if part.name in always or value != default(part)}


def in_python(value: object) -> str:
    r"""A value as a program writes it.

    >>> in_python(("query", "value")), in_python(r"layer\.\d")
    ("['query', 'value']", "r'layer\\.\\d'")
    """
    if isinstance(value, str) and "\\" in value:
        return f"r'{value}'"
    return repr(list(value) if isinstance(value, tuple) else value)


def call(record: Any, always: Collection[str] = ()) -> str:
    """A record as a call.

    >>> from bertcalc.changes.bitfit import BitFit
    >>> call(BitFit(head=False)), call(BitFit(), ["head"])
    ('BitFit(head=False)', 'BitFit(head=True)')
    """
    values = (f"{name}={in_python(value)}" for name, value in arguments(record, always).items())
    return f"{type(record).__name__}({', '.join(values)})"
