"""Formulas as LaTeX: gamma and beta, colors and signs."""

from bertcalc import BertConfig
from bertcalc.model.formula_latex import colored_equation, letters_of
from bertcalc.model.model import Model


def test_a_sum_has_the_signs_of_its_terms_and_each_line_its_equals_sign() -> None:
    latex = colored_equation("N", [("-H", "-2", "#000000"), ("I", "8", "#ffffff"), ("-L", "-1", "#000000")], "5")
    assert latex.splitlines() == [
        r"N = - \textcolor{#000000}{H} + \textcolor{#ffffff}{I} - \textcolor{#000000}{L} \\",
        r"\phantom{N} = - \textcolor{#000000}{2} + \textcolor{#ffffff}{8} - \textcolor{#000000}{1} \\",
        r"\phantom{N} = 5",
    ]


def test_the_embeddings_show_gamma_and_beta() -> None:
    latex = letters_of(Model(BertConfig()), "embeddings")
    assert latex == r"H \left(V + P + T\right) + \underbrace{2H}_{\gamma, \, \beta}"


def test_a_layer_has_its_formula_in_its_color() -> None:
    latex = letters_of(Model(BertConfig(), "BertForMaskedLM"), "encoder.layer.*", "#b34700")
    assert latex == r"\textcolor{#b34700}{4 H^{2} + 2 H I + 9 H + I}"
