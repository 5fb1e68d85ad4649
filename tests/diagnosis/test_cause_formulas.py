"""The formula of a miscount evaluates to the amount that the miscount changes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bertcalc import AlbertConfig, BertConfig, ModernBertConfig
from bertcalc.change_steps.step_texts import read_steps
from bertcalc.diagnosis.cause_formulas import cause_formulas
from bertcalc.diagnosis.explain import causes
from bertcalc.diagnosis.layer_parts import Counted, parts_of
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted
from bertcalc.model.formula import ALL_SYMBOLS
from bertcalc.model.model import Model
from tests.oracle import Case
from tests.strategies import cases

_PADDINGS = [name for name in MISCOUNTS if name.startswith("padded")]
LAYERS_LESS = ("layer less", "layer more", "L=")
miscounts = st.builds(
    lambda names, padding: tuple(name for name in MISCOUNTS if name in names or name == padding),
    st.sets(st.sampled_from([name for name in MISCOUNTS if name not in _PADDINGS]), max_size=2),
    st.none() | st.sampled_from(_PADDINGS),
)


@given(cases(), miscounts)
def test_the_formula_of_a_miscount_gives_its_number(case: Case, names: tuple[str, ...]) -> None:
    config = case.config
    if config.num_hidden_layers == 1:  # a single layer cannot be left out or shared
        names = tuple(name for name in names if not name.startswith(LAYERS_LESS))
    sizes = MiscountSizes.of(config)
    numbers: dict[str, Any] = config.shared() | {"padded_vocab_size": _padded(names, sizes)}
    formulas = cause_formulas(case.model, names)
    values = {symbol: numbers[field] for field, symbol in ALL_SYMBOLS.items() if numbers.get(field) is not None}
    assert [formula.expression.subs(values) for formula in formulas] == [
        cause.amount for cause in causes(counted(case.ours()), sizes, names)
    ]


def test_two_shared_layers_are_no_layers_of_which_the_first_lacks_something() -> None:
    case = Case(AlbertConfig(num_hidden_layers=2), "AlbertModel")
    [formula] = cause_formulas(case.model, ("first layer alike",))
    [cause] = causes(counted(case.ours()), MiscountSizes.of(case.config), ("first layer alike",))
    assert formula.expression == cause.amount == 0
    case = Case(ModernBertConfig(num_hidden_layers=2), "ModernBertModel")
    [cause] = causes(counted(case.ours()), MiscountSizes.of(case.config), ("first layer alike",))
    assert cause.amount == 768  # the real model has no attn_norm in its first layer
    assert sum("attn_norm" in name for name, _tensor in case.real().named_parameters()) == 1


def test_the_formula_for_a_model_with_steps_gives_the_number_of_the_real_smaller_model() -> None:
    whole, short = (Case(BertConfig(num_hidden_layers=layers)).real().num_parameters() for layers in (12, 10))
    pooler = sum(parameter.numel() for parameter in Case(BertConfig()).real().pooler.parameters())
    for steps, miscount, amount in (
        ("layers,layers=10+11", "L=12", whole - short),
        ("layers,layers=10+11", "pooler in every layer", 9 * pooler),
        ("vocabulary,new_num_tokens=30100", "padded to 8", (30_104 - 30_100) * 768),
    ):
        changes: Any = read_steps(steps)
        model = Model(BertConfig(), changes=changes)
        [formula] = cause_formulas(model, (miscount,))
        numbers = model.letter_values()
        values = {symbol: numbers[field] for field, symbol in ALL_SYMBOLS.items() if numbers.get(field) is not None}
        assert formula.expression.subs(values) == amount


def _padded(names: tuple[str, ...], sizes: MiscountSizes) -> int:
    multiples = [int(name.rpartition(" ")[2]) for name in names if name in _PADDINGS]
    return sizes.padded[multiples[0]] if multiples else 0


def test_a_formula_of_some_tensors_alone() -> None:
    case = Case(BertConfig(), "BertModel", True)
    tensors = tuple(tensor for tensor in counted(case.ours()) if "attention.self" in tensor.name)
    [biases] = cause_formulas(case.model, ("attention biases",), Counted("encoder.layer.*.attention.self", tensors))
    assert biases.latex() == "- 3 H L"
    assert biases.latex(case.config) == r"- 3 \cdot 768 \cdot 12"


@given(cases(), miscounts, st.integers(0))
def test_the_formula_of_a_miscount_in_one_part_gives_its_number(case: Case, names: tuple[str, ...], at: int) -> None:
    """The part is in all layers, in one layer, or in all layers except one."""
    # With fewer than four layers, the part may be in a single layer, which a miscount cannot leave out.
    if case.config.num_hidden_layers < 4:
        names = tuple(name for name in names if not name.startswith(LAYERS_LESS))
    parts = [part for part in parts_of(counted(case.ours()), MiscountSizes.of(case.config)) if part.tensors]
    part = parts[at % len(parts)]
    sizes = MiscountSizes.of(case.config)
    numbers: dict[str, Any] = case.config.shared() | {"padded_vocab_size": _padded(names, sizes)}
    values = {symbol: numbers[field] for field, symbol in ALL_SYMBOLS.items() if numbers.get(field) is not None}
    formulas = cause_formulas(case.model, names, part)
    amounts = [cause.amount for cause in causes(part.tensors, sizes, names)]
    assert [formula.expression.subs(values) for formula in formulas] == amounts
