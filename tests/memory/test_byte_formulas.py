"""The formulas of memory, evaluated, equal the counts."""

from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from bertcalc.memory.byte_formulas import kept_formulas, korthikanti_formulas
from bertcalc.memory.footprint import kept, korthikanti
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import SavedActivation, total_bytes
from bertcalc.model.formula import ALL_SYMBOLS, Formula
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.model.runnable import cannot_run
from tests.examples import examples
from tests.memory.test_footprint import models, plans, possible
from tests.oracle import Case, component_of
from tests.strategies import cases


def substituted(formula: Formula, model: Model, batch: int, length: int) -> Any:
    numbers = {**model.config.shared(), "batch_size": batch, "sequence_length": length}
    return formula.expression.subs(
        {ALL_SYMBOLS[field]: numbers[field] for field in numbers if numbers[field] and field in ALL_SYMBOLS}
    )


@examples(150)
@given(models, plans, st.integers(1, 9), st.integers(1, 99))
def test_the_formulas_of_what_is_kept_are_the_counts(model: Model, plan: Plan, batch: int, length: int) -> None:
    assume(not cannot_run(model))
    plan, length = possible(plan, model), min(length, model.config.longest)
    saved, found = kept(model, plan, batch, length), kept_formulas(model, plan, batch, length)
    assert [one.name for one in found.saved] == [one.name for one in saved]
    by_component: dict[str, list[SavedActivation]] = {}
    for one in saved:
        by_component.setdefault(component_of(one.step), []).append(one)
    assert {name: substituted(formula, model, batch, length) for name, formula in found.components.items()} == {
        name: total_bytes(some) for name, some in by_component.items()
    }


@examples(30)
@given(cases(classes=["ModernBertForTokenClassification"]), plans, st.integers(1, 9), st.integers(1, 30))
def test_letters_of_layers_with_a_window(case: Case, plan: Plan, batch: int, length: int) -> None:
    """With fused attention, each of these layers saves a mask."""
    config = replace(case.config, max_position_embeddings=30, num_hidden_layers=3 * case.config.num_hidden_layers - 2)
    model = case.model.changed(config=config)
    assume(not cannot_run(model))
    plan = plan._replace(freezing=Freezing())
    saved, found = kept(model, plan, batch, length), kept_formulas(model, plan, batch, length)
    assert [one.name for one in found.saved] == [one.name for one in saved]
    in_letters = sum(substituted(formula, model, batch, length) for formula in found.components.values())
    assert in_letters == total_bytes(saved)


@examples(30)
@given(models, plans, st.integers(1, 9), st.integers(1, 99))
def test_the_formulas_of_the_reasons_are_the_counts(model: Model, plan: Plan, batch: int, length: int) -> None:
    assume(not cannot_run(model))
    length = min(length, model.config.longest)
    found = korthikanti_formulas(model, plan, batch, length)
    assert [substituted(formula, model, batch, length) for formula in found] == [
        more for _reason, more in korthikanti(model, plan, batch, length)
    ]
