"""Every miscount and every pair of miscounts is found again, and what is found is true."""

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, build
from bertcalc.diagnosis.explain import MOST_MISCOUNTS, explain, explain_tensors
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted, total
from bertcalc.presets import PRESETS
from bertcalc.tree.nn import Tensor
from bertcalc.tree.totals import place_of
from tests.oracle import Case
from tests.strategies import cases

CHINESE = PRESETS["bert-base-chinese"].config


def possible(case: Case) -> list[str]:
    """The miscounts that a count of a model can have: a pooler can be added where there is none."""
    pooled = any("pooler" in name for name, _shape in case.ours().named_parameters())
    return [name for name in MISCOUNTS if not (pooled and name == "pooler added")]


class Mistaken(NamedTuple):
    """A right count, miscounts made in their order, and the total that comes out."""

    case: Case
    miscounts: tuple[str, ...]
    wrong: int


@st.composite
def mistaken(draw: st.DrawFn, most: int) -> Mistaken:
    case = draw(cases())
    names = draw(st.sets(st.sampled_from(list(MISCOUNTS)), min_size=1, max_size=most))
    tensors, sizes = counted(case.ours()), MiscountSizes.of(case.config)
    made = []
    for name in MISCOUNTS:
        after = MISCOUNTS[name].make(tensors, sizes)
        if name in names and after != tensors and name in possible(case):
            made.append(name)
            tensors = after
    return Mistaken(case, tuple(made), total(tensors))


@given(mistaken(most=2))
def test_one_or_two_miscounts_are_found_again(count: Mistaken) -> None:
    found = explain(count.case.ours(), count.case.config, count.wrong)
    miscounts = [tuple(cause.miscount for cause in explanation) for explanation in found]
    shortest = len(miscounts[0])
    assert shortest <= len(count.miscounts)
    if shortest == len(count.miscounts):
        assert any(same(count.case, ours, count.miscounts) for ours in miscounts)


def same(case: Case, some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether miscounts change every tensor alike: without a pooler, no bias at all is none in the layers."""
    sizes = MiscountSizes.of(case.config)
    results = []
    for miscounts in (some, others):
        tensors = counted(case.ours())
        for name in miscounts:
            tensors = MISCOUNTS[name].make(tensors, sizes)
        results.append(tensors)
    return results[0] == results[1]


@given(mistaken(most=MOST_MISCOUNTS + 2))
def test_what_is_found_comes_out_line_by_line(count: Mistaken) -> None:
    found = explain(count.case.ours(), count.case.config, count.wrong)
    assert found or len(count.miscounts) > MOST_MISCOUNTS
    right = sum(tensor.numel() for tensor in count.case.real().parameters())
    for explanation in found:
        assert len(explanation) == len(found[0]) <= MOST_MISCOUNTS
        assert right + sum(cause.amount for cause in explanation) == count.wrong
        assert all(cause.amount for cause in explanation)
        tensors, sizes = counted(count.case.ours()), MiscountSizes.of(count.case.config)
        for cause in explanation:
            after = MISCOUNTS[cause.miscount].make(tensors, sizes)
            assert total(after) - total(tensors) == cause.amount
            tensors = after


@given(cases(), st.integers(0, 10**12))
def test_nothing_is_found_that_is_not_there(case: Case, wrong: int) -> None:
    tensors, sizes = counted(case.ours()), MiscountSizes.of(case.config)
    totals = {total(tensors)}
    for one, two in combinations(possible(case), 2):
        first = MISCOUNTS[one].make(tensors, sizes)
        totals |= {total(first), total(MISCOUNTS[two].make(first, sizes)), total(MISCOUNTS[two].make(tensors, sizes))}
    found = explain(case.ours(), case.config, wrong)
    assert (min(map(len, found), default=3) <= 2) == (wrong in totals)


def test_the_right_total_needs_no_miscount() -> None:
    assert explain(build(BertConfig()), BertConfig(), 109_482_240) == [()]


def test_what_no_miscounts_explain_stays_unexplained() -> None:
    assert explain(build(BertConfig()), BertConfig(), 123_456_789) == []


def test_write_up_004_as_a_total() -> None:
    found = explain(build(replace(CHINESE, num_labels=18)), CHINESE, 75_641_856)
    assert [("layer biases", -82_944), ("pooler", -590_592), ("attention once", -25_952_256)] in [
        list(explanation) for explanation in found
    ]


def part(name: str) -> tuple[Tensor, ...]:
    model = build(CHINESE)
    return tuple(tensor for tensor in model.tensors() if place_of(tensor) == ("encoder", name))


def test_write_up_004_term_by_term() -> None:
    sizes = MiscountSizes.of(CHINESE)
    assert [("attention biases", -36_864), ("attention once", -25_952_256)] in [
        list(explanation) for explanation in explain_tensors(part("attention"), sizes, 2_359_296)
    ]
    assert explain_tensors(part("feed-forward"), sizes, 56_623_104) == [(("feed-forward biases", -46_080),)]
