"""The undocumented parts of Streamlit: sessions, messages from browsers, the address, downloads, and its HTML page."""

import logging
import re
from collections.abc import Awaitable, Callable, ItemsView, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NoReturn, TypeAlias

from pages.server.upstream.internals import Internal, Method, is_usable, look_up, package_file, package_files, replace

_RUN = "streamlit.runtime.scriptrunner:"
_STATE = "streamlit.runtime.state:"
_PARAMETERS = "streamlit.runtime.state.query_params:QueryParams."
SHARED_LOCK = Internal(
    names=(
        f"{_STATE}SafeSessionState.__init__",
        f"{_STATE}SafeSessionState._lock",
        f"{_STATE}SessionState.query_params",
    ),
    parameters="self, state, yield_callback",
    reason=(
        "When a browser reconnects, a new run starts while the previous one continues to its next command. Each has "
        "its own lock for the same session state. One iterates over a dictionary that the other extends, and a page "
        'fails with "RuntimeError: dictionary changed size during iteration".'
    ),
    issue="https://github.com/streamlit/streamlit/issues/16763",
    loss="a page may fail when a browser reconnects",
)
CALLBACKS = Internal(
    names=(
        f"{_RUN}ScriptRunner._maybe_handle_execution_control_request",
        f"{_RUN}ScriptRunner._session_state",
        f"{_STATE}SafeSessionState._lock",
        "threading:_CRLock._is_owned",  # private, but threading.Condition relies on it, too
    ),
    parameters="self",
    reason=(
        "A new message aborts a callback as soon as it reads or writes session state, and does not call it again: "
        "the click is lost. A dialog that is closed just before a slider moves would stay open."
    ),
    issue="https://github.com/streamlit/streamlit/issues/10578",
    loss="a click may be lost if another one follows at once",
)
QUIET_PAGES = Internal(
    names=(f"{_PARAMETERS}populate_from_query_string", f"{_PARAMETERS}_send_query_param_msg"),
    parameters="self, query_string",
    reason=(
        "When a page is opened, Streamlit removes the query parameters of the previous page's controls, and tells the "
        "browser while it still shows the previous page: Back then leads to that page without its values."
    ),
    issue="https://github.com/streamlit/streamlit/issues/14350",
    loss="Back may show the previous page without its values",
)
STORED_SESSIONS = Internal(
    names=("streamlit.runtime.memory_session_storage:MemorySessionStorage.__init__",),
    parameters="self, maxsize",
    reason="Streamlit stores at most 128 sessions without a connection, and has no setting for this number.",
    issue="https://github.com/streamlit/streamlit/issues/6166",
    loss="if a large class loses the network, some sessions are lost",
)
VALUES = Internal(
    names=(
        f"{_STATE}SafeSessionState.filtered_state",
        f"{_STATE}SafeSessionState._lock",
        f"{_STATE}SafeSessionState._state",
        f"{_STATE}SessionState.filtered_state",
    ),
    reason=(
        "Each list and number field reads the values of all controls, to see whether its own is None: a tenth of a run "
        "on a page with 17 of them."
    ),
    issue="https://github.com/streamlit/streamlit/issues/9415",
    loss="a page with many controls takes longer",
)
FIRST_MESSAGE = Internal(
    names=(
        f"{_STATE}SessionState.on_script_will_rerun",
        f"{_STATE}SessionState.query_params",
        f"{_STATE}SafeSessionState.query_params",
        f"{_RUN}get_script_run_ctx",
        *(
            f"{_RUN}ScriptRunContext.{name}"
            for name in (
                "_enqueue",
                "session_state",
                "query_string",
                "page_script_hash",
                "is_history_navigation",
                "cached_message_hashes",
                "context_info",
            )
        ),
        f"{_RUN}RerunData.widget_states",
        f"{_RUN}RerunException",
        "streamlit.runtime.scriptrunner_utils.script_requests:_coalesce_widget_states",
        "streamlit.proto.WidgetStates_pb2:WidgetStates.widgets",
        "streamlit.proto.WidgetStates_pb2:WidgetState.json_value",
    ),
    parameters="self, fresh_widget_states",
    reason=(
        "After a restart of the server, the first message of a browser comes to a session that has drawn no controls. "
        "Streamlit then calls no callbacks: a pressed button, a submitted form and a typed number are lost."
    ),
    issue="https://github.com/streamlit/streamlit/issues/8901",
    loss="after a restart of the server, the first action in an open page is lost",
)
HISTORY = Internal(
    names=(
        f"{_RUN}get_script_run_ctx",
        f"{_RUN}ScriptRunContext.is_history_navigation",
        f"{_RUN}ScriptRunContext.query_string",
        f"{_RUN}ScriptRunContext.session_state",
        f"{_RUN}ScriptRunContext.enqueue",
        f"{_STATE}SafeSessionState.query_params",
        f"{_PARAMETERS}populate_from_query_string",
        f"{_PARAMETERS}set_initial_query_params",
        "streamlit.proto.ForwardMsg_pb2:ForwardMsg.page_info_changed",
        "streamlit.proto.PageInfo_pb2:PageInfo.query_string",
    ),
    reason=(
        "Scripts cannot ask whether the reader pressed Back. If both pages have a control of the same name, Streamlit "
        "drops its parameter as the other page's, and the control starts with its default. If Back is pressed during a "
        "run, what that run writes into the address arrives after it, and replaces the address that Back led to."
    ),
    issue="https://github.com/streamlit/streamlit/issues/9279",
    loss="Back and Forward do not restore all controls",
)
LINK = Internal(
    names=(
        f"{_PARAMETERS}discard_param_no_forward_msg",
        f"{_PARAMETERS}set_with_no_forward_msg",
        f"{_STATE}SafeSessionState.query_params",
        f"{_RUN}get_script_run_ctx",
        f"{_RUN}ScriptRunContext.session_state",
    ),
    parameters="self, param_key",
    reason=(
        "``st.query_params`` cannot remove several parameters at once, nor change any without an entry in the "
        "browser's history."
    ),
    issue="https://github.com/streamlit/streamlit/issues/8347",
    loss="one change of the model may leave several steps of Back",
)
OTHER_SESSION = Internal(
    names=(
        "streamlit.runtime:get_instance",
        "streamlit.runtime:Runtime.get_app_session",
        "streamlit.runtime.app_session:AppSession.session_state",
    ),
    reason=(
        "A file is made outside of a run, where ``st.session_state`` is empty: the language of its reader is not known."
    ),
    issue="https://github.com/streamlit/streamlit/issues/13466",
    loss="messages about downloads are in English",
)
DOWNLOADS = Internal(
    names=(
        "streamlit.runtime.backend_operation_handler:DeferredFileHandler.handle",
        "streamlit.runtime.backend_operation_handler:DeferredFileHandler._get_media_file_mgr",
        "streamlit.runtime.media_file_manager:MediaFileManager.execute_deferred",
        "streamlit.runtime.media_file_storage:MediaFileStorageError",
        "streamlit.proto.BackMsg_pb2:BackendOperationRequest.deferred_file",
        "streamlit.proto.ForwardMsg_pb2:BackendOperationResponse.deferred_file",
        "streamlit.proto.ForwardMsg_pb2:BackendOperationResponse.error_msg",
        "streamlit.proto.ForwardMsg_pb2:DeferredFileResponsePayload.url",
    ),
    parameters="self, request, session_id",
    reason=(
        "Streamlit makes all files in the threads of asyncio, first come, first served, and its message about a "
        "failure cannot be changed."
    ),
    issue="https://github.com/streamlit/streamlit/issues/13466",
    loss="downloads do not take turns, and their failures are not explained",
)
MESSAGES = Internal(
    names=(
        "streamlit.proto.BackMsg_pb2:BackMsg.rerun_script",
        "streamlit.proto.BackMsg_pb2:BackMsg.backend_operation_request",
        "streamlit.proto.ClientState_pb2:ClientState.widget_states",
        "streamlit.proto.ClientState_pb2:ClientState.cached_message_hashes",
        "streamlit.proto.WidgetStates_pb2:WidgetStates.widgets",
        "streamlit.proto.WidgetStates_pb2:WidgetState.id",
        "streamlit.proto.WidgetStates_pb2:WidgetState.json_value",
        "streamlit.proto.WidgetStates_pb2:WidgetState.json_trigger_value",
    ),
    reason="Streamlit limits the bytes of a message, but not the number of objects that it becomes.",
    issue="https://github.com/streamlit/streamlit/pull/15804",
    loss="messages of browsers are limited by their size and rate only",
)
CONTROL_NAMES = Internal(
    names=(
        "streamlit.runtime.state.common:GENERATED_ELEMENT_ID_PREFIX",
        "streamlit.runtime.state.session_state:STREAMLIT_INTERNAL_KEY_PREFIX",
    ),
    reason="A page fails if a message names a control that Streamlit did not name.",
    loss="messages may name controls that do not exist",
)
INLINE_SCRIPTS = Internal(
    names=("streamlit:static/index.html#<script",),
    reason="A content security policy names the inline scripts of Streamlit's page by their hashes.",
    issue="https://github.com/streamlit/streamlit/issues/6417",
    loss="browsers refuse the inline scripts of Streamlit's page",
)
PAGE_HEAD = Internal(
    names=("streamlit:static/index.html#<title>Streamlit</title>", 'streamlit:static/index.html#<html lang="en">'),
    reason=(
        "Programs that show previews of links read the title and description in the HTML, which Streamlit does not "
        "change."
    ),
    issue="https://github.com/streamlit/streamlit/issues/16634",
    loss="previews of links show no title",
)
_JS = "static/static/js/"
ADDRESS = Internal(
    names=(f"streamlit:{_JS}src.*.js#__streamlit", f"streamlit:{_JS}src.*.js#BACKEND_BASE_URL"),
    reason=(
        "A browser that opens another page than the first asks for the server below the page's address, and waits for "
        "a tenth of a second before it asks again above it."
    ),
    issue="https://github.com/streamlit/streamlit/issues/7074",
    loss="pages other than the first open a tenth of a second later",
)
_ON_MOST_PAGES = (
    *("Html", "ButtonGroup", "Button", "NumberInput", "Selectbox", "BidiComponent", "Metric"),
    *("rehype-katex", "rehype-raw"),  # draw formulas and HTML in Markdown
)
_ON_PAGES = {  # keyed by the page's address
    "": ("PageLink",),
    "structure": ("Checkbox",),
    "outputs": ("Checkbox",),
    "configuration": ("PageLink",),
    "compute": ("Checkbox",),
    "bring": ("TextArea",),
    "any_model": ("PageLink",),
    "change": ("TextInput",),
    "compare": ("TextInput",),
    "sweep": ("Checkbox",),
    "design": ("TextInput", "Checkbox"),
    "verify": ("Spinner",),
    "explain": ("TextInput",),
    "tools": ("Table",),
    "lecture": ("TextInput", "Checkbox", "PageLink"),
    "exercises": ("TextInput", "Checkbox", "DownloadButton"),
}
ELEMENTS = Internal(
    names=tuple(
        f"streamlit:{_JS}{name}.*.js#export" for name in sorted({*_ON_MOST_PAGES, *chain(*_ON_PAGES.values())})
    ),
    reason=(
        "Browsers load the scripts of an element, up to twenty files, when it is drawn first: in the middle of a first "
        "visit, which waits for them."
    ),
    issue="https://github.com/streamlit/streamlit/issues/5798",
    loss="a first visit takes a tenth of a second longer",
)
Values: TypeAlias = Any  # the values of the controls in a message (Streamlit's WidgetStates)


