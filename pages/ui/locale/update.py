"""Update the message catalogues: ``python -m pages.ui.locale.update``, which ``make messages`` runs.

The command adds new messages from the source code, and removes messages that are no longer there. A long message has an
id, which is its place in the source: for example, the second long message in the function ``show`` of pages/memory.py.
So the message keeps its translation when its English text is edited.
"""

import ast
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.extract import extract_python as extract_with_babel
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po, write_po

LONG = 120  # messages with at least this many characters have an id
KEYWORDS = {"_": None, "N_": None, "in_context": ((1, "c"), 2)}
_ID = "id: "
_ROOT = Path(__file__).parents[3]
_WIDTH = 110


def extract_python(
    file: BinaryIO, keywords: Collection[str], comment_tags: Collection[str], options: Mapping[str, str]
) -> Iterator[tuple[int, str, Any, list[str]]]:
    """Extract the messages of a Python file, with the ids of long messages as comments (a Babel extraction method)."""
    source = file.read()
    scopes = list(_scopes(ast.parse(source)))
    numbers: Counter[str] = Counter()
    for line, function, texts, comments in extract_with_babel(BytesIO(source), keywords, comment_tags, options):
        message = texts[-1] if isinstance(texts, tuple) else texts
        if message and len(message) >= LONG:
            scope = max((start, name) for start, end, name in scopes if start <= line <= end)[1]
            numbers[scope] += 1
            comments = [*comments, f"{_ID}{_path(file)} {scope} {numbers[scope]}"]
        yield line, function, texts, comments


def extract_toml(
    file: BinaryIO, _keywords: Collection[str], _comment_tags: Collection[str], options: Mapping[str, str]
) -> Iterator[tuple[int, None, str, list[str]]]:
    """Extract the texts under certain keys of a TOML file, with the ids of long texts (a Babel extraction method).

    babel.cfg lists the keys as the option ``keys``.
    """

    def texts(value: Any, *path: str) -> Iterator[tuple[str, str]]:
        match value:
            case dict():
                for name, part in value.items():
                    yield from texts(part, *path, name)
            case list():
                for number, part in enumerate(value, 1):  # the list's key stays last, so that it applies to its texts
                    yield from texts(part, *path[:-1], str(number), path[-1])
            case str() if path[-1] in options["keys"].split():
                yield f"{_ID}{_path(file)} {' '.join(path)}", value

    for name, text in texts(tomllib.load(file)):
        yield 1, None, text, [name] if len(text) >= LONG else []


def _path(file: BinaryIO) -> str:
    path = Path(getattr(file, "name", "source"))
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else path.name


def _scopes(tree: ast.AST, outer: str = "") -> Iterator[tuple[int, int, str]]:
    """Yield the first line, the last line and the name of each definition; the module comes first."""
    if not outer:
        yield 0, 10**9, "module"
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            name = f"{outer}.{node.name}" if outer else node.name
            yield node.lineno, node.end_lineno or node.lineno, name
            yield from _scopes(node, name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and not outer:
            yield node.lineno, node.end_lineno or node.lineno, node.targets[0].id


def extracted() -> Catalog:
    """The messages of the source code, without translations."""
    with (_ROOT / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    catalog = Catalog()
    for folder in ("bertcalc", "pages"):
        for _file, _line, texts, comments, context in extract_from_dir(
            _ROOT / folder, methods, options, keywords=KEYWORDS
        ):
            catalog.add(texts, auto_comments=comments, context=context)
    for _line, texts, comments, context in extract_from_file(extract_python, _ROOT / "app.py", keywords=KEYWORDS):
        catalog.add(texts, auto_comments=comments, context=context)
    return catalog


def update(catalog: Catalog, source: Catalog) -> None:
    """Add the messages of ``source`` to a catalog and remove all others.

    A long message with edited English keeps its translation.
    """
    before = [message for message in catalog if message.id]
    catalog.update(source, no_fuzzy_matching=True)
    catalog.obsolete.clear()
    edited = {_id(message): message for message in before if _id(message) and message.id not in catalog}
    for message in catalog:
        if message.id and not message.string and _id(message) in edited:
            message.string = edited[_id(message)].string


def _id(message: Message) -> str:
    return next((comment for comment in message.auto_comments if comment.startswith(_ID)), "")


def main() -> None:
    """Update the catalogues of all languages in this folder."""
    source = extracted()
    for path in sorted(Path(__file__).parent.glob("*.po")):
        with path.open("rb") as file:
            catalog = read_po(file, locale=path.stem)
        update(catalog, source)
        lines = BytesIO()
        write_po(lines, catalog, width=_WIDTH, omit_header=True, sort_output=True, no_location=True)
        path.write_bytes(lines.getvalue().rstrip(b"\n") + b"\n")


if __name__ == "__main__":
    main()
