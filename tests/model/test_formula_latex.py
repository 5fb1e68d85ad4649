"""Formulas as LaTeX: gamma and beta, colors, and line breaks where lines would leave the screen."""

from bertcalc import BertConfig
from bertcalc.model.formula_latex import colored_sum, letters_of
from bertcalc.model.model import Model


def test_a_sum_is_broken_where_it_would_leave_the_screen() -> None:
    assert len(colored_sum("N &= ", [("H", "#000000")] * 5)) == 1
    lines = colored_sum("N &= ", [("H", "#000000")] * 50)
    assert len(lines) > 2
    assert "".join(lines).count("{H}") == 50


def test_the_embeddings_show_gamma_and_beta() -> None:
    latex = letters_of(Model(BertConfig()), "embeddings")
    assert latex == r"H \left(V + P + T\right) + \underbrace{2H}_{\gamma, \, \beta}"


def test_a_layer_has_its_formula_in_its_color() -> None:
    latex = letters_of(Model(BertConfig(), "BertForMaskedLM"), "encoder.layer.*", "#b34700")
    assert latex == r"\textcolor{#b34700}{4 H^{2} + 2 H I + 9 H + I}"