# Sessions


def share_lock() -> None:
    """Give all runs of a session the same lock."""

    def make(construct: Method) -> Method:
        def construct_shared(safe: Any, state: Any, *arguments: Any, **options: Any) -> None:
            construct(safe, state, *arguments, **options)
            # The state does not accept new attributes. Its query parameters do, and they exist as long as the state.
            lock = vars(state.query_params).setdefault("lock of session", safe._lock)
            object.__setattr__(safe, "_lock", lock)  # because the class's __setattr__ writes session state

        return construct_shared

    replace(SHARED_LOCK, make)


def finish_callbacks() -> None:
    """Let callbacks finish before the next run begins."""

    def make(begin_next: Method) -> Method:
        def begin_next_outside_callbacks(runner: Any) -> None:
            # A run holds its session's lock while it calls callbacks; otherwise it holds the lock only briefly.
            if not runner._session_state._lock._is_owned():
                begin_next(runner)

        return begin_next_outside_callbacks

    replace(CALLBACKS, make)


def open_pages_quietly() -> None:
    """Keep Streamlit from changing the browser's address when another page is opened."""

    def make(populate: Method) -> Method:
        def populate_quietly(parameters: Any, *arguments: Any, **options: Any) -> None:
            vars(parameters)["_send_query_param_msg"] = lambda: None
            try:
                populate(parameters, *arguments, **options)
            finally:
                del vars(parameters)["_send_query_param_msg"]

        return populate_quietly

    replace(QUIET_PAGES, make)


