"""Read untrusted JSON strictly: UTF-8, no duplicate keys, no NaN, limited length.

>>> read_json('{"a": [1, 2.5, null]}', most=100)
{'a': [1, 2.5, None]}
>>> read_json('{"a": 1, "a": 2}', most=100)
Traceback (most recent call last):
    ...
bertcalc.text.problem.InputError: a appears twice: it must appear only once.
"""

import json
from typing import Any, NoReturn

from bertcalc.text import N_, shorten
from bertcalc.text.problem import InputError, wrong

NOT_JSON = N_("This is not JSON: line {line}, column {column}: {why}.")


def read_json(text: str | bytes, most: int) -> Any:
    """Parse JSON of at most ``most`` characters, or UTF-8 JSON of at most ``most`` bytes.

    Raises InputError for any other input.
    """
    if len(text) > most:
        message = N_("This text has {length} characters: at most {most} are allowed.")
        raise wrong(message, length=len(text), most=most)
    if isinstance(text, bytes):
        text = decode(text)
    try:
        # A byte order mark is not part of the JSON.
        return json.loads(text.lstrip("\ufeff"), object_pairs_hook=_each_once, parse_constant=_not_a_number)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise wrong(NOT_JSON, line=error.lineno, column=error.colno, why=_why(error)) from None
    except RecursionError:
        raise wrong(N_("This JSON is nested too deeply.")) from None
    except ValueError:  # Python refuses integers of more than 4,300 digits
        raise wrong(N_("A number in this text has too many digits.")) from None


def _why(error: json.JSONDecodeError) -> str:
    """The explanation of a common mistake in handwritten JSON; for other mistakes, the parser's message."""
    rest, before = error.doc[error.pos :].lstrip(), error.doc[: error.pos].rstrip()
    for starts, why in HABITS.items():
        if rest.startswith(starts) and (starts != ("}", "]") or before.endswith(",")):
            return why
    if before[:1] in ("{", "[") and (not rest or (error.msg.startswith("Unterminated") and "\n" not in rest)):
        return CUT_OFF
    return error.msg


CUT_OFF = N_("a closing bracket is missing at the end of the text")
HABITS = {
    ("//", "/*", "#"): N_("JSON has no comments"),
    ("'", "“", "”", "‘"): N_("names and strings must be in straight double quotes"),
    ("True", "False", "None"): N_("write true, false or null"),
    ("}", "]"): N_("no comma is allowed before a closing bracket"),
}


def decode(data: bytes) -> str:
    """Decode UTF-8. Raises an InputError that names the first invalid byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = N_("This is not UTF-8: byte {at} is {byte}.")
        raise wrong(message, at=error.start + 1, byte=f"0x{data[error.start]:02x}") from None


# The messages of CPython 3.11 to 3.14 (json/decoder.py and scanner.py) that ``read_json`` passes on.
PARSER_SAYS = (
    N_("Expecting value"),
    N_("Expecting property name enclosed in double quotes"),
    N_("Expecting ':' delimiter"),
    N_("Expecting ',' delimiter"),
    N_("Illegal trailing comma before end of object"),
    N_("Illegal trailing comma before end of array"),
    N_("Unterminated string starting at"),
    N_("Invalid control character at"),
    N_("Invalid \\escape"),
    N_("Invalid \\uXXXX escape"),
    N_("Extra data"),
)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise wrong(N_("{key} appears twice: it must appear only once."), key, value, key=shorten(key))
        members[key] = value
    return members


def _not_a_number(text: str) -> NoReturn:
    raise wrong(N_("{value} is not valid in JSON: write null or a number."), "", text, value=text)
