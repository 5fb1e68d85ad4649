"""The formula of a miscount gives what the miscount changes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig
from bertcalc.diagnosis.cause_formulas import cause_formulas
from bertcalc.diagnosis.explain import causes
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted
from bertcalc.formula import ALL_SYMBOLS
from tests.oracle import Case
from tests.strategies import cases

_PADDINGS = [name for name in MISCOUNTS if name.startswith("padded")]
miscounts = st.builds(
    lambda names, padding: tuple(name for name in MISCOUNTS if name in names or name == padding),
    st.sets(st.sampled_from([name for name in MISCOUNTS if name not in _PADDINGS]), max_size=2),
    st.none() | st.sampled_from(_PADDINGS),
)


@given(cases(), miscounts)
def test_the_formula_of_a_miscount_gives_its_number(case: Case, names: tuple[str, ...]) -> None:
    config = case.config
    if config.num_hidden_layers == 1:  # then there is no layer less, and none that is shared
        names = tuple(name for name in names if not name.startswith(("layer less", "layer more", "L=")))
    sizes = MiscountSizes.of(config)
    numbers: dict[str, Any] = config.shared() | {"padded_vocab_size": _padded(names, sizes)}
    formulas = cause_formulas(case.subject, names)
    values = {symbol: numbers[field] for field, symbol in ALL_SYMBOLS.items() if numbers.get(field) is not None}
    assert [formula.expression.subs(values) for formula in formulas] == [
        cause.amount for cause in causes(counted(case.ours()), sizes, names)
    ]


def _padded(names: tuple[str, ...], sizes: MiscountSizes) -> int:
    multiples = [int(name.rpartition(" ")[2]) for name in names if name in _PADDINGS]
    return sizes.padded[multiples[0]] if multiples else 0


def test_a_formula_of_some_tensors_alone() -> None:
    case = Case(BertConfig(), "BertModel", True)
    names = frozenset(tensor.name for tensor in counted(case.ours()) if "attention.self" in tensor.name)
    [biases] = cause_formulas(case.subject, ("attention biases",), names)
    assert biases.latex() == "- 3 H L"
    assert biases.latex(case.config) == r"- 3 \cdot 768 \cdot 12"
