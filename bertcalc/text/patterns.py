"""Check regular expressions from users: whether they are valid, and quick enough for a server."""

import re
from collections.abc import Iterator, Mapping
from math import inf

from bertcalc.text import N_
from bertcalc.text.problem import wrong

_INVALID = N_("{argument} {pattern} is not a regular expression: {reason}.")
_SLOW = N_(
    "{argument} {pattern} could take too long to match: use at most {most} repetitions, and do not "
    "repeat a group that contains a repetition or alternatives."
)
MOST = 4  # maximum number of quantifiers; each of them may multiply the time by the length of the text
_GROUP, _CLASS = r"\((?:\?(?:[:=!>]|<[=!]|P?<\w+>))?", r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_PART = re.compile(rf"\\.|{_CLASS}|{_GROUP}|(?:[*+]|\?|\{{[0-9,]+\}})[?+]?|.", re.DOTALL)
_VERBOSE = re.compile(r"\(\?[A-Za-z]{0,9}x")  # a flag: spaces and comments in the pattern mean nothing
_PLAIN = re.compile(r"[\w.-]*")
_LONGEST, _MOST_PATTERNS = 1_000, 2_000  # maximum number of characters, and of patterns that are not plain names
_TOO_LONG = N_("{argument} has a regular expression of {length} characters: at most {most} are allowed.")
_TOO_MANY = N_("{argument} has {count} regular expressions: at most {most} are allowed.")


def check_patterns(name: str, value: object) -> None:
    """Raise InputError if a text in the argument ``name`` is not a valid regular expression.

    Texts of more than 1,000 characters, and more than 2,000 texts that are not plain names, also raise it.

    >>> check_patterns("target_modules", ["query", "*"])
    Traceback (most recent call last):
    bertcalc.text.problem.InputError: target_modules '*' is not a regular expression: nothing to repeat at position 0.
    """
    patterns = [pattern for pattern in _texts(value) if not _PLAIN.fullmatch(pattern)]
    if len(patterns) > _MOST_PATTERNS:
        raise wrong(_TOO_MANY, name, None, argument=name, count=len(patterns), most=_MOST_PATTERNS)
    for pattern in patterns:
        if len(pattern) > _LONGEST:
            raise wrong(_TOO_LONG, name, None, argument=name, length=len(pattern), most=_LONGEST)
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise wrong(_INVALID, name, pattern, argument=name, pattern=repr(pattern), reason=str(error)) from None


def check_quick_patterns(name: str, value: object) -> None:
    """Raise InputError for a user's regular expression that could keep the server busy.

    A repeated group that can match the same text in several ways takes exponential time.

    >>> check_quick_patterns("target_modules", r".*layer[.][01][.].*(query|value)")
    >>> check_quick_patterns("target_modules", "([a-z]*)*")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    bertcalc.text.problem.InputError: target_modules '([a-z]*)*' could take too long to match: use at most 4 ...
    """
    for pattern in _texts(value):
        if not is_quick(pattern, MOST):
            raise wrong(_SLOW, name, pattern, argument=name, pattern=repr(pattern), most=MOST)


def _texts(value: object) -> Iterator[str]:
    """The texts in an argument: the argument itself, its members, or its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list, set, frozenset, Mapping)):
        yield from (member for member in value if isinstance(member, str))


def is_quick(pattern: str, most: int) -> bool:
    """Whether Python's ``re`` matches a pattern quickly: it has few quantifiers, and none of them is nested.

    >>> is_quick(r".*layer.*query", 2), is_quick("(a+)+", 2)
    (True, False)
    """
    return quantifiers_in(pattern) <= most


def quantifiers_in(pattern: str) -> float:
    """Return the number of quantifiers of a pattern; infinity if one repeats a group with a quantifier or with |."""
    if _VERBOSE.search(pattern):
        return inf
    quantifiers = 0
    varied, closed = [False], False  # whether each open group, and the group closed last, has | or a quantifier
    for part in _PART.findall(pattern):
        is_quantifier = part[0] in "*+?{" and part != "{"
        if is_quantifier:
            quantifiers += 1
            if closed and part[0] != "?":
                return inf
        if is_quantifier or part == "|":
            varied[-1] = True
        closed = False
        if part[0] == "(":
            varied.append(False)
        elif part == ")" and len(varied) > 1:
            closed = varied.pop()
            varied[-1] |= closed
    return quantifiers
