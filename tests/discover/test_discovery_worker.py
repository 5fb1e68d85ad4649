"""Discovering beside the server: progress, limits of time and memory, and readers who leave."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from bertcalc.discover import discovery_worker
from bertcalc.discover.results.result import NOT_ASKED
from bertcalc.discover.results.shipped import shipped
from bertcalc.discover.search.build import Refused
from bertcalc.processes.worker import SlowError, StoppedError
from bertcalc.text.problem import InputError


def nobody() -> None:
    """A reader who stays."""


def ask(model_type: str, cls: str, **given: Any) -> discovery_worker.Answer:
    return discovery_worker.ask(model_type, cls, given, lambda *_said: None, nobody)


def test_it_says_what_it_does_and_finds_what_is_shipped() -> None:
    heard: list[tuple[str, int, int]] = []
    asked = discovery_worker.ask("gpt2", "GPT2LMHeadModel", {}, lambda *said: heard.append(said), nobody)
    there = shipped("gpt2", "GPT2LMHeadModel")
    assert there is not None
    assert (asked.discovery.total, asked.discovery.parameters) == (there.total, there.parameters)
    assert asked.tree.startswith("GPT2LMHeadModel(")
    assert heard[0] == ("imports", 0, 0)
    assert {"n_embd", "formulas", "fresh configurations", "conditions"} <= {what for what, _done, _of in heard}
    assert all(0 <= done <= of for _what, done, of in heard)
    assert discovery_worker.cached("gpt2", "GPT2LMHeadModel", {}) is asked
    assert discovery_worker.cached("gpt2", "GPT2LMHeadModel", {"n_layer": 3}) is None


@pytest.mark.parametrize(
    ("model_type", "cls", "given", "said"),
    [
        ("gpt2", "GPT2LMHeadModel", {"n_embd": [1]}, "transformers does not build this model"),
        ("gpt2", "GPT2LMHeadModel", {"n_embd": 13}, "transformers does not build this model"),
        ("xlnet", "XLNetModel", {"n_layer": 2_000}, "GB of memory"),
        ("vit", "ViTModel", {"image_size": 10**9}, "image_size 1,000,000,000 is too large"),
        ("bert", "BertModel", {"hidden_size": 99_999_996, "num_hidden_layers": 2}, "can be shown here"),
        ("gpt2", "os", {}, "no model class"),
        ("gpt2", "GPT2Config", {}, "no model class"),
    ],
)
def test_what_is_too_much_is_refused_and_the_next_reader_is_served(
    model_type: str, cls: str, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        ask(model_type, cls, **given)
    assert said in str(refused.value)
    assert not ask("gpt2", "GPT2Model", n_layer=2).discovery.unexplained


def test_flops_are_found_for_what_is_known_and_kept() -> None:
    given = {"n_layer": 2, "n_embd": 24, "n_head": 2}
    asked = ask("gpt2", "GPT2Model", **given)
    assert asked.discovery.compute is None

    def look() -> discovery_worker.Answer:
        return discovery_worker.ask_flops("gpt2", "GPT2Model", given, asked, lambda *_said: None, nobody)

    there = look()
    assert there.discovery.compute is not None
    assert (there.tree, there.discovery.total) == (asked.tree, asked.discovery.total)
    assert discovery_worker.cached("gpt2", "GPT2Model", given) is there is look()


def test_who_waits_for_the_same_has_it_with_the_first_and_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    class Left(BaseException):
        """As Streamlit ends a run."""

    began, discovered = threading.Event(), discovery_worker._discover
    calls: list[str] = []

    def discover(model_type: str, *rest: Any) -> discovery_worker.Answer:
        calls.append(model_type)
        began.set()
        time.sleep(0.5)
        return discovered(model_type, *rest)

    monkeypatch.setattr(discovery_worker, "_discover", discover)
    with ThreadPoolExecutor() as pool:
        first, second = (pool.submit(ask, "gpt2", "GPT2Model", n_layer=5) for _reader in range(2))
        began.wait()
        heard: list[str] = []

        def leave() -> None:
            raise Left

        with pytest.raises(Left):
            discovery_worker.ask("llama", "LlamaModel", {}, lambda what, *_more: heard.append(what), leave)
        assert heard == [""]  # that it waits
        assert first.result() is second.result()
    assert calls == ["gpt2"]
    monkeypatch.setattr(discovery_worker, "PATIENCE", 0.0)
    with discovery_worker._TURN, pytest.raises(InputError, match="other readers'"):
        ask("llama", "LlamaModel")


def refusal(model_type: str, cls: str, given: dict[str, Any]) -> str:
    with pytest.raises(InputError) as refused:
        ask(model_type, cls, **given)
    return str(refused.value)


def counted(monkeypatch: pytest.MonkeyPatch, result: Any) -> list[Any]:
    """Have the process asked without one: what it is asked for; it raises the result, or gives it."""
    calls: list[Any] = []

    def listen(_hear: Any, function: Any, *_given: Any) -> Any:
        calls.append(function)
        if isinstance(result, BaseException):
            raise result
        return result(function) if callable(result) else result

    monkeypatch.setattr(discovery_worker.WORKER, "listen", listen)
    return calls


def test_what_was_refused_is_refused_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, error in enumerate((SlowError(), MemoryError(), Refused.because("no such luck"))):
        calls = counted(monkeypatch, error)
        case = ("gpt2", "GPT2Model", {"n_layer": 3, "n_inner": number})
        first, second = (refusal(*case) for _time in range(2))
        assert first == second
        assert calls == [discovery_worker.discovered]
        assert discovery_worker.cached(*case) is None


def test_a_process_that_is_killed_is_no_refusal_and_the_next_request_succeeds() -> None:
    def kill(what: str, *_more: int) -> None:
        process = discovery_worker.WORKER._process
        if what == "n_embd" and process:
            process.kill()

    case: tuple[str, str, dict[str, Any]] = ("gpt2", "GPT2Model", {"n_layer": 3, "n_head": 6})
    with pytest.raises(InputError, match="stopped before it had finished") as refused:
        discovery_worker.ask(*case, kill, nobody)
    assert "memory" not in str(refused.value)
    assert discovery_worker.refusal(*case) is None
    assert not discovery_worker.ask(*case, lambda *_said: None, nobody).discovery.unexplained


def test_a_process_that_crashes_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    case = ("gpt2", "GPT2Model", {"n_layer": 3, "n_inner": 97})
    calls = counted(monkeypatch, StoppedError())
    first, second = (refusal(*case) for _time in range(2))
    assert "crashed" in first
    assert first == second
    assert len(calls) == 1


def test_after_a_while_it_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery_worker, "RETRY_SECONDS", 0.0)
    calls = counted(monkeypatch, SlowError())
    for _time in range(2):
        refusal("gpt2", "GPT2Model", {"n_layer": 3, "n_inner": 98})
    assert len(calls) == 2


def test_that_others_are_served_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    case = ("gpt2", "GPT2Model", {"n_layer": 3, "n_inner": 99})
    with discovery_worker._TURN, monkeypatch.context() as impatient:
        impatient.setattr(discovery_worker, "PATIENCE", 0.0)
        assert "other readers'" in refusal(*case)
    calls = counted(monkeypatch, SlowError())
    assert "no formula was found" in refusal(*case)
    assert len(calls) == 1


def test_flops_give_way_to_who_asks_for_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shipped("gpt2", "GPT2LMHeadModel")
    assert found is not None
    began, asked = threading.Event(), discovery_worker.Answer(replace(found, compute=None, no_flops=NOT_ASKED), "")
    stopped: list[bool] = []

    def answer(function: Any) -> Any:
        if function is discovery_worker.discovered:
            return found.json(), ""
        if not stopped:  # the first search takes forever
            began.set()
            while True:
                discovery_worker.WORKER.wanted()
                time.sleep(0.01)
        return found.json()

    monkeypatch.setattr(discovery_worker.WORKER, "stop", lambda: stopped.append(True))
    calls = counted(monkeypatch, answer)
    case: tuple[str, str, dict[str, Any]] = ("gpt2", "GPT2LMHeadModel", {"n_inner": 3})
    with ThreadPoolExecutor() as pool:
        flops = pool.submit(discovery_worker.ask_flops, *case, asked, lambda *_said: None, nobody)
        assert began.wait(9)
        assert ask("gpt2", "GPT2LMHeadModel", n_inner=4).discovery == found
        assert flops.result().discovery.compute == found.compute
    assert calls == [discovery_worker.computed, discovery_worker.discovered, discovery_worker.computed]
    assert (stopped, discovery_worker._WAITING) == ([True], set())


def test_flops_that_gave_way_too_often_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shipped("gpt2", "GPT2LMHeadModel")
    assert found is not None

    def interrupted(_function: Any) -> Any:
        discovery_worker._WAITING.add(0)
        try:
            discovery_worker.WORKER.wanted()
        finally:
            discovery_worker._WAITING.discard(0)

    monkeypatch.setattr(discovery_worker.WORKER, "stop", lambda: None)
    calls = counted(monkeypatch, interrupted)
    asked = discovery_worker.Answer(replace(found, compute=None, no_flops=NOT_ASKED), "")
    with pytest.raises(InputError, match="other readers'"):
        discovery_worker.ask_flops("gpt2", "GPT2LMHeadModel", {"n_inner": 5}, asked, lambda *_said: None, nobody)
    assert len(calls) == 3


def test_the_process_is_offline_and_has_little_memory() -> None:
    ask("gpt2", "GPT2Model", n_layer=2)
    assert discovery_worker.WORKER.run(os.getenv, "HF_HUB_OFFLINE") == "1"
    with pytest.raises(MemoryError):
        discovery_worker.WORKER.run(bytearray, 2 * discovery_worker.BYTES)


# The last of all: the process ends, and takes seconds to start again.
def test_a_reader_who_leaves_ends_it() -> None:
    class Left(BaseException):
        """As Streamlit ends a run."""

    def leave() -> None:
        raise Left

    ask("gpt2", "GPT2Model", n_layer=2)
    before = discovery_worker.WORKER._process
    assert before is not None
    heard: list[str] = []
    with pytest.raises(Left):
        discovery_worker.ask(
            "deepseek_v3", "DeepseekV3Model", {"num_hidden_layers": 9}, lambda what, *_more: heard.append(what), leave
        )
    assert "conditions" not in heard  # the last activity
    assert before.poll() is not None  # the process has ended


def test_it_takes_no_longer_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery_worker.WORKER, "limit", 0.5)
    with pytest.raises(InputError, match="no formula was found"):
        ask("swin", "SwinModel", depths=[1000] * 4)
