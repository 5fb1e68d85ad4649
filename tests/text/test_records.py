"""The dataclasses of bertcalc/text/records.py behave as Python's own."""

import dataclasses
import pickle
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest

from bertcalc import BertConfig, Lora
from bertcalc.text.records import dataclass


class Base:
    """The content that both classes share."""

    height: int
    width: int = 2
    names: Mapping[str, int] = dataclasses.field(default_factory=dict, hash=False)

    def area(self) -> int:
        return self.height * self.width


def both(name: str, body: Mapping[str, Any]) -> tuple[Any, Any]:
    """The same class, made by Python's decorator and by bertcalc's."""
    content = {**{key: value for key, value in vars(Base).items() if key not in ("__dict__", "__weakref__")}, **body}
    ours, pythons = (type(name, (), dict(content)) for _time in range(2))
    return dataclass(frozen=True)(ours), dataclasses.dataclass(frozen=True)(pythons)


def says_hello(self: Any) -> str:
    return f"hello {self.height}"


OURS, PYTHONS = both("Shape", {})
OF_THEIR_OWN = both("Shape", {"__repr__": says_hello, "__eq__": lambda self, other: self.height == other.height})


def outcome(function: Callable[[], Any]) -> Any:
    """The result, or the type and text of the exception."""
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(("ours", "pythons"), [(OURS, PYTHONS), OF_THEIR_OWN])
@pytest.mark.parametrize(
    "ask",
    [
        lambda kind: repr(kind(1, names={"a": 1})),
        lambda kind: kind(1) == kind(height=1, width=2),
        lambda kind: kind(1) == kind(1, 3),
        lambda kind: kind(1) == kind(1, names={"a": 1}),
        lambda kind: kind(1) == 1 if kind is OURS or kind is PYTHONS else True,
        lambda kind: hash(kind(1)) == hash(kind(1, names={"a": 1})),
        lambda kind: hash(kind(1)) == hash(kind(2)),
        lambda kind: len({kind(1), kind(1), kind(2)}),
        lambda kind: kind(),
        lambda kind: kind(1, 2, {}, 4),
        lambda kind: kind(1, depth=2),
        lambda kind: setattr(kind(1), "height", 2),
        lambda kind: setattr(kind(1), "depth", 2),
        lambda kind: delattr(kind(1), "height"),
        lambda kind: dataclasses.asdict(dataclasses.replace(kind(1), width=5)),
        lambda kind: dataclasses.astuple(deepcopy(kind(3))),
        lambda kind: [part.name for part in dataclasses.fields(kind)],
        lambda kind: kind(3).area(),
    ],
)
def test_a_dataclass_does_what_pythons_does(ask: Callable[[Any], Any], ours: Any, pythons: Any) -> None:
    assert outcome(lambda: ask(ours)) == outcome(lambda: ask(pythons))


def test_classes_of_one_name_and_equal_values_differ() -> None:
    assert OURS(1) != PYTHONS(1)
    assert OURS(1) != both("Shape", {})[0](1)


@pytest.mark.parametrize("record", [BertConfig(hidden_size=384, num_attention_heads=6), Lora(r=4)])
def test_records_are_pickled_and_copied(record: Any) -> None:
    for copy in (pickle.loads(pickle.dumps(record)), deepcopy(record)):
        assert copy == record
        assert hash(copy) == hash(record)
        assert repr(copy) == repr(record)
        with pytest.raises(dataclasses.FrozenInstanceError):
            copy.anything = 1
