"""Frozen dataclasses that import quickly, and the Python calls that create them."""

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import Field, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool) -> Callable[[Any], Any]:
        """``dataclasses.dataclass(frozen=True)``, but classes share all generated methods except ``__init__``.

        The standard decorator compiles the methods for each class, which would slow down the library's import. A class
        that defines ``__init__`` keeps it. Subclasses need this decorator, too.
        """
        assert frozen

        def decorate(kind: Any) -> Any:
            made = cast(Any, dataclasses.dataclass(init="__init__" not in vars(kind), repr=False, eq=False)(kind))
            made._values = attrgetter("__class__", *(part.name for part in fields(made)))
            made._hashed = attrgetter("__class__", *(part.name for part in fields(made) if part.hash is not False))
            for name, method in _METHODS.items():
                if vars(made).get(name) is None:
                    setattr(made, name, method)
            return made

        return decorate


def _equal(self: Any, other: object) -> bool:
    values = self._values
    return values(self) == values(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self._hashed(self))


def _text(self: Any) -> str:
    values = (f"{part.name}={getattr(self, part.name)!r}" for part in fields(self))
    return f"{type(self).__qualname__}({', '.join(values)})"


def _set(self: Any, name: str, value: object) -> None:
    if name in vars(self) or name not in self.__dataclass_fields__:  # ``__init__`` may assign each field once
        message = f"cannot assign to field {name!r}"
        raise FrozenInstanceError(message)
    object.__setattr__(self, name, value)


def _delete(_self: Any, name: str) -> None:
    message = f"cannot delete field {name!r}"
    raise FrozenInstanceError(message)


_METHODS = {"__eq__": _equal, "__hash__": _hash, "__repr__": _text, "__setattr__": _set, "__delattr__": _delete}


def default(part: Field[Any]) -> object:
    """The default of a field; ``dataclasses.MISSING`` if it has none."""
    return part.default_factory() if callable(part.default_factory) else part.default


def arguments(record: Any, always: Collection[str] = ()) -> dict[str, Any]:
    """The arguments of a record that differ from their defaults, and the arguments named in ``always``."""
    values = {part: getattr(record, part.name) for part in fields(record)}
    return {part.name: value for part, value in values.items() if part.name in always or value != default(part)}


def in_python(value: object) -> str:
    r"""Write a value as Python code.

    >>> in_python(("query", "value")), in_python(r"layer\.\d")
    ("['query', 'value']", "r'layer\\.\\d'")
    """
    if isinstance(value, str) and "\\" in value:
        return f"r'{value}'"
    return repr(list(value) if isinstance(value, tuple) else value)


def call(record: Any, always: Collection[str] = ()) -> str:
    """Write a record as the call that creates it.

    >>> from bertcalc.changes.bitfit import BitFit
    >>> call(BitFit(head=False)), call(BitFit(), ["head"])
    ('BitFit(head=False)', 'BitFit(head=True)')
    """
    values = (f"{name}={in_python(value)}" for name, value in arguments(record, always).items())
    return f"{type(record).__name__}({', '.join(values)})"
