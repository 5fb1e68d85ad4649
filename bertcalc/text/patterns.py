"""Check regular expressions from users: whether they are valid, and quick enough for a server."""

import re
from collections.abc import Iterator, Mapping

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


def check_patterns(name: str, value: object) -> None:
    """Raise InputError if a text in the argument ``name`` is not a valid regular expression.

    >>> check_patterns("target_modules", ["query", "*"])
    Traceback (most recent call last):
    bertcalc.text.problem.InputError: target_modules '*' is not a regular expression: nothing to repeat at position 0.
    """
    for pattern in _texts(value):
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
        if not _is_quick(pattern):
            raise wrong(_SLOW, name, pattern, argument=name, pattern=repr(pattern), most=MOST)


def _texts(value: object) -> Iterator[str]:
    """The texts in an argument: the argument itself, its members, or its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list, set, frozenset, Mapping)):
        yield from (member for member in value if isinstance(member, str))


def _is_quick(pattern: str) -> bool:
    quantifiers = 0
    varied, closed = [False], False  # whether each open group, and the group closed last, has | or a quantifier
    for part in _PART.findall(pattern):
        is_quantifier = part[0] in "*+?{" and part != "{"
        if is_quantifier:
            quantifiers += 1
            if closed and part[0] != "?":
                return False
        if is_quantifier or part == "|":
            varied[-1] = True
        closed = False
        if part[0] == "(":
            varied.append(False)
        elif part == ")" and len(varied) > 1:
            closed = varied.pop()
            varied[-1] |= closed
    return quantifiers <= MOST
