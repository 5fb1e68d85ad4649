"""The parts of every model compared with the real modules, and the published figures of bert-base."""

from collections import Counter, defaultdict
from typing import Any

import pytest
import sympy
from hypothesis import example, given

from bertcalc import BertConfig, ElectraConfig, build
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.model.formula import SYMBOLS, count_formulas
from bertcalc.model.inventory import ModuleGroup, inventory, named
from bertcalc.model.model import Model
from tests.oracle import Case, layers_of
from tests.oracle import owned as parameters_of
from tests.strategies import cases

LAYERS = SYMBOLS["num_hidden_layers"]


def parts(case: Case) -> list[ModuleGroup]:
    model = case.ours()
    return [part for part in (*inventory(model), named(model, "dense")) if part.modules]


def unfolded(part: ModuleGroup, layers: range) -> list[str]:
    """The paths of a part, with each layer number in place of the star."""
    return [path.replace("*", str(number)) for path in part.paths for number in (layers if "*" in path else [0])]


def real_parts(real: Any) -> dict[str, list[str]]:
    """The paths of real modules without submodules or with their own tensors, keyed by kind.

    Modules named dense have their own key.
    """
    found = defaultdict(list)
    for path, module in real.named_modules():
        if not list(module.children()) or list(module.parameters(recurse=False)):
            found[type(module).__name__].append(path)
        if path.split(".")[-1] == "dense":
            found["dense"].append(path)
    return found


@given(cases())
@example(Case(ElectraConfig(), "ElectraForPreTraining"))  # it has a dense_prediction, too
def test_every_part_has_the_number_and_the_places_of_the_real_one(case: Case) -> None:
    found = {part.name: part for part in parts(case)}
    real = real_parts(case.real())
    assert {name: part.modules for name, part in found.items()} == {name: len(paths) for name, paths in real.items()}
    # ModernBERT's first layer has its own path.
    apart = any(".0." in path for part in found.values() for path in part.paths)
    layers = range(apart, layers_of(case.config))
    for name, paths in real.items():
        assert sorted(unfolded(found[name], layers)) == sorted(paths)


@given(cases())
def test_every_part_learns_what_its_real_modules_own(case: Case) -> None:
    real = case.real()
    owned: Counter[str] = Counter()
    for name, tensor in parameters_of(real).items():
        path = name.rpartition(".")[0]
        owned[type(real.get_submodule(path)).__name__] += tensor.numel()
        owned["dense"] += tensor.numel() if path.rpartition(".")[2] == "dense" else 0
    assert {part.name: part.parameters for part in parts(case) if part.parameters} == +owned


@given(cases(POSITION_EMBEDDING_TYPES))
def test_the_formula_of_every_part_gives_its_number(case: Case) -> None:
    formulas = count_formulas(case.model)
    values = {name: each.expression.subs(LAYERS, case.config.num_hidden_layers) for name, each in formulas.items()}
    assert {name: count for name, count in values.items() if count} == {part.name: part.modules for part in parts(case)}
    assert all(each.expression.free_symbols <= {LAYERS} for each in formulas.values())


@given(cases(POSITION_EMBEDDING_TYPES))
def test_the_parts_learn_all_that_the_model_learns(case: Case) -> None:
    model = case.ours()
    assert sum(part.parameters for part in inventory(model)) == model.num_parameters()


@pytest.mark.parametrize(
    ("name", "formula", "count"),
    [
        ("Dropout", 1 + 3 * LAYERS, 37),
        ("LayerNorm", 1 + 2 * LAYERS, 25),
        ("dense", 1 + 3 * LAYERS, 37),
        ("Linear", 1 + 6 * LAYERS, 73),
    ],
)
def test_published_figures_of_bert_base(name: str, formula: sympy.Expr, count: int) -> None:
    assert count_formulas(Model(BertConfig()))[name].expression == formula
    [part] = [part for part in parts(Case(BertConfig())) if part.name == name]
    assert part.modules == count


def test_a_name_that_no_module_has_is_an_empty_part() -> None:
    assert named(build(BertConfig()), "qa_outputs") == ModuleGroup("qa_outputs", 0, 0, ())
