"""Exceptions in transformers' code become a message for the reader, never a traceback."""

import re
from itertools import product
from typing import Any

import pytest
import transformers

from bertcalc.discover import discover
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.search_errors import Refused
from bertcalc.discover.search import build
from bertcalc.discover.search.build import not_built
from tests.examples import sampled


class SpeechlessError(Exception):
    """An exception with a message that cannot be read."""

    def __str__(self) -> str:
        raise KeyError("no words")


ERRORS = [RecursionError("too deep"), AssertionError(), SystemExit(3), SpeechlessError()]
# (attribute, number of successful reads) pairs: the next read raises.
PLACES = [("n_layer", 0), ("n_layer", 30), ("model_type", 5), ("to_dict", 0)]


def odd(error: BaseException, where: str, after: int) -> Any:
    """Return a configuration class that raises an error once an attribute is read more than ``after`` times."""
    times = 0

    class OddConfig(transformers.GPT2Config):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            nonlocal times
            times += name == where
            if name == where and times > after:
                raise error
            return super().__getattribute__(name)

    return OddConfig


@pytest.mark.parametrize(("error", "place"), sampled(product(ERRORS, PLACES), 3))
def test_whatever_a_configuration_raises_is_said(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, place: tuple[str, int]
) -> None:
    where, after = place
    monkeypatch.setattr(build, "config_class", lambda _kind: odd(error, where, after))
    try:
        assert discover(DiscoveryRequest("gpt2", "GPT2Model", printed=True)).tensors
    except Refused as refused:
        assert re.search(f"{type(error).__name__}|KeyError", str(refused))  # noqa: PT017 # discovery may also succeed


def test_a_class_that_leaves_or_is_in_a_broken_file_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> Any:
        raise RuntimeError("Failed to import transformers.models.gpt2 because of the following error:\nno such file")

    class Leaving(transformers.GPT2Model):  # type: ignore[misc]
        def __init__(self, *_given: Any) -> None:
            raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(build, "model_class", lambda _name: Leaving)
        with pytest.raises(Refused, match=r"^GPT2Model could not be read: SystemExit\.$"):
            discover(DiscoveryRequest("gpt2", "GPT2Model"))
    monkeypatch.setattr(build, "config_class", broken)
    with pytest.raises(Refused, match=r"^gpt2 could not be read: RuntimeError\.$"):
        discover(DiscoveryRequest("gpt2"))


def test_what_transformers_announces_is_said_as_well() -> None:
    def said(text: str) -> str:
        return str(not_built(ValueError(text)))

    assert said("Class validation error:\n    ValueError: 256 is no 0\n\nmore") == (
        "transformers cannot build this model: ValueError: Class validation error: ValueError: 256 is no 0"
    )
    assert said("\n\n") == "transformers cannot build this model: ValueError: "
    assert said("one:\n") == "transformers cannot build this model: ValueError: one:"
    assert said("a\nb:\nc").endswith(": a")
    assert str(not_built(ValueError("a\nb"), line=-1)).endswith(": b")
    assert said("word " * 99).endswith("word wor ...")
    with pytest.raises(Refused) as refused:  # the next line of transformers' message says how to fix it
        discover(DiscoveryRequest("pe_video"))
    assert "You can install it with pip: `pip install timm`." in str(refused.value)
