"""Every common miscount and pair of miscounts is recognised, explanations are true, and their evidence is measured."""

import itertools
from dataclasses import replace
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, build
from bertcalc.diagnosis.explain import (
    MOST_BITS,
    Combination,
    causes,
    combinations,
    evidence,
    explain,
    explain_tensors,
    likeliest,
    search,
)
from bertcalc.diagnosis.miscounts import HABITS, MISCOUNTS, MiscountSizes, counted, total
from bertcalc.families.presets import PRESETS
from bertcalc.model.modules import Tensor
from bertcalc.model.totals import place_of
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import cases

CHINESE = PRESETS["bert-base-chinese"].config


class Mistaken(NamedTuple):
    """A right count, the miscounts in the order in which they are made, and the resulting total."""

    case: Case
    miscounts: tuple[str, ...]
    wrong: int


@st.composite
def mistaken(draw: st.DrawFn, most: int) -> Mistaken:
    """Draw miscounts in a model. Each miscount changes the tensors that the previous miscounts left."""
    case = draw(cases())
    names = draw(st.sets(st.sampled_from(list(MISCOUNTS)), min_size=1, max_size=most))
    tensors, sizes = counted(case.ours()), MiscountSizes.of(case.config)
    made = []
    for name in MISCOUNTS:
        after = MISCOUNTS[name].make(tensors, sizes)
        if name in names and after != tensors:
            made.append(name)
            tensors = after
    return Mistaken(case, tuple(made), total(tensors))


@examples(10)
@given(mistaken(most=2))
def test_one_or_two_usual_miscounts_are_found_again(count: Mistaken) -> None:
    bits = sum(MISCOUNTS[name].bits for name in count.miscounts)
    found = combinations(counted(count.case.ours()), MiscountSizes.of(count.case.config), count.wrong)
    if bits <= MOST_BITS:
        assert found[0].bits <= bits
        if found != [Combination(0, ())]:
            assert any(same(count.case, way.miscounts, count.miscounts) for way in found)


