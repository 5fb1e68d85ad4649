"""Discovery in a separate process: progress, limits of time and memory, and readers who leave."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from bertcalc.discover import discover, discovery_worker
from bertcalc.discover.results import known_results
from bertcalc.discover.results.known_results import known
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.result import NOT_ASKED, Discovered
from bertcalc.discover.results.search_errors import Refused
from bertcalc.discover.results.shipped import shipped
from bertcalc.processes.worker import SlowError, StoppedError
from bertcalc.text.problem import InputError


def nobody() -> None:
    """Do nothing: the reader stays."""


def request(model_type: str, cls: str, **fields: Any) -> DiscoveryRequest:
    return DiscoveryRequest({"model_type": model_type, **fields}, cls, printed=True)


def ask(model_type: str, cls: str, **fields: Any) -> Discovered:
    return discover(request(model_type, cls, **fields), wanted=nobody)


def test_it_says_what_it_does_and_finds_what_is_shipped() -> None:
    heard: list[tuple[str, int, int]] = []
    default = request("gpt2", "GPT2LMHeadModel")
    assert known(default) is shipped("gpt2", "GPT2LMHeadModel")
    asked = discover(default, progress=lambda *said: heard.append(said), wanted=nobody)
    there = shipped("gpt2", "GPT2LMHeadModel")
    assert there is not None
    assert (asked.total, asked.parameters) == (there.total, there.parameters)
    assert asked.printed.startswith("GPT2LMHeadModel(")
    assert heard[0] == ("imports", 0, 0)
    assert {"n_embd", "formulas", "fresh configurations", "conditions"} <= {what for what, _done, _of in heard}
    assert all(0 <= done <= of for _what, done, of in heard)
    assert known(default) is asked
    assert known(request("gpt2", "GPT2LMHeadModel", n_layer=3)) is None


@pytest.mark.parametrize(
    ("model_type", "cls", "given", "said"),
    [
        ("gpt2", "GPT2LMHeadModel", {"n_embd": [1]}, "transformers cannot build this model"),
        ("gpt2", "GPT2LMHeadModel", {"n_embd": 13}, "transformers cannot build this model"),
        ("xlnet", "XLNetModel", {"n_layer": 2_000}, "GB of memory"),
        ("vit", "ViTModel", {"image_size": 10**9}, "image_size 1,000,000,000 is too large"),
        ("bert", "BertModel", {"hidden_size": 99_999_996, "num_hidden_layers": 2}, "bertcalc shows at most"),
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
    assert not ask("gpt2", "GPT2Model", n_layer=2).unexplained


def test_flops_are_found_for_what_is_known_and_kept() -> None:
    given = {"n_layer": 2, "n_embd": 24, "n_head": 2}
    asked = ask("gpt2", "GPT2Model", **given)
    assert asked.compute is None
    more = request("gpt2", "GPT2Model", **given)._replace(flops=True, earlier=asked)
    there = discover(more, wanted=nobody)
    assert there.compute is not None
    assert (there.printed, there.total) == (asked.printed, asked.total)
    assert known(request("gpt2", "GPT2Model", **given)) is there is discover(more, wanted=nobody)


def test_who_waits_for_the_same_has_it_with_the_first_and_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    class Left(BaseException):
        """Stands for the exception with which Streamlit ends a run."""

    began, discovered = threading.Event(), discovery_worker._discover
    calls: list[str] = []

    def slowly(search: Any, asked: DiscoveryRequest, *rest: Any) -> Discovered:
        calls.append(asked.model_type)
        began.set()
        time.sleep(0.5)
        return discovered(search, asked, *rest)

    monkeypatch.setattr(discovery_worker, "_discover", slowly)
    with ThreadPoolExecutor() as pool:
        first, second = (pool.submit(ask, "gpt2", "GPT2Model", n_layer=5) for _reader in range(2))
        began.wait()
        heard: list[str] = []

        def leave() -> None:
            raise Left

        with pytest.raises(Left):
            discover(request("llama", "LlamaModel"), progress=lambda what, *_more: heard.append(what), wanted=leave)
        assert heard == [""]  # the message that it waits
        assert first.result() is second.result()
    assert calls == ["gpt2"]
    monkeypatch.setattr(discovery_worker, "PATIENCE", 0.0)
    with discovery_worker._TURN, pytest.raises(InputError, match="other users'"):
        ask("llama", "LlamaModel")


def refusal(model_type: str, cls: str, given: dict[str, Any]) -> str:
    with pytest.raises(InputError) as refused:
        ask(model_type, cls, **given)
    return str(refused.value)


def counted(monkeypatch: pytest.MonkeyPatch, result: Any) -> list[Any]:
    """Replace the worker process.

    Each request returns ``result``, raises it, or returns the value of calling it. The returned list records whether
    each request asks for FLOPs.
    """
    calls: list[Any] = []

    def listen(_hear: Any, _function: Any, _search: Any, asked: DiscoveryRequest, _cpu_seconds: float) -> Any:
        calls.append(asked.flops)
        if isinstance(result, BaseException):
            raise result
        return result(asked) if callable(result) else result

    monkeypatch.setattr(discovery_worker.WORKER, "listen", listen)
    return calls


def test_what_was_refused_is_refused_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    late = StoppedError(late=True)
    for number, error in enumerate((SlowError(), MemoryError(), late, Refused.because("no such luck"))):
        calls = counted(monkeypatch, error)
        case = ("gpt2", "GPT2Model", {"n_layer": 3, "n_inner": number})
        first, second = (refusal(*case) for _time in range(2))
        assert first == second
        assert calls == [False]
        assert known(request(case[0], case[1], **case[2])) is None


def test_a_process_that_is_killed_is_no_refusal_and_the_next_request_succeeds() -> None:
    def kill(what: str, *_more: int) -> None:
        process = discovery_worker.WORKER._process
        if what == "n_embd" and process:
            process.kill()

    case = request("gpt2", "GPT2Model", n_layer=3, n_head=6)
    with pytest.raises(InputError, match="stopped before it had finished") as refused:
        discover(case, progress=kill, wanted=nobody)
    assert "memory" not in str(refused.value)
    assert known_results.refusal(case) is None
    assert not discover(case, wanted=nobody).unexplained


def test_a_process_that_crashes_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    case = ("gpt2", "GPT2Model", {"n_layer": 3, "n_inner": 97})
    calls = counted(monkeypatch, StoppedError())
    first, second = (refusal(*case) for _time in range(2))
    assert "crashed" in first
    assert first == second
    assert len(calls) == 1


def test_after_a_while_it_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_results, "RETRY_SECONDS", 0.0)
    calls = counted(monkeypatch, SlowError())
    for _time in range(2):
        refusal("gpt2", "GPT2Model", {"n_layer": 3, "n_inner": 98})
    assert len(calls) == 2


def test_that_others_are_served_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    case = ("gpt2", "GPT2Model", {"n_layer": 3, "n_inner": 99})
    with discovery_worker._TURN, monkeypatch.context() as impatient:
        impatient.setattr(discovery_worker, "PATIENCE", 0.0)
        assert "other users'" in refusal(*case)
    calls = counted(monkeypatch, SlowError())
    assert "no formula was found" in refusal(*case)
    assert len(calls) == 1


def test_flops_give_way_to_who_asks_for_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shipped("gpt2", "GPT2LMHeadModel")
    assert found is not None
    began, asked = threading.Event(), replace(found, compute=None, no_flops=NOT_ASKED)
    stopped: list[bool] = []

    def answer(wish: DiscoveryRequest) -> Discovered:
        if not wish.flops:
            return found
        if not stopped:  # the first search never ends by itself
            began.set()
            while True:
                discovery_worker.WORKER.wanted()
                time.sleep(0.01)
        return found

    monkeypatch.setattr(discovery_worker.WORKER, "stop", lambda: stopped.append(True))
    calls = counted(monkeypatch, answer)
    flops_of = request("gpt2", "GPT2LMHeadModel", n_inner=3)._replace(flops=True, earlier=asked)
    with ThreadPoolExecutor() as pool:
        flops = pool.submit(discover, flops_of, wanted=nobody)
        assert began.wait(9)
        assert ask("gpt2", "GPT2LMHeadModel", n_inner=4) == found
        assert flops.result().compute == found.compute
    assert calls == [True, False, True]
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
    asked = replace(found, compute=None, no_flops=NOT_ASKED)
    more = request("gpt2", "GPT2LMHeadModel", n_inner=5)._replace(flops=True, earlier=asked)
    with pytest.raises(InputError, match="other users'"):
        discover(more, wanted=nobody)
    assert len(calls) == 3


def test_the_process_is_offline_and_has_little_memory() -> None:
    ask("gpt2", "GPT2Model", n_layer=2)
    assert discovery_worker.WORKER.run(os.getenv, "HF_HUB_OFFLINE") == "1"
    with pytest.raises(MemoryError):
        discovery_worker.WORKER.run(bytearray, 2 * discovery_worker.BYTES)


# Last, since the process ends and takes seconds to start again.
def test_a_reader_who_leaves_ends_it() -> None:
    class Left(BaseException):
        """Stands for the exception with which Streamlit ends a run."""

    def leave() -> None:
        raise Left

    ask("gpt2", "GPT2Model", n_layer=2)
    before = discovery_worker.WORKER._process
    assert before is not None
    heard: list[str] = []
    with pytest.raises(Left):
        discover(
            request("deepseek_v3", "DeepseekV3Model", num_hidden_layers=9),
            progress=lambda what, *_more: heard.append(what),
            wanted=leave,
        )
    assert "conditions" not in heard  # the last activity
    assert before.poll() is not None  # the process has ended


def test_it_takes_no_longer_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery_worker.WORKER, "limit", 0.5)
    with pytest.raises(InputError, match="no formula was found"):
        ask("swin", "SwinModel", depths=[1000] * 4)
