"""Formulas on a page: the terms are all there, and a line is broken where it would leave the screen."""

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.formula import component_formulas
from pages.ui.formulas import node_formula, total_formula
from pages.ui.sidebar import Choice
from pages.ui.theme import COLORS

FULL = BertConfig(
    position_embedding_type="relative_key", is_decoder=True, add_cross_attention=True, tie_word_embeddings=False
)


def choice(config: BertConfig, architecture: str) -> Choice:
    return Choice(config, architecture, True, "bert-base-uncased", True)


def test_every_term_stands_in_its_colour_with_letters_and_with_numbers() -> None:
    for architecture in ARCHITECTURES:
        latex = total_formula(choice(FULL, architecture), COLORS["light"], 1_234)
        for component, term in component_formulas(FULL, architecture):
            for written in (term.latex(), term.latex(FULL)):
                assert rf"\textcolor{{{COLORS['light'][component]}}}{{{written}}}" in latex
        assert latex.count("&= 1{,}234") == 1


def test_bert_base_needs_one_line_and_the_longest_formula_several() -> None:
    short = total_formula(choice(BertConfig(), "BertModel"), COLORS["light"], 109_482_240)
    long = total_formula(choice(FULL, "BertForPreTraining"), COLORS["light"], 1)
    assert short.count(r"\\") == 2
    assert long.count(r"\\") > 3


def test_one_layer_says_how_many_there_are() -> None:
    latex = node_formula(choice(BertConfig(), "BertForMaskedLM"), "encoder.layer.*", 7_087_872)
    assert r"4 H^{2} + 2 H I + 9 H + I \quad (12 \times)" in latex
    assert "= 7{,}087{,}872" in latex
