"""With other versions of Streamlit, uvicorn or websockets, pages are served, and the log names what is lost."""

import ast
import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import streamlit
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest, BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from pages.server import headers, preview
from pages.server.upstream import INTERNALS, internals, streamlit_internals
from pages.server.upstream.internals import WRITTEN_FOR, Internal, is_usable, look_up
from pages.ui.shell.navigation import PAGES
from tests.browser.launch import ROOT, running_server
from tests.examples import sampled
from tests.loop import finished
from tests.pages.apptest import open_app

# For each internal, one name that the next version might change. Streamlit's page and scripts are files and not listed.
RENAMED = {
    "SHARED_LOCK": "SafeSessionState",
    "CALLBACKS": "_maybe_handle_execution_control_request",
    "QUIET_PAGES": "_send_query_param_msg",
    "STORED_SESSIONS": "MemorySessionStorage",
    "VALUES": "filtered_state",
    "FIRST_MESSAGE": "_coalesce_widget_states",
    "HISTORY": "is_history_navigation",
    "LINK": "discard_param_no_forward_msg",
    "OTHER_SESSION": "get_app_session",
    "DOWNLOADS": "DeferredFileHandler",
    "MESSAGES": "rerun_script",
    "CONTROL_NAMES": "GENERATED_ELEMENT_ID_PREFIX",
    "REQUESTS": "H11Protocol",
    "HANDSHAKES": "handshake_initiated",
    "FRAGMENTS": "StreamReader",
    "BAD_REQUESTS": "send_400_response",
    "REJECTED_SOCKETS": "reject",
}
OF_PAGE = {"INLINE_SCRIPTS", "PAGE_HEAD", "ADDRESS", "ELEMENTS"}


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    """Clear what is cached about the installed versions, before and after each test."""
    remembering = (
        is_usable,
        internals.package_file,
        streamlit_internals.element_scripts,
        streamlit_internals._control_prefixes,
        streamlit_internals._is_sent,
    )
    for function in remembering:
        function.cache_clear()
    yield
    for function in remembering:
        function.cache_clear()


