"""Match regular expressions from users in bounded time.

Python's ``re`` may take exponential time. A simple pattern is matched with ``re``. Any other pattern is searched as a
graph in which no (node, position) pair is visited twice, so that the time is at most the product of both lengths.

>>> matches(r"(\\w+\\.?)+query", "encoder.layer.0.attention.self.query.weight")
False
>>> index_in(r".*?\\.(?P<idx>[0-9]+)\\.", "encoder.layer.11.output")
'11'
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import NamedTuple

from bertcalc.text import N_
from bertcalc.text.patterns import quantifiers_in
from bertcalc.text.problem import InputError, wrong

_TOO_SLOW = N_(
    "The regular expression {pattern} would take too long to match: shorten it, or use a list of module names instead."
)
_INVALID = N_("{pattern} is not a regular expression: {reason}.")
_COSTS = (1, 1, 2, 40)  # steps of a match with re, for each number of quantifiers
_MOST_NODES = 2_000  # maximum size of a graph
_DEEPEST = 50  # maximum number of groups inside each other
_MOST_STEPS = 1_500_000  # maximum number of steps inside ``limited_steps``, and of a single match
_INDEX = "idx"  # peft's name of the group with the number of a layer

_steps: ContextVar[list[int] | None] = ContextVar("steps", default=None)


@contextmanager
def limited_steps() -> Iterator[None]:
    """Limit the time of all matches inside: they raise InputError after 1.5 million steps together."""
    token = _steps.set([_MOST_STEPS])
    try:
        yield
    finally:
        _steps.reset(token)


def matches(pattern: str, text: str, *, whole: bool = True) -> bool:
    """Return whether a valid pattern matches the whole text, or only its start.

    Raises InputError if that would take too long, or if a pattern that is not simple has unsupported syntax.
    """
    return _match(pattern, text, whole) is not None


def index_in(pattern: str, text: str) -> str | None:
    """Return the text of the group ``idx`` if a pattern matches the start of a text; otherwise None.

    Raises InputError if that would take too long, or if a pattern that is not simple has unsupported syntax.
    """
    match = _match(pattern, text, whole=False)
    return text[match.start : match.end] if match and match.start >= 0 else None


class _PatternMatch(NamedTuple):
    """A match, with the limits of the group ``idx``; they are -1 if it is not part of the match."""

    start: int = -1
    end: int = -1


def _match(pattern: str, text: str, whole: bool) -> _PatternMatch | None:
    left = _steps.get() or [_MOST_STEPS]
    quantifiers = _quantifiers(pattern)
    if quantifiers < len(_COSTS):
        left[0] -= _COSTS[int(quantifiers)]
        if left[0] < 0:
            raise _slow(pattern)
        compiled = _compiled(pattern)
        match = compiled.fullmatch(text) if whole else compiled.match(text)
        return match and _PatternMatch(*(match.span(_INDEX) if _INDEX in compiled.groupindex else ()))
    graph, nodes = _graph(pattern)
    left[0] -= nodes  # the graph may have been built for this match
    return _PatternSearch(pattern, text, left).run(graph, 0, whole)


_quantifiers = lru_cache(4_096)(quantifiers_in)


@lru_cache(4_096)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:  # for example, flags that are not at the start of peft's pattern
        raise wrong(_INVALID, "target_modules", pattern, pattern=repr(pattern), reason=str(error)) from None


def _slow(pattern: str) -> InputError:
    short = pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}..."
    return wrong(_TOO_SLOW, "target_modules", pattern, pattern=repr(short))


_SHOWN = 60  # maximum number of characters of a pattern in a message


class _PatternNode:
    """A node of a graph: what it tests, the number of characters it takes, and the next nodes, the preferred first."""

    def __init__(self, *following: "_PatternNode", test: re.Pattern[str] | None = None, takes: int = 0) -> None:
        self.following, self.test, self.takes = following, test, takes
        self.ahead: _PatternNode | None = None  # the start of a lookahead's graph
        self.negated = False
        self.limit = ""  # "start" or "end" of the group idx


class _PatternSearch(NamedTuple):
    pattern: str
    text: str
    left: list[int]

    def run(self, start: _PatternNode, at: int, whole: bool) -> _PatternMatch | None:
        """Return the first match from ``start``, in the order of Python's ``re``; None if there is none."""
        seen: set[tuple[int, int]] = set()
        stack = [(start, at, _PatternMatch())]
        while stack:
            node, place, match = stack.pop()
            if (id(node), place) in seen:
                continue
            seen.add((id(node), place))
            self.left[0] -= 1
            if self.left[0] < 0:
                raise _slow(self.pattern)
            if not node.following:
                if not whole or place == len(self.text):
                    return match
                continue
            if node.test and not node.test.match(self.text, place):
                continue
            if node.ahead and (self.run(node.ahead, place, whole=False) is None) != node.negated:
                continue
            if node.limit:
                match = match._replace(**{node.limit: place})
            stack += [(following, place + node.takes, match) for following in reversed(node.following)]
        return None