def same(case: Case, some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether two sets of miscounts change every tensor alike.

    For example, without a pooler, omitting all biases equals omitting the biases in the layers.
    """
    return made(case, some) == made(case, others)


def made(case: Case, miscounts: tuple[str, ...]) -> tuple[Tensor, ...]:
    tensors = counted(case.ours())
    for name in miscounts:
        tensors = MISCOUNTS[name].make(tensors, MiscountSizes.of(case.config))
    return tensors


@examples(8)
@given(mistaken(most=4))
def test_what_is_found_comes_out_line_by_line(count: Mistaken) -> None:
    tensors, sizes = counted(count.case.ours()), MiscountSizes.of(count.case.config)
    right = sum(tensor.numel() for tensor in count.case.real().parameters())
    for way in (*combinations(tensors, sizes, count.wrong), *search(tensors, sizes, MOST_BITS).rarer(count.wrong)):
        assert total(made(count.case, way.miscounts)) == count.wrong
        explanation = causes(tensors, sizes, way.miscounts)
        assert right + sum(cause.amount for cause in explanation) == count.wrong
        assert [cause.miscount for cause in explanation] == [name for name in MISCOUNTS if name in way.miscounts]
        assert 1 <= way.ideas <= len(way.miscounts) or not way.miscounts


@examples(4)
@given(cases())
def test_every_total_of_a_search_is_what_its_miscounts_give(case: Case) -> None:
    """A search adds amounts where miscounts change different tensors. Here, all of them change the tensors in turn."""
    among = search(counted(case.ours()), MiscountSizes.of(case.config), 7.0)
    for wrong in among.near(0, 10**12, 7.0):
        for way in among.combinations(wrong):
            assert total(made(case, way.miscounts)) == wrong, way


@examples(4)
@given(cases(), st.integers(0, 10**12))
def test_nothing_is_found_that_is_not_there(case: Case, wrong: int) -> None:
    tensors, sizes = counted(case.ours()), MiscountSizes.of(case.config)
    totals = {total(MISCOUNTS[name].make(tensors, sizes)) for name in MISCOUNTS}
    habits = {total(made(case, tuple(sorted(habit.miscounts, key=list(MISCOUNTS).index)))) for habit in HABITS.values()}
    for number in {wrong, *totals}:
        for way in combinations(tensors, sizes, number):
            assert way.ideas != 1 or number in totals | habits


def test_the_likeliest_comes_first() -> None:
    found = combinations(counted(build(BertConfig())), MiscountSizes.of(BertConfig()), 109_454_592)
    assert [way.miscounts for way in found][:2] == [("qkv biases",), ("feed-forward biases of H",)]
    assert [way.bits for way in found] == sorted(way.bits for way in found)


def test_what_explains_in_fewer_miscounts_is_said_alone() -> None:
    found = explain(build(BertConfig()), BertConfig(), 109_454_592)
    assert [[cause.miscount for cause in one] for one in found] == [["qkv biases"], ["feed-forward biases of H"]]


def test_a_habit_is_one_idea() -> None:
    """A calculator on the web gives V H + L (12 H² + 13 H) for bert-base: words and layers."""
    count = 30_522 * 768 + 12 * (12 * 768**2 + 13 * 768)
    first = combinations(counted(build(BertConfig())), MiscountSizes.of(BertConfig()), count)[0]
    assert (first.habit, first.ideas, len(first.miscounts)) == ("words and layers", 1, 4)


def test_the_likeliest_miscounts_of_the_rule_of_thumb_lead_to_it() -> None:
    tensors, sizes = counted(build(BertConfig())), MiscountSizes.of(BertConfig())
    count = 30_522 * 768 + 12 * 12 * 768**2
    names = likeliest(tensors, sizes, count)
    assert names
    assert total(made(Case(BertConfig(), "BertModel"), names)) == count
    assert likeliest(tensors, sizes, 123_456_789) == ()


def test_the_evidence_is_how_many_numbers_nearby_are_explained() -> None:
    sizes = MiscountSizes.of(BertConfig())
    tensors = counted(build(BertConfig()))
    wrong = 109_482_240 - 36 * 768
    reached = set()
    for names in (
        *[(name,) for name in MISCOUNTS],
        *itertools.combinations(MISCOUNTS, 2),
        *[h.miscounts for h in HABITS.values()],
    ):
        bits = min(
            [sum(MISCOUNTS[name].bits for name in names), *[h.bits for h in HABITS.values() if h.miscounts == names]]
        )
        if bits <= 5:
            after = tensors
            for name in sorted(names, key=list(MISCOUNTS).index):
                after = MISCOUNTS[name].make(after, sizes)
            reached.add(total(after))
    near = {one for one in reached - {109_482_240} if abs(one - wrong) <= 200 * 768 and (one - wrong) % 768 == 0}
    assert evidence([(search(tensors, sizes, MOST_BITS), 0)], wrong, wrong, 5, 768) == (len(near), 401, 768)
    others = [(wrong + 7 * 768, 5.0), (wrong + 768 + 1, 4.0), (wrong + 11 * 768, 5.5), (wrong + 201 * 768, 4.0)]
    more = len(near | {wrong + 7 * 768})  # the others are not a multiple, rarer, or too far away
    assert (
        evidence([(search(tensors, sizes, MOST_BITS), 0)], wrong, wrong, 5, 768, others).explained == more > len(near)
    )


def test_a_rounded_number_is_one_among_those_that_are_rounded_likewise() -> None:
    model = build(BertConfig())
    found = search(counted(model), MiscountSizes.of(BertConfig()), MOST_BITS)
    low, high, wide = 108_885_000, 108_895_000, 10_000
    usual = [change for change in MISCOUNTS.values() if change.bits <= 3]  # no pair of miscounts is as common as these
    reached = {total(one.make(counted(model), MiscountSizes.of(BertConfig()))) for one in usual} - {109_482_240}
    there = {(one - low) // wide for one in reached if abs(one - low) <= 200 * wide}
    assert evidence([(found, 0)], low, high, 3.0, 768) == (len(there), 401, wide)
    assert len(there) > 1


def test_the_right_total_needs_no_miscount() -> None:
    assert explain(build(BertConfig()), BertConfig(), 109_482_240) == [()]


def test_what_no_miscounts_explain_stays_unexplained() -> None:
    assert explain(build(BertConfig()), BertConfig(), 123_456_789) == []


def test_write_up_004_as_a_total() -> None:
    model = build(replace(CHINESE, num_labels=18))
    found = explain(model, model.config, 75_641_856)
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


def test_every_miscount_of_an_explanation_changes_the_count() -> None:
    for name in ("BertModel", "BertForMaskedLM"):
        model = build(BertConfig(), name)
        tensors, sizes = counted(model), MiscountSizes.of(model.final_config)
        found = search(tensors, sizes, 12.0)
        explained = [made for wrong in found.near(0, 10**12, 12.0) for made in found.combinations(wrong)]
        assert any(made.habit for made in explained)
        for made in explained:
            state = tensors
            for miscount in made.miscounts:
                after = MISCOUNTS[miscount].make(state, sizes)
                assert total(after) != total(state), made
                state = after
