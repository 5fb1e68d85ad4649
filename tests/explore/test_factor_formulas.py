"""The growth factor equals the ratio of the real models' tensors, and its reason is the term that grew."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig
from bertcalc.explore.factor_formulas import (
    FOLLOWS,
    MOSTLY,
    STAYS,
    WITH,
    Factor,
    growth_words,
    piece_growths,
    total_growth,
)
from bertcalc.model.model import Model
from bertcalc.model.totals import breakdown
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import bert_cases

DOUBLED = ("hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size")
BASE = BertConfig(vocab_size=11, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)


def factors(**changes: Any) -> dict[str, Factor | None]:
    here, there = Model(BASE), Model(replace(BASE, **changes))
    pieces = breakdown(there)
    growths = piece_growths(here, there)
    return {piece.name: growth.factor for piece, growth in zip(pieces, growths, strict=True)}


def reason(factor: Factor | None) -> str:
    return "" if factor is None else factor.text()


def test_a_wider_model_grows_by_its_square_where_both_sides_follow() -> None:
    wider = factors(hidden_size=32)
    assert (reason(wider["attention"]), reason(wider["dense"])) == ("H²", "H²")
    assert (reason(wider["word"]), reason(wider["feed-forward"])) == ("H", "H, I fixed")
    assert reason(factors(hidden_size=32, intermediate_size=128)["feed-forward"]) == "H·I"


def test_a_total_that_grows_otherwise_than_its_largest_term_says_mostly() -> None:
    base = Model(BertConfig())
    for config, said in ((BertConfig(hidden_size=1536), "H²"), (BertConfig(num_hidden_layers=18), "L")):
        real = [sum(tensor.numel() for tensor in Case.of(model).real().parameters()) for model in (base, Model(config))]
        words = growth_words(total_growth(base, Model(config)), WITH, STAYS, MOSTLY, FOLLOWS)
        assert words == f"× {real[1] / real[0]:.2f}, mostly {said}"
    wide = base.changed(config=replace(base.config, hidden_size=1536))
    pieces = dict(zip((piece.name for piece in breakdown(wide)), piece_growths(base, wide), strict=True))
    assert [reason(pieces[name].factor) for name in ("word", "attention", "feed-forward")] == ["H", "H²", "H, I fixed"]


def test_what_has_not_moved_has_no_reason() -> None:
    deeper = factors(num_hidden_layers=4)
    assert reason(deeper["attention"]) == "L"
    assert deeper["attention"] == Factor(Fraction(2), {"num_hidden_layers": 1})
    assert deeper["word"] is None
    assert total_growth(Model(BASE), Model(BASE)).factor is None


@examples(6)
@given(
    bert_cases(("absolute",)).map(lambda case: case.model),
    st.sampled_from(("hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size")),
)
def test_the_ratio_is_that_of_the_real_models(here: Model, field: str) -> None:
    there = here.changed(config=replace(here.config, **{field: 2 * getattr(here.config, field)}))
    grown = total_growth(here, there).factor
    if grown:
        real = [sum(tensor.numel() for tensor in Case.of(model).real().parameters()) for model in (here, there)]
        assert grown.ratio == Fraction(real[1], real[0])
        assert grown.powers.keys() == {field}


def test_between_classes_of_different_structure_the_factor_has_no_reason() -> None:
    here, there = Model(BASE), Model(BASE, "BertForMaskedLM")
    real = [sum(tensor.numel() for tensor in Case.of(model).real().parameters()) for model in (here, there)]
    assert total_growth(here, there).factor == Factor(Fraction(real[1], real[0]), {})
