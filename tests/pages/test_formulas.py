"""Formulas on a page: what is said beside them, and a line is broken where it would leave the screen."""

from bertcalc import BertConfig
from bertcalc.model.model import Model
from pages.ui.widgets.formulas import colored_sum, node_formula


def test_a_sum_is_broken_where_it_would_leave_the_screen() -> None:
    assert len(colored_sum("N &= ", [("H", "#000000")] * 5)) == 1
    lines = colored_sum("N &= ", [("H", "#000000")] * 50)
    assert len(lines) > 2
    assert "".join(lines).count("{H}") == 50


def test_one_layer_says_how_many_there_are() -> None:
    latex = node_formula(Model(BertConfig(), "BertForMaskedLM"), "encoder.layer.*", 7_087_872)
    assert r"4 H^{2} + 2 H I + 9 H + I \quad \text{in each layer, } \; L = 12" in latex
    assert "= 7{,}087{,}872" in latex


def test_the_embeddings_show_gamma_and_beta() -> None:
    latex = node_formula(Model(BertConfig()), "embeddings", 23_837_184)
    assert r"&H \left(V + P + T\right) + \underbrace{2H}_{\gamma, \, \beta} \\" in latex
    assert r"&= 768 \cdot \left(30{,}522 + 512 + 2\right) + 2 \cdot 768 = 23{,}837{,}184" in latex