@pytest.fixture
def log() -> Iterator[list[str]]:
    """The lines of the logger ``bertcalc``."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("bertcalc").addHandler(handler)
    yield lines
    logging.getLogger("bertcalc").removeHandler(handler)


@pytest.mark.parametrize("name", INTERNALS)
def test_the_installed_version_has_it(name: str, log: list[str]) -> None:
    assert is_usable(INTERNALS[name])
    assert not log


def test_each_says_why_it_is_used_and_what_is_lost() -> None:
    assert RENAMED.keys() | OF_PAGE == INTERNALS.keys()
    assert {package: ".".join(version(package).split(".")[:2]) for package in WRITTEN_FOR} == WRITTEN_FOR
    for name, internal in INTERNALS.items():
        assert internal.names[0].partition(":")[0].partition(".")[0] in WRITTEN_FOR, name
        assert internal.reason.endswith("."), name
        assert not internal.loss.endswith("."), name
        assert re.fullmatch(r"https://github\.com/[\w/-]+/(issues|pull)/\d+|", internal.issue), name
    assert [name for name, internal in INTERNALS.items() if not internal.issue] == ["CONTROL_NAMES", "REJECTED_SOCKETS"]


def test_no_other_module_names_them() -> None:
    """Other modules name them neither by an import, nor by a private attribute, nor in a string."""
    paths = [ROOT / "app.py", *(path for room in ("bertcalc", "pages") for path in (ROOT / room).rglob("*.py"))]
    documented = {"streamlit", "streamlit.starlette", "streamlit.delta_generator", "streamlit.errors"}
    words = {
        word
        for internal in INTERNALS.values()
        for name in internal.names
        for word in re.findall(r"\w*_\w+|[A-Z]\w*[a-z][A-Z]\w*", name.partition(":")[2])
        if "#" not in name
    } - {"__init__", "_lock", "query_string", *dir(streamlit)}  # words that mean something else elsewhere
    naming = []
    for path in paths:
        if "upstream" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=aliases):
                    modules = [alias.name for alias in aliases]
                case ast.ImportFrom(module=str(module)):
                    modules = [module]
                case _:
                    modules = []
            names = [module for module in modules if _is_of(module, WRITTEN_FOR) and module not in documented]
            match node:
                case ast.Attribute(attr=word) | ast.Name(id=word) | ast.Constant(value=str(word)) if word in words:
                    names.append(word)
            naming += [(str(path.relative_to(ROOT)), name) for name in names]
    assert len(words) > 30
    assert naming == []


def _is_of(module: str, packages: dict[str, str]) -> bool:
    return module.partition(".")[0] in {*packages, "h11"}


@pytest.mark.parametrize("name", INTERNALS)
def test_without_it_the_app_serves_pages_and_the_log_says_so_once(
    name: str,
    launch: Callable[[], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    log: list[str],
) -> None:
    internal = INTERNALS[name]
    monkeypatch.setattr(internals, "look_up", _without(internal.names[-1]))
    for _start in range(2):
        launch()
        app = open_app()
        assert app.title or app.metric or app.markdown
        open_app("layers.py", lang="zh")
    losses = {other.loss for other in INTERNALS.values() if internal.names[-1] in other.names}
    assert sorted(line.rpartition(": ")[2] for line in log) == sorted(losses)
    assert all(internal.names[-1] in line for line in log)


def _without(missing: str) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if name == missing:
            raise AttributeError(name)
        return look_up(name)

    return find


@pytest.mark.parametrize("name", [name for name, internal in INTERNALS.items() if internal.parameters])
def test_a_method_with_other_parameters_stays_as_it_is(
    name: str,
    launch: Callable[[], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    log: list[str],
) -> None:
    internal = INTERNALS[name]
    owner, _, attribute = internal.names[0].rpartition(".")
    method = look_up(internal.names[0])

    def other(this: Any, *arguments: Any, **options: Any) -> Any:
        return method(this, *arguments, **options)

    # Other attributes that __init__ sets appear in its code.
    constants = {key for key, value in INTERNALS.items() if f"{owner}._lock" in value.names}
    monkeypatch.setattr(look_up(owner), attribute, other)
    launch()
    open_app()
    assert look_up(internal.names[0]) is other
    assert not is_usable(internal)
    lines = [line for line in log if internal.loss in line]
    assert len(lines) == 1
    assert constants or "different parameters" in lines[0]


def test_a_new_kind_of_message_is_ignored_and_logged_once(log: list[str]) -> None:
    kinds = {field.name for message in (BackMsg, BackendOperationRequest) for field in message.DESCRIPTOR.fields}
    kinds -= {"backend_operation_request", "request_id", "session_id"}
    assert {kind for kind in kinds if streamlit_internals._is_sent(kind)} == streamlit_internals._SENT
    assert not log
    assert not any(streamlit_internals._is_sent("run_fragment") for _message in range(3))
    (line,) = log
    assert "run_fragment" in line


@pytest.mark.parametrize("owner", ["ScriptRunContext", "RerunData"])
def test_a_field_that_is_gone_is_noticed(owner: str) -> None:
    look_up(f"streamlit.runtime.scriptrunner:{owner}.query_string")
    with pytest.raises(AttributeError):
        look_up(f"streamlit.runtime.scriptrunner:{owner}.query_strings")


@pytest.mark.parametrize(
    "name",
    [
        "streamlit.nowhere:anything",
        "streamlit.proto.BackMsg_pb2:BackMsg.nothing",
        "streamlit:static/nothing.html#text",
        "streamlit:static/index.html#no such text",
        "uvicorn.protocols.http.h11_impl:H11Protocol.nothing",
    ],
)
def test_what_does_not_exist_is_not_usable(name: str, log: list[str]) -> None:
    internal = Internal(names=("streamlit:title", name), reason="", loss="nothing is shown")
    for _time in range(3):
        assert not is_usable(internal)
    (line,) = log
    assert re.fullmatch(
        rf"streamlit [\d.]+ has no {re.escape(name)} \(bertcalc was written for 1\.67\): nothing is shown",
        line,
    )


def test_another_page_of_streamlits_is_served_as_it_is(monkeypatch: pytest.MonkeyPatch, log: list[str]) -> None:
    page = "<!doctype html><title>App</title><script nonce=''>run()</script><script src='a.js'></script>"
    monkeypatch.setattr(internals, "package_file", lambda _package, _file: page)
    monkeypatch.setattr(streamlit_internals, "package_file", lambda _package, _file: page)
    assert preview._page(page.encode(), "zh", "Heading", "text", (), False) == page.encode()
    assert len(log) == 1
    assert headers._hashes(streamlit_internals.index_page()).count("sha256") == 1


def test_without_its_scripts_as_they_were_nothing_is_loaded_early(
    monkeypatch: pytest.MonkeyPatch, log: list[str]
) -> None:
    monkeypatch.setattr(internals, "package_file", lambda _package, _file: "")
    assert streamlit_internals.element_scripts("") == ()
    assert streamlit_internals.address_script("location.href") == ""
    assert len(log) == 2


@pytest.mark.parametrize("address", PAGES)
def test_what_is_loaded_early_is_served_and_complete(address: str) -> None:
    """None of the scripts that these scripts import is missing."""
    folder = Path(streamlit.__file__).parent / "static"
    page = streamlit_internals.index_page()
    early = streamlit_internals.element_scripts(address)
    assert len(early) > 20
    for file in early:
        source = (folder / file).read_text(encoding="utf-8")
        for name in re.findall(r"""^import.*?["'`]\./([\w.-]+\.js)["'`]""", source):
            assert f"./static/js/{name}" in (*early, *re.findall(r"\./static/js/[\w.-]+", page)), (file, name)


def serve(log: Path, names: list[str], tmp_path: Path) -> list[str]:
    """Draw a page on a server whose packages have other names. Return the lines of its log about them."""
    (tmp_path / "sitecustomize.py").write_text((ROOT / "tests/server/next_version.py").read_text())
    with running_server(log, PYTHONPATH=str(tmp_path), RENAMED=",".join(names)) as (url, _process):
        with urlopen(f"{url}/layers") as response:
            assert b"<title>" in response.read()
        finished(_draw(url))
    return [line for line in log.read_text().splitlines() if "bertcalc was written for" in line]


async def _draw(url: str) -> None:
    address, protocols = f"ws{url.removeprefix('http')}/_stcore/stream", [Subprotocol("streamlit")]
    async with connect(address, subprotocols=protocols, max_size=None) as socket:
        message = BackMsg()
        message.rerun_script.query_string = "preset=bert-large-uncased"
        await socket.send(message.SerializeToString())
        elements = 0
        async with asyncio.timeout(60):
            while True:
                answer = ForwardMsg.FromString(await socket.recv(decode=False))
                elements += answer.HasField("delta")
                if answer.HasField("script_finished"):
                    break
    assert answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
    assert elements > 20


def test_the_next_version_with_all_names_changed_serves_pages(tmp_path: Path) -> None:
    lines = serve(tmp_path / "log", [*RENAMED.values()], tmp_path)
    losses = {INTERNALS[name].loss for name in RENAMED}
    assert sorted(line.rpartition(": ")[2] for line in lines) == sorted(losses)


@pytest.mark.parametrize("name", sampled(RENAMED, 16, 4))
def test_the_next_version_with_one_name_changed_serves_pages(name: str, tmp_path: Path) -> None:
    lines = serve(tmp_path / "log", [RENAMED[name]], tmp_path)
    assert INTERNALS[name].loss in {line.rpartition(": ")[2] for line in lines}
    assert len(lines) == len({*lines})