def store_sessions(count: int) -> None:
    """Let Streamlit store up to ``count`` sessions without a connection."""

    def make(construct: Method) -> Method:
        def construct_larger(storage: Any, maxsize: int = count, *arguments: Any, **options: Any) -> None:
            construct(storage, maxsize, *arguments, **options)

        return construct_larger

    replace(STORED_SESSIONS, make)


class _StateValues(Mapping[str, Any]):
    """The values of a session's state; each value is read on access."""

    def __init__(self, safe: Any) -> None:
        self._safe = safe

    def __contains__(self, name: object) -> bool:
        with self._safe._lock:
            return name in self._safe._state

    def __getitem__(self, name: str) -> Any:
        with self._safe._lock:
            return self._safe._state[name]

    def _all(self) -> dict[str, Any]:
        with self._safe._lock:
            values: dict[str, Any] = self._safe._state.filtered_state
            return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, Any]:
        return self._all().items()

    def __repr__(self) -> str:
        return repr(self._all())


def read_values_singly() -> None:
    """Let a control that needs one value of the session's state read only this value."""
    if is_usable(VALUES):
        look_up(VALUES.names[0].rpartition(".")[0]).filtered_state = property(_StateValues)


def session_value(session_id: str, name: str) -> Any:
    """Return a value of a session's state from outside its runs; None if the session or the value does not exist."""
    if not is_usable(OTHER_SESSION):
        return None
    from streamlit.runtime import get_instance

    session = get_instance().get_app_session(session_id)
    return session.session_state[name] if session is not None and name in session.session_state else None


