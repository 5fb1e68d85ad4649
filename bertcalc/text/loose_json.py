"""Read an object that is almost JSON: a printed configuration, a Python dictionary or call, or JSON with comments.

The module rewrites the text as strict JSON, token by token, and parses it. It executes nothing. It does not rewrite
ambiguous text: the strict parser then raises its error.

>>> read_loosely("BertConfig {'hidden_size': 768, 'is_decoder': False,}  # the defaults", most=100)
{'hidden_size': 768, 'is_decoder': False}
>>> read_loosely('{"hidden_size": 768 "vocab_size": 30522}', most=100)
Traceback (most recent call last):
    ...
bertcalc.text.problem.InputError: This is not JSON: line 1, column 21: Expecting ',' delimiter.
"""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from bertcalc.text.problem import InputError
from bertcalc.text.strict_json import NOT_JSON, read_json

LONGEST = 200_000  # maximum number of characters to rewrite; real configurations are much shorter
NAMESPACE = r"(?:(?:argparse\.|types\.)?(?:Namespace|SimpleNamespace|namespace)|dict)\s{0,9}"
# Text before a printed object: the words of a log, an assignment, a class name, or the name of argparse's Namespace.
_HEAD = re.compile(
    r"(?:```[a-z]{0,10}\s{0,9})?(?:Model config\s{1,9})?(?:[A-Za-z_][A-Za-z0-9_.]{0,60}\s{0,9}=\s{0,9})?"
    rf"(?:([A-Z][A-Za-z0-9]{{0,60}}Config)\s{{0,9}}(?=[{{(])|{NAMESPACE}(?=\()|(?=\{{))"
)
_TAIL = re.compile(r"[\s;`]{0,99}\Z")
_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|“[^”“"\n]*”|‘[^’‘'\n]*’)"""
    r"""|(?P<comment>(?://|\#|[\u4e00-\u9fff])[^\n]*|\[?(?:\.{3}|…)\]?,?)|(?P<block>/\*)|(?P<word>[A-Za-z_$][A-Za-z0-9_$]*(?:\.[A-Za-z_]\w*){0,9})"""
    r"""|(?P<number>-?[0-9][0-9_A-Za-z.+-]*)|(?P<sign>[{}\[\]():,=，：])"""
)
_WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_WORDS |= {"nan": "NaN", "inf": "Infinity"}  # the strict parser refuses them with a specific message
_SIGNS = {"(": "[", ")": "]", "，": ",", "：": ":"}
_VALUES = ("string", "number", "word")


def read_loosely(text: str, most: int) -> Any:
    """Parse at most ``most`` characters of JSON, or of unambiguous text that is almost JSON. Raises InputError."""
    try:
        return read_json(text, most)
    except InputError as error:
        if error.problem.message != NOT_JSON or (strict := as_json(text)) is None:
            raise
        with suppress(json.JSONDecodeError, RecursionError):
            json.loads(strict)  # first, since an error of read_json would give the position in the rewritten text
            return read_json(strict, 2 * most)
        raise


def class_in_front(text: str) -> str:
    """The class name before a printed object, such as BertConfig; empty if there is none."""
    head = _HEAD.match(_stripped(text))
    return (head and head[1]) or ""


def begins_object(text: str) -> bool:
    """Whether a text begins with an object or a configuration's call; log words or an assignment may come first."""
    return _HEAD.match(_stripped(text)) is not None


def _stripped(text: str) -> str:
    return text[:1000].lstrip("\ufeff \t\r\n") + text[1000:]


def as_json(text: str) -> str | None:
    """Rewrite an object that is almost JSON as strict JSON; None if its meaning is uncertain."""
    text = _stripped(text)
    if len(text) > LONGEST or (head := _HEAD.match(text)) is None:
        return None
    tokens = [*_tokens(text, head.end())]
    is_call = tokens[0][1] == "("
    if tokens[-1] == _END or is_call != (tokens[-1][1] == ")"):
        return None
    inside = _without_calls(tokens[1:-1])
    tokens = [tokens[0], *inside, tokens[-1]]
    return "".join(_written(_of_call(tokens) if is_call else tokens))


def _of_call(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Convert the tokens of a call, such as BertConfig(hidden_size=128), to the tokens of an object."""
    depth, written = 0, [("sign", "{")]
    for kind, token in tokens[1:-1]:
        depth += _NESTING.get(token, 0)
        written.append((kind, ":" if token == "=" and depth == 0 else token))
    return [*written, ("sign", "}")]


def _without_calls(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Replace each value that is a call, such as len(tokenizer), by a string that a message can show."""
    written: list[tuple[str, str]] = []
    call, depth = "", 0
    for kind, token in tokens:
        if call or (token == "(" and written and written[-1][0] == "word"):
            call = f"{call or written.pop()[1]}{token}"
            depth += _NESTING.get(token, 0)
            if depth == 0:
                written.append(("string", json.dumps(call)))
                call = ""
        else:
            written.append((kind, token))
    return written


_END = ("end", "")
_NESTING = {**dict.fromkeys("{[(", 1), **dict.fromkeys("}])", -1)}


def _tokens(text: str, start: int) -> Iterator[tuple[str, str]]:
    """The tokens of an object; the last token is ("end", "") if part of the text is unreadable."""
    depth = 0
    while match := _TOKEN.match(text, start):
        kind, token, start = str(match.lastgroup), match[0], match.end()
        if kind == "block":
            if (start := text.find("*/", start) + 2) < 2:
                break
        elif kind not in ("space", "comment"):
            yield kind, token
            depth += _NESTING.get(token, 0)
            if depth == 0:
                if _TAIL.match(_without_comments(text[start:])):
                    return
                break
    yield _END


def _without_comments(rest: str) -> str:
    """The rest of a text after an object, without a comment or the end of a code block."""
    rest = rest.strip().removeprefix("```").strip()
    return "" if "\n" not in rest and rest.startswith(("#", "//")) else rest


def _written(tokens: list[tuple[str, str]]) -> Iterator[str]:
    """Write the tokens as strict JSON. A missing comma stays missing, so that the strict parser reports it."""
    names = [_SIGNS.get(token, token) for _kind, token in tokens]
    for (kind, _token), token, following, before in zip(
        tokens, names, [*names[1:], ""], ["{", *names[:-1]], strict=True
    ):
        if token == "," and following in ("}", "]") and before not in ("{", "[", ","):
            continue
        yield _value(kind, token, following) + (" " if kind in _VALUES else "")


def _value(kind: str, token: str, following: str) -> str:
    if kind == "string":
        return _string(token)
    if following == ":" and (kind == "word" or re.fullmatch("0|-?[1-9][0-9]{0,8}", token)):
        return json.dumps(token)
    if kind == "word":
        return json.dumps(token) if "." in token else _WORDS.get(token, token)
    if kind == "number" and re.fullmatch(r"-?[1-9][0-9]{0,2}(_[0-9]{3}){1,9}", token):
        return token.replace("_", "")
    return token


def _string(token: str) -> str:
    """A string in JSON's quotes; unchanged if it is already valid JSON, or not a valid Python string."""
    if token[0] in "“‘":
        return json.dumps(token[1:-1])
    with suppress(json.JSONDecodeError):
        json.loads(token)
        return token
    try:
        return json.dumps(ast.literal_eval(token))
    except (SyntaxError, ValueError):
        return token
