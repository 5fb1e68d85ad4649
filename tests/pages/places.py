"""Every place where untrusted text enters the app, and everything that the page then shows."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig, build
from bertcalc.export.table import Cell, Code
from tests.checkpoints.test_safetensors import file_of, tensor
from tests.markdown import read
from tests.pages.apptest import open_app, tables
from tests.pages.test_bring_page import ask, choose, paste

SMALL = BertConfig(vocab_size=5, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4)


def header(*others: tuple[str, dict[str, Any]]) -> bytes:
    """Return the header of a file with a small model's tensors and other tensors, none of which has data.

    Since all are empty, their order does not matter.
    """
    named = [(name, tensor(0, 0, shape=[0, *shape])) for name, shape in build(SMALL).named_parameters()]
    return file_of(dict([*named, *others]))


def checkpoint(*others: str) -> bytes:
    """Return the beginning of a file with a small model's tensors, and others."""
    at, said = 0, {}
    for name, shape in chain(build(SMALL).named_parameters(), ((name, (1,)) for name in others)):
        size = 4
        for side in shape:
            size *= side
        said[name] = tensor(at, at := at + size, shape=list(shape))
    return file_of(said)


def config(of: Callable[[str], object], app: AppTest, text: str) -> AppTest:
    """Paste a config.json."""
    said = of(text)
    return paste(said if isinstance(said, str) else json.dumps(said), app)


def files(of: Callable[[str], list[tuple[str, bytes]]], app: AppTest, text: str) -> AppTest:
    """Choose files of weights: the browser sends their headers."""
    return choose(app, "weights_files", *of(text))


def typed(key: str, app: AppTest, text: str) -> AppTest:
    """Type a text into the field with this key."""
    for area in (*app.text_input, *app.text_area):
        if area.key == key:
            area.set_value(text).run()
    return app


def hub(app: AppTest, text: str) -> AppTest:
    """Ask the Hub for a name."""
    app.text_input(key="repo_id").set_value(text)  # together with the button, as a browser sends a form
    return ask(app)


def answer(app: AppTest, text: str) -> AppTest:
    """Answer an exercise."""
    app.text_input[0].set_value(text)
    next(one for one in app.button if one.label == "Check answer").click()
    return app.run()


def any_model(of: Callable[[str], object], app: AppTest, text: str) -> AppTest:
    """Paste a config.json of any type and ask for its formula."""
    app = typed("any config", app, json.dumps(of(text)))
    next(one for one in app.button if one.key == "any take").click()
    return app.run()


def link(names: tuple[str, ...], app: AppTest, text: str) -> AppTest:
    """Open a link with the text as an invalid value of these parameters."""
    return open_app("", **dict.fromkeys(names, text))


_PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "config": ("bring.py", {"bring": "config"}),
    "file": ("bring.py", {"bring": "file"}),
    "hub": ("bring.py", {"bring": "hub"}),
    "number": ("explain.py", {}),
    "terms": ("explain.py", {"explain": "terms"}),
    "short": ("explain.py", {"explain": "terms", "present": "1"}),
    "exercise": ("exercises.py", {"exercise": "1"}),
    "shape": ("exercises.py", {"exercise": "2"}),
    "design": ("design.py", {}),
    "compare": ("compare.py", {}),
    "lecture": ("lecture.py", {}),
    "any": ("any_model.py", {"any_bring": "true"}),
    "link": ("", {}),
}
_NAMES = (
    "hidden_size",
    "preset",
    "model_type",
    "sizes",
    "fields",
    "bring",
    "architecture",
    "tensors",
    "target_parameters",
    "layer_norm_eps",
    "lecture",
)
# The functions that enter a text, keyed by the page and the kind of text.
PLACES: dict[str, Callable[[AppTest, str], AppTest]] = {
    "config model_type": partial(config, lambda text: {"model_type": text}),
    "config fields": partial(config, lambda text: {"hidden_act": text, "hidden_size": text, "pad_token_id": [text]}),
    "config key": partial(config, lambda text: {text: 1, f"{text} ": 2}),
    "config key twice": partial(config, lambda text: f"{{{json.dumps(text)}: 1, {json.dumps(text)}: 1}}"),
    "config class": partial(config, lambda text: {"architectures": [text], "model_type": "bert"}),
    "config other class": partial(config, lambda text: {"architectures": [text]}),
    "config label": partial(config, lambda text: {"id2label": {text: "a"}}),
    "file name": partial(files, lambda text: [(text, b"")]),
    "file broken": partial(files, lambda text: [(f"{text}.safetensors", b"PK")]),
    "file tensor": partial(files, lambda text: [(f"{text}.safetensors", checkpoint(text, f"{text}]$\\evil$"))]),
    "file tensors": partial(
        files, lambda text: [(f"{text}{n}.safetensors", checkpoint(text) if n else file_of({})) for n in range(2)]
    ),
    "file no BERT": partial(files, lambda text: [("a.safetensors", file_of({text: tensor(0, 0, shape=[0])}))]),
    "file dtype": partial(files, lambda text: [("a.safetensors", file_of({"a": tensor(0, 4) | {"dtype": text}}))]),
    "file field": partial(files, lambda text: [("a.safetensors", file_of({text: {}}))]),
    "file size": partial(files, lambda text: [("a.safetensors", file_of({text: tensor(0, 3, shape=[9])}))]),
    "file twice": partial(
        files, lambda text: [("a.safetensors", checkpoint(text)), ("b.safetensors", file_of({text: tensor(0, 4)}))]
    ),
    "hub name": hub,
    "number": partial(typed, "number"),
    "number calculation": lambda app, text: typed("number", app, f"1+{text}"[:60]),
    "terms name": lambda app, text: typed("terms", app, "".join(f"{line} = 7\n" for line in text.split("\n"))),
    "terms value": lambda app, text: typed("terms", app, f"a = {text}\npooler = 2*{text}"),
    "short": partial(typed, "terms"),
    "exercise": answer,
    "shape": answer,
    "design": partial(typed, "target_parameters"),
    "compare models": partial(typed, "models"),
    "compare field": lambda app, text: typed("models", app, f"present~{text}-1 present~hidden_act-{text}"),
    "compare config": lambda app, text: typed("config_json", app, json.dumps({"hidden_act": text, text: 1})),
    "lecture screen": partial(typed, "screen"),
    "any model_type": partial(any_model, lambda text: {"model_type": text}),
    "any class": partial(any_model, lambda text: {"model_type": "gpt2", "architectures": [text]}),
    "any key": partial(any_model, lambda text: {"model_type": "gpt2", text: 1}),
    "any value": partial(any_model, lambda text: {"model_type": "gpt2", "n_embd": 24, "activation_function": text}),
    "link": partial(link, _NAMES),
}


