"""The fuzzer for a few seconds, the faults that it found, and Hypothesis with the same readers."""

import json
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, build
from pages.ui.opening import link
from tests.examples import examples
from tests.fuzz import KINDS, Kind, fuzz
from tests.mutation import Mutator
from tests.pages.apptest import move, open_app, total

_TRIES = {
    "amount": 2_000,
    "calculation": 2_000,
    "link": 250,
    "repository": 2_000,
    "config.json": 500,
    "any config.json": 500,
    "sizes": 200,
    "model": 500,
    "command": 15,
    "pasted text": 60,
    "write-up": 40,
    "page": 2,
    "place": 6,
}


@pytest.mark.usefixtures("discovering_here")
# Each discovery takes seconds of PyTorch.
@pytest.mark.parametrize("name", [name for name in KINDS if name != "discovery"])
def test_readers_take_or_refuse_whatever_comes(name: str) -> None:
    tries = _TRIES.get(name, 20)
    kind = KINDS[name]._replace(seconds=math.inf, large=lambda: iter(()))
    found = fuzz(kind, Random(name), most=tries)
    assert (found.tried, found.faults) == (tries, {})


def test_the_fuzzer_finds_what_is_there_to_be_found() -> None:
    def read(text: str) -> bool:
        return json.loads(text) is not None

    kind = Kind(read, 1, ['{"a": 1}'], ())
    assert fuzz(kind, Random(1), most=50).faults
    right = kind._replace(read=bool)
    assert not fuzz(right, Random(1), most=50).faults
    assert fuzz(right._replace(seconds=-1), Random(1), most=1).faults


def test_the_same_seed_draws_the_same_texts() -> None:
    kind = KINDS["models"]
    one, same, other = (Mutator(Random(seed), kind.seeds, kind.words) for seed in (1, 1, 2))
    drawn = [one.draw() for _number in range(50)]
    assert [same.draw() for _number in range(50)] == drawn
    assert [other.draw() for _number in range(50)] != drawn


@pytest.mark.parametrize(
    "name",
    [
        *("amount", "calculation", "config.json", "any config.json", "sizes", "safetensors", "repository", "models"),
        *("model", "command", "link"),
    ],
)
@examples(15)
@given(text=st.text())
def test_readers_take_or_refuse_any_text(name: str, text: str) -> None:
    KINDS[name].read(text)


def test_of_a_thousand_unknown_names_in_a_link_few_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: each name was compared with every known name, which took the server 0.2 seconds for one link."""
    compared: list[str] = []

    def compare(name: str, *_rest: object, **_more: object) -> list[str]:
        compared.append(name)
        return []

    monkeypatch.setattr(link, "get_close_matches", compare)
    given = {f"hiden_size{number}": "1" for number in range(1_000)}
    assert [name for name, *_reason in link.rejections({**given, "hidden_size": "x"})] == ["hidden_size"]
    assert 0 < len(compared) < 30


@examples(3)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 24)), min_size=2, max_size=5))
def test_sessions_see_nothing_of_each_other(moves: list[tuple[bool, int]]) -> None:
    """Two sessions take turns in one process. Each shows the total of its own model in its own language."""
    sessions, layers = [open_app(), open_app(lang="zh", vocab_size="21128")], [12, 12]
    for second, count in moves:
        move(sessions[second], num_hidden_layers=count)
        layers[second] = count
        sessions[not second].run()
        english, chinese = (
            build(BertConfig(vocab_size=size, num_hidden_layers=count))
            for size, count in zip((30522, 21128), layers, strict=True)
        )
        assert [total(app) for app in sessions] == [f"{model.num_parameters():,}" for model in (english, chinese)]
        assert [app.segmented_control(key="lang").value for app in sessions] == ["en", "zh"]
        assert [app.session_state["rejected"] for app in sessions] == [[], []]
