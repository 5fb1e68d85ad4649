"""The benchmarks' load generator knows what each session must receive, and notices another session's data."""

from pathlib import Path

import pytest

from benchmarks.load import Server, Session, connection, load
from bertcalc import BertConfig, build
from pages.ui.shell.i18n import catalogue
from tests.browser.launch import running_server
from tests.loop import finished


@pytest.fixture(scope="module")
def server(running: tuple[str, int]) -> Server:
    return Server(running)


def test_two_sessions_get_their_own_totals_in_their_own_languages(server: Server) -> None:
    loads = finished(load(server, "", {2: 1}))
    assert loads.loads[2].latencies
    assert loads.loads[2].cpu_per_rerun > 0


def test_an_answer_to_somebody_else_is_noticed(server: Server) -> None:
    async def visits() -> None:
        async with connection(server) as socket:
            session = Session(0, "", socket, ours=True)
            await session.open()
            await session.move()
            sizes = session.model.sizes
            config = BertConfig(vocab_size=sizes["vocab_size"], num_hidden_layers=sizes["num_hidden_layers"])
            assert session.total == f"{build(config).num_parameters():,}"
            sizes["vocab_size"] += 1
            with pytest.raises(AssertionError):
                await session.move()

    finished(visits())


def test_another_language_is_noticed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.load.catalogue", lambda _language: catalogue("zh"))

    async def visit() -> None:
        async with connection(server) as socket:
            with pytest.raises(AssertionError, match="en"):
                await Session(0, "", socket, ours=True).open()

    finished(visit())


def test_percentiles_of_one_floor_session(tmp_path: Path) -> None:
    with running_server(tmp_path / "log", "benchmarks/one_slider.py") as running:
        found = finished(load(Server(running), "", {1: 1}, ours=False)).loads[1]
    assert min(found.latencies) <= found.latency(50) <= found.latency(95) <= found.latency(99) == max(found.latencies)
