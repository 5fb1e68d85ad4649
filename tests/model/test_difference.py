"""The modules in which two models differ, compared with the real modules."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, DistilBertConfig, Module, build
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.families import CLASSES
from bertcalc.model.difference import ModuleChange, differences
from tests.oracle import Case, bare
from tests.strategies import SPLIT_IN_TWO, cases


def real_modules(case: Case) -> dict[str, tuple[str, str]]:
    """The kind of each module of the base model and the head, and its printed arguments, keyed by path."""
    return {
        bare(path, case.architecture): (type(module).__name__, module.extra_repr())
        for path, module in case.real().named_modules()
        if path not in ("", CLASSES[case.architecture].prefix)
    }


def inside(change: ModuleChange, module: Module | None) -> Iterator[str]:
    if module:
        yield from (path for path, _, _ in module.modules(change.path, folded=False))


@given(cases(), st.data())
def test_every_difference_of_the_real_models_is_found_and_nothing_else(case: Case, data: st.DataObject) -> None:
    family = CLASSES[case.architecture]
    architecture = data.draw(st.sampled_from([cls.name for cls in family.classes]))
    if architecture in SPLIT_IN_TWO:
        case = case._replace(config=replace(case.config, num_labels=2))
    other = Case(case.config, architecture)
    here, there = real_modules(case), real_modules(other)
    changes = differences(case.ours(), other.ours())
    missing = [path for change in changes if not change.there for path in inside(change, change.here)]
    added = [path for change in changes if not change.here for path in inside(change, change.there)]
    assert sorted(missing) == sorted(here.keys() - there.keys())
    assert sorted(added) == sorted(there.keys() - here.keys())
    assert {change.path for change in changes if change.here and change.there} == {
        path for path in here.keys() & there.keys() if here[path] != there[path]
    }


def test_what_print_alone_shows_is_a_difference() -> None:
    """DistilBERT's classes have separate fields for their dropout, which has no parameters."""
    here, there = (
        Case(DistilBertConfig(), f"DistilBertFor{task}") for task in ("SequenceClassification", "QuestionAnswering")
    )
    shown = [real_modules(case)["dropout"] for case in (here, there)]
    assert shown == [("Dropout", "p=0.2, inplace=False"), ("Dropout", "p=0.1, inplace=False")]
    [dropout] = [change for change in differences(here.ours(), there.ours()) if change.path == "dropout"]
    assert [(one.class_name, one.extra_repr()) for one in (dropout.here, dropout.there) if one] == shown
    assert dropout.parameters == 0


@given(cases(POSITION_EMBEDDING_TYPES), cases(POSITION_EMBEDDING_TYPES))
def test_differences_add_up_to_the_difference_of_the_totals(case: Case, other: Case) -> None:
    here, there = case.ours(), other.ours()
    assert sum(change.parameters for change in differences(here, there)) == (
        there.num_parameters() - here.num_parameters()
    )


@given(cases(POSITION_EMBEDDING_TYPES))
def test_a_model_does_not_differ_from_itself(case: Case) -> None:
    assert differences(case.ours(), case.ours()) == []


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        ("BertForSequenceClassification", [("dropout", 0), ("classifier", 1_538)]),
        ("BertForQuestionAnswering", [("pooler", -590_592), ("qa_outputs", 1_538)]),
        ("BertForMaskedLM", [("pooler", -590_592), ("cls", 109_514_298 - 109_482_240 + 590_592)]),
    ],
)
def test_what_a_task_adds_to_bert_base_and_takes_away(architecture: str, expected: list[tuple[str, int]]) -> None:
    changes = differences(build(BertConfig()), build(BertConfig(), architecture))
    assert [(change.path, change.parameters) for change in changes] == expected