def opened(place: str) -> AppTest:
    """Open the page of a place."""
    page, said = _PAGES[place.partition(" ")[0]]
    return open_app(page, **said)


# Elements that are not Markdown: text fields, plain texts, the data of components, and keys.
_TEXT = {"TextInput.value", "TextInput.default", "TextArea.value", "TextArea.default"}
_TEXT |= {"BidiComponent.json", "BidiComponent.bytes"}
_SENT = (FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)
_KEYS = (".id", ".form_id")


def strings(message: Message, path: str) -> Iterator[tuple[str, str]]:
    """Yield the (path, text) pairs of all texts in a message to a browser."""
    for field, value in message.ListFields():
        values = value if field.is_repeated else [value]
        for one in values if field.type in _SENT else []:
            if isinstance(one, Message):
                yield from strings(one, f"{path}.{field.name}")
            elif isinstance(one, str):
                yield f"{path}.{field.name}", one
            elif isinstance(one, bytes) and path == "BidiComponent":  # JSON data
                yield f"{path}.{field.name}", one.decode()


def is_table(text: str) -> bool:
    """Whether a text is an HTML table. Its cells are read one by one."""
    return text.startswith('<div class="text-table"')


def said(app: AppTest) -> Iterator[tuple[str, str]]:
    """Yield the (path, text) pairs of everything that a page shows."""
    for node in app._tree:
        message = getattr(node, "proto", None)
        if isinstance(message, Message):
            yield from ((where, text) for where, text in strings(message, type(message).__name__) if not is_table(text))
    for table in tables(app):
        for text in (*table.columns, *table.to_numpy().ravel()):
            yield "a cell", f"{text}"


def check(app: AppTest) -> int:
    """Count how often the page says ``evil``.

    It may occur only as plain text, both on the page and in its exports.
    """
    assert not app.exception, app.exception[0].stack_trace
    count = 0
    for where, text in said(app):
        if where in _TEXT or where.endswith(_KEYS) or "evil" not in text:
            continue
        count += 1
        assert all(sign.isprintable() or sign in "\n\N{NO-BREAK SPACE}" for sign in text), (where, text)
        if where != "Text.body":
            found = read(text)
            assert all(map(harmless, found.words)), (where, text)
            assert found.made <= {"strong_open", "strong_close"}, (where, text)
    for one in app.session_state["shown"]:
        table = one.table()
        cells = [part for cell in chain(table.columns, *table.rows) for part in parts(cell)]
        assert all(harmless(f"{part}") for part in cells if not isinstance(part, Code)), cells
    return count


def harmless(text: str) -> bool:
    """Whether ``evil`` occurs in a text only as a separate word, or not at all."""
    return "evil" not in re.sub(r"""(?<![^\s"“(])evil(?=[.,:]?([\s"”)]|$))""", "", text)


def parts(cell: Cell) -> tuple[object, ...]:
    """The parts of a cell as a tuple."""
    return cell if type(cell) is tuple else (cell,)
