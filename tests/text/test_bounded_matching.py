"""Bounded matching agrees with Python's ``re``, and no pattern is slow."""

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import InputError, load
from bertcalc.text.bounded_matching import index_in, limited_steps, matches
from tests.examples import examples

NAMES = [path for path, _module, _copies in load("bert-base-uncased").modules(folded=False)]
PARTS = [
    *("a", "b", ".", r"\.", r"\w", r"\d", "[a-c]", "[^a.]", "ab", "(", "(?:", "(?=", "(?!", ")", "|"),
    *("*", "+", "?", "*?", "+?", "{2,}", "{3}", "{,2}", "{1,2}?", r"\b", "^", "$", "{", "]", "(?P<idx>"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join), st.text("ab.1", max_size=7))
@examples(1_000)
def test_matching_agrees_with_python(pattern: str, text: str) -> None:
    try:
        compiled = re.compile(f"{pattern}(?:x?|x*|x?|x?)*")  # too many quantifiers for re in bertcalc
    except re.error:
        return
    if re.search(r"[*+?}]\+", pattern):
        return  # possessive quantifiers are refused
    for whole, found in ((True, compiled.fullmatch(text)), (False, compiled.match(text))):
        assert matches(compiled.pattern, text, whole=whole) == bool(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_index_of_a_layer_is_found_like_pefts(name: str) -> None:
    for start in ("(?:^|.*?[.])(?:layer|h)s?(?:s?s?s?)*", r".*?.*?.*?.*?\.[^.]*"):
        pattern = rf"{start}\.(?P<idx>\d+)\."
        found = re.match(pattern, name)
        assert index_in(pattern, name) == (found and found["idx"])


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"(\w+\.?)+zz", "(.*a)*x", "(a|a)*#", "(.*)*#", ".*.*.*.*.*.*.*.*.*zz", "(?x)(.* ) *z", r"((.*)+\2)+z"),
        *("(?:.?){900}z", "((a?){50}){50}z", "(((a*){30}){30}){30}", "(?:){3000}" * 30, "(" * 60 + "a*" + ")*" * 60),
        *("(?=(.*a)*z)a", "(?!(.*a)*z)(.*a)*z", "(?:a|b|.)*" * 50 + "z"),
    ],
)
def test_no_pattern_is_slow(pattern: str) -> None:
    start = time.process_time()
    with suppress(InputError), limited_steps():
        for name in NAMES:
            matches(pattern, name)
    assert time.process_time() - start < 15


def test_flags_inside_a_pattern_are_refused() -> None:
    with pytest.raises(InputError, match="is not a regular expression: global flags"):
        matches("(.*[.])?((?i)query)$", "query", whole=False)
