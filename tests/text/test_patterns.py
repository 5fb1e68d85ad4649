"""Regular expressions: wrong patterns are refused, and no accepted pattern is slow."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import InputError, load
from bertcalc.text.patterns import check_patterns, check_quick_patterns

NAMES = [path for path, _module, _copies in load("bert-base-uncased").modules(folded=False)]
PARTS = ["a", ".", r"\.", "[a-z]", "[*+]", "(", "(?:", ")", "|", "*", "+", "?", "{2,}", "{3}", "query", "#"]


@pytest.mark.parametrize("text", ["(", "*", "[", "a{99999999999}", "(?P<a>x)(?P<a>y)", ["query", "("], {"(": 4}])
def test_what_python_does_not_compile_is_refused(text: object) -> None:
    with pytest.raises(InputError, match=r"^target_modules .* is not a regular expression: "):
        check_patterns("target_modules", text)


@pytest.mark.parametrize("text", ["([a-z_.]*)*#", "(a|a)*#", "((a+)b?)+", "(?:a?){30}", ".*.*.*.*.*#", "(a*){2,}"])
def test_what_could_take_long_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="could take too long to match"):
        check_quick_patterns("target_modules", text)


@pytest.mark.parametrize(
    "text",
    [
        r".*\.(query|value|q_lin|c_attn)",
        r".*layer\.[01]\..*dense",
        r".*(1|2).*(query|Wqkv|q_proj)",
        r"(?:.*\.)?layers?\.\d+\.(q|k|v)_proj",
        r"[*+?{]\*\+\?\{",
    ],
)
def test_usual_patterns_are_accepted(text: str) -> None:
    check_patterns("target_modules", text)
    check_quick_patterns("target_modules", text)


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
def test_an_accepted_pattern_is_quick(pattern: str) -> None:
    with suppress(InputError):
        check_patterns("target_modules", pattern)
        check_quick_patterns("target_modules", pattern)
        for name in NAMES:  # with an exponential pattern, this would not end
            re.fullmatch(pattern, name)