_Part = Callable[
    [_PatternNode], _PatternNode
]  # returns the start of a part of the pattern, given the node that follows the part
_TOKEN = re.compile(
    r"(?P<ahead>\(\?[=!])|(?P<group>\((?:\?:|\?P<(?P<name>\w+)>)?(?!\?))|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<edge>\\[AZbB]|[\^$])|(?P<kind>\\[wWdDsSntrfva]|\.)|(?P<escape>\\[^\w])"
    r"|(?P<word>\w{2,}(?![*+?{])|[^\\()\[|*+?])",
    re.DOTALL,
)
_QUANTIFIER = re.compile(
    r"(?P<sign>[*+?]|\{(?P<low>[0-9]*)(?P<comma>,?)(?P<high>[0-9]*)\}(?<!\{\}))(?P<lazy>\??)(?!\+)"
)


@lru_cache(64)
def _graph(pattern: str) -> tuple[_PatternNode, int]:
    """Return the start of a pattern's graph, and the number of its nodes.

    Raises InputError if the graph is too large, or if the pattern uses other syntax.
    """
    try:
        builder = _GraphBuilder(pattern)
        return builder.whole()(_PatternNode()), builder.nodes
    except (_UnsupportedError, OverflowError):
        raise _slow(pattern) from None


class _UnsupportedError(Exception):
    """The pattern is too large, or has backreferences, lookbehinds, flags or possessive quantifiers."""


class _GraphBuilder:
    """Parses a pattern that Python's ``re`` accepts, and builds its graph."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = self._depth = self.nodes = 0

    def whole(self) -> _Part:
        part = self._alternatives()
        if self._at < len(self._pattern):
            raise _UnsupportedError
        return part

    def _node(self, *following: _PatternNode, test: re.Pattern[str] | None = None, takes: int = 0) -> _PatternNode:
        self.nodes += 1
        if self.nodes > _MOST_NODES:
            raise _UnsupportedError
        return _PatternNode(*following, test=test, takes=takes)

    def _alternatives(self) -> _Part:
        branches = [self._sequence()]
        while self._pattern[self._at : self._at + 1] == "|":
            self._at += 1
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        return lambda after: self._node(*(branch(after) for branch in branches))

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            parts.append(self._repeated(self._single()))

        def sequence(after: _PatternNode) -> _PatternNode:
            for part in reversed(parts):
                after = part(after)
            return after

        return sequence

    def _single(self) -> _Part:
        token = _TOKEN.match(self._pattern, self._at)
        if token is None:
            raise _UnsupportedError
        self._at = token.end()
        if token["ahead"] or token["group"]:
            return self._in_parentheses(token)
        takes = 0 if token["edge"] else len(token[0]) if token["word"] else 1
        test = _compiled(re.escape(token[0]) if token["word"] else token[0])
        return lambda after: self._node(after, test=test, takes=takes)

    def _in_parentheses(self, token: re.Match[str]) -> _Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _UnsupportedError
        inside = self._alternatives()
        if self._pattern[self._at : self._at + 1] != ")":
            raise _UnsupportedError
        self._at += 1
        self._depth -= 1
        if token["ahead"]:
            return lambda after: self._lookahead(inside, after, negated=token["ahead"].endswith("!"))
        return self._index(inside) if token["name"] == _INDEX else inside

    def _lookahead(self, inside: _Part, after: _PatternNode, *, negated: bool) -> _PatternNode:
        node = self._node(after)
        node.ahead, node.negated = inside(self._node()), negated
        return node

    def _index(self, inside: _Part) -> _Part:
        def limited(after: _PatternNode) -> _PatternNode:
            end = self._node(after)
            end.limit = "end"
            start = self._node(inside(end))
            start.limit = "start"
            return start

        return limited

    def _repeated(self, part: _Part) -> _Part:
        quantifier = _QUANTIFIER.match(self._pattern, self._at)
        if quantifier is None:
            return part
        self._at = quantifier.end()
        low, high = _limits(quantifier)
        if low > _MOST_NODES or (high or 0) > _MOST_NODES:
            raise _UnsupportedError
        lazy = bool(quantifier["lazy"])

        def repeated(after: _PatternNode) -> _PatternNode:
            start = after
            if high is None:
                start = self._node(after)
                start.following = self._ordered(part(start), after, lazy)
            for _optional in range((high or low) - low):
                start = self._node(*self._ordered(part(start), after, lazy))
            for _required in range(low):
                start = self._node(part(start))
            return start

        return repeated

    @staticmethod
    def _ordered(again: _PatternNode, after: _PatternNode, lazy: bool) -> tuple[_PatternNode, ...]:
        return (after, again) if lazy else (again, after)


def _limits(quantifier: re.Match[str]) -> tuple[int, int | None]:
    """Return the lowest and the highest number of repetitions; the highest is None if it is not limited."""
    sign = quantifier["sign"]
    if sign in ("*", "+", "?"):
        return int(sign == "+"), 1 if sign == "?" else None
    low = int(quantifier["low"] or 0)
    if not quantifier["comma"]:
        return low, low
    return low, int(quantifier["high"]) if quantifier["high"] else None