# Messages of a browser


def filter_values(choose: Callable[[dict[str, Any], Values | None], Values | None]) -> None:
    """Let ``choose(notes, values)`` decide which values of controls a run gets.

    ``notes`` is the dictionary of ``session_notes`` for the run's session. ``values`` are the values that arrived, or
    None if the run has no message.
    """

    def make(begin_run: Method) -> Method:
        def begin_run_filtered(state: Any, fresh_widget_states: Values | None, *arguments: Any, **options: Any) -> None:
            values = choose(vars(state.query_params), fresh_widget_states)
            begin_run(state, values, *arguments, **options)

        return begin_run_filtered

    replace(FIRST_MESSAGE, make)


def has_values(values: Values) -> bool:
    """Whether a message contains values of controls."""
    return bool(values.widgets)


def no_values() -> Values:
    """Return the values of a message without controls."""
    from streamlit.proto.WidgetStates_pb2 import WidgetStates

    return WidgetStates()


def merge_values(older: Values | None, newer: Values) -> Values | None:
    """Merge the values of two messages as Streamlit's queue does; ``older`` is None if there is no older message."""
    from streamlit.runtime.scriptrunner_utils.script_requests import _coalesce_widget_states

    return _coalesce_widget_states(older, newer)


def json_of(values: Values, key: str) -> str:
    """Return the JSON that the component with this key sent; "" if there is none."""
    for state in values.widgets:
        if state.id.endswith(f"-{key}") and state.WhichOneof("value") == "json_value":
            return f"{state.json_value}"
    return ""


def session_notes() -> dict[str, Any]:
    """Return the notes that ``filter_values`` passes to ``choose`` for this run's session; empty outside a run."""
    context = _context() if is_usable(FIRST_MESSAGE) else None
    if context is None:
        return {}
    with context.session_state.query_params() as parameters:
        notes: dict[str, Any] = vars(parameters)
        return notes


def stop_sending() -> Callable[[], object]:
    """Stop sending this run's messages to the browser until the returned function is called."""
    context = _context()
    resume = partial(setattr, context, "_enqueue", context._enqueue)
    context._enqueue = lambda message: None
    return resume


def run_again(values: Values) -> NoReturn:
    """End this run, and begin another run with these values."""
    from streamlit.runtime.scriptrunner import RerunData, RerunException

    context = _context()
    raise RerunException(
        RerunData(
            query_string=context.query_string,
            page_script_hash=context.page_script_hash,
            widget_states=values,
            is_history_navigation=context.is_history_navigation,
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )


def _context() -> Any:
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    return get_script_run_ctx(suppress_warning=True)


def outside_of_runs() -> bool:
    """Whether the caller is certainly outside a run, as in the thread that creates a download.

    Outside a run, each access to ``st.session_state`` writes a line to the log.
    """
    return is_usable(HISTORY) and _context() is None


# The message kinds of Streamlit 1.67 that pages send, and those that they do not send.
_SENT = {"rerun_script", "stop_script", "app_heartbeat", "deferred_file", "dataframe_chunk"}
_NOT_SENT = {
    *("clear_cache", "set_run_on_save", "load_git_info", "file_urls_request", "install_skills", "dismiss_skills_nudge"),
    *("debug_disconnect_websocket", "debug_shutdown_runtime"),
}


@lru_cache
def _is_sent(kind: str) -> bool:
    """Whether pages send messages of this kind. A kind that is new in Streamlit is ignored and logged once."""
    if kind not in _SENT | _NOT_SENT:
        logging.getLogger("bertcalc").warning("Messages of the kind %s are ignored: it is new in Streamlit.", kind)
    return kind in _SENT


class BrowserMessage:
    """A browser's message that Streamlit has not read yet."""

    def __init__(self, message: Any) -> None:
        self._message = message
        self._state = message.rerun_script
        self._controls = self._state.widget_states.widgets

    @property
    def is_of_page(self) -> bool:
        """Whether pages send messages of this kind: they do not upload files, clear caches or install anything."""
        kind = self._message.WhichOneof("type")
        if kind == "backend_operation_request":
            kind = self._message.backend_operation_request.WhichOneof("payload")
        return kind is not None and _is_sent(kind)

    @property
    def is_run(self) -> bool:
        """Whether the message requests a run of the script, with the values of controls."""
        return bool(self._message.WhichOneof("type") == "rerun_script")

    @property
    def has_foreign_names(self) -> bool:
        """Whether the message contains a control id that Streamlit cannot have assigned."""
        prefixes = _control_prefixes()
        return not all(control.id.startswith(prefixes) for control in self._controls)

    @property
    def size(self) -> int:
        """The number of controls, plus the number of messages in the browser's cache."""
        return len(self._controls) + len(self._state.cached_message_hashes)

    @property
    def value_count(self) -> int:
        """The number of values of the controls; a JSON text counts as one value."""
        return sum(map(_value_count, self._controls))

    @property
    def json_texts(self) -> Iterable[str]:
        """The JSON text of each control; "" for a control without JSON."""
        return (control.json_value or control.json_trigger_value for control in self._controls)


def read_message(payload: bytes) -> BrowserMessage | None:
    """Parse a message. Raises protobuf's DecodeError if it is unreadable.

    Returns None if this Streamlit version has a different message format.
    """
    if not is_usable(MESSAGES):
        return None
    from streamlit.proto.BackMsg_pb2 import BackMsg

    return BrowserMessage(BackMsg.FromString(payload))


def _value_count(control: Any) -> int:
    kind = control.WhichOneof("value") or ""
    return len(getattr(control, kind).data) if kind.endswith("_array_value") else 1


@lru_cache
def _control_prefixes() -> tuple[str, ...]:
    """Return the prefixes of the ids that Streamlit assigns; if unknown, only "", which matches every id."""
    return tuple(map(look_up, CONTROL_NAMES.names)) if is_usable(CONTROL_NAMES) else ("",)


# The address of a page


def went_back() -> bool:
    """Whether the browser's Back or Forward button caused this run."""
    context = _context() if is_usable(HISTORY) else None
    return context is not None and context.is_history_navigation


def restore_parameters() -> None:
    """Read all query parameters of the address again. Call this after Back, before any control is drawn.

    The address is also sent to the browser, because a run that Back ended may have overwritten it. An ``&`` at the end
    of the address tells the browser that this run has begun (see pages/ui/shell/panel/address.js).
    """
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    context = _context()
    with context.session_state.query_params() as parameters:
        parameters.populate_from_query_string(context.query_string)
        parameters.set_initial_query_params(context.query_string)
    for end in ("&", ""):
        message = ForwardMsg()
        message.page_info_changed.query_string = context.query_string + end
        context.enqueue(message)


def set_parameters(removed: Iterable[str], added: Mapping[str, str]) -> bool:
    """Change query parameters without telling the browser; return False if this Streamlit version prevents it."""
    if not is_usable(LINK):
        return False
    context = _context()
    if context is not None:
        with context.session_state.query_params() as parameters:
            for name in removed:
                parameters.discard_param_no_forward_msg(name)
            for name, text in added.items():
                parameters.set_with_no_forward_msg(name, text)
    return True


# Downloads


class DownloadError(Exception):
    """A file cannot be created; the text of the exception is a sentence for the reader."""


class UnknownFileError(Exception):
    """Streamlit cannot create a file. If the exception has no cause, Streamlit does not know the file."""


def answer_downloads(make_file: Callable[[str, Callable[[], str]], Awaitable[str]]) -> None:
    """Let ``make_file`` respond to requests for files that are created when a reader presses Download.

    ``make_file`` gets the session's id, and a function that creates the file and returns its address. This function can
    raise UnknownFileError. ``make_file`` returns the address, or raises DownloadError.
    """

    def make(_handle: Method) -> Method:
        from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse, DeferredFileResponsePayload
        from streamlit.runtime.media_file_storage import MediaFileStorageError

        async def handle(handler: Any, request: Any, session_id: str) -> BackendOperationResponse:
            def write() -> str:
                try:
                    address: str = handler._get_media_file_mgr().execute_deferred(request.deferred_file.file_id)
                except MediaFileStorageError as error:
                    raise UnknownFileError from error.__cause__
                return address

            try:
                payload = DeferredFileResponsePayload(url=await make_file(session_id, write))
            except DownloadError as error:
                return BackendOperationResponse(request_id=request.request_id, error_msg=f"{error}")
            return BackendOperationResponse(request_id=request.request_id, deferred_file=payload)

        return handle

    replace(DOWNLOADS, make)


# Streamlit's page


def index_page() -> str:
    """Return the HTML that Streamlit serves for every page; "" if this version's HTML is different."""
    import streamlit

    return package_file(streamlit, "static/index.html") if is_usable(INLINE_SCRIPTS) else ""


def with_head(page: bytes, language: str, tags: str) -> bytes:
    """Return Streamlit's HTML page with ``language`` as its language and ``tags`` in place of its title.

    If this Streamlit version serves different HTML, the page is returned unchanged.
    """
    if is_usable(PAGE_HEAD):
        page = page.replace(b"<title>Streamlit</title>", tags.encode())
        page = page.replace(b'<html lang="en">', f'<html lang="{language}">'.encode())
    return page


def address_script(address: str) -> str:
    """Return a line of JavaScript that sets the server's address for Streamlit; "" if Streamlit lacks the setting.

    ``address`` is a JavaScript expression.
    """
    if not is_usable(ADDRESS):
        return ""
    return f"window.__streamlit = {{ BACKEND_BASE_URL: {address}, ...window.__streamlit }};\n"


@lru_cache
def element_scripts(page: str) -> tuple[str, ...]:
    """Return the relative URLs of a page's element scripts and of all scripts that they import.

    Scripts that are already in Streamlit's page are left out. Returns an empty tuple if this Streamlit version has
    different scripts.
    """
    if not (is_usable(ELEMENTS) and is_usable(INLINE_SCRIPTS)):
        return ()
    import streamlit

    html, scripts = index_page(), dict[str, None]()
    names = (*_ON_MOST_PAGES, *_ON_PAGES.get(page, ()))
    waiting = [path for name in names for path in package_files(streamlit, f"{_JS}{name}.*.js")]
    while waiting:
        path = waiting.pop(0)
        address = f"./{_JS.removeprefix('static/')}{path.name}"
        if address in scripts or address in html:
            continue
        scripts[address] = None
        imported = re.findall(r"""(?:from|import)["'`]\./([\w.-]+)["'`]""", path.read_text(encoding="utf-8"))
        waiting += [other for name in imported if (other := path.with_name(name)).exists()]
    return tuple(scripts)
