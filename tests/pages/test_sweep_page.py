"""The Sweep page: its figures are those of the real models, and impossible settings are explained."""

import json
from itertools import permutations

import pytest
from streamlit.testing.v1 import AppTest

from bertcalc import BertConfig
from bertcalc.controls.stops import SLIDERS
from bertcalc.explore.quantities import QUANTITIES
from bertcalc.explore.sweep import SWEPT, sweepable
from bertcalc.model.model import Model
from pages.ui.sweep.map_view import _name
from pages.ui.sweep.sweep_view import RANGES, VIEW
from pages.ui.widgets.numbers import short
from tests.oracle import Case
from tests.pages.apptest import frame_of, open_app, present, tables, without_marks


def said(app: AppTest) -> str:
    return without_marks(" ".join(str(one.value) for one in [*app.markdown, *app.caption]))


def real(**fields: int) -> int:
    return sum(tensor.numel() for tensor in Case(BertConfig(**fields)).real().parameters())  # type: ignore[arg-type]


def number(count: int) -> str:
    return f"{count:,}"


def test_doubling_the_hidden_size_is_said_with_the_real_counts() -> None:
    app = open_app("sweep.py")
    large = real(hidden_size=1536, num_attention_heads=24, intermediate_size=6144)
    words = said(app)
    assert "Quadratic in hidden_size, $O(H^2)$" in words
    assert (
        f"Doubled to 1,536: {number(real())} → {number(large)} parameters, **×\N{NO-BREAK SPACE}{large / real():.2f}**"
        in words
    )
    formula = str(app.latex[0].value)
    assert r"(12 L + 1) H^{2}" in formula
    assert "145 H^{2}" in formula
    assert "31{,}195 H" in formula


def test_doubling_the_layers_is_said_with_the_real_counts() -> None:
    words = said(open_app("sweep.py", x="num_hidden_layers"))
    assert "Linear in num_hidden_layers, $O(L)$; near 12, like $L^{0.78}$" in words
    assert f"Doubled to 24: {number(real())} → {number(real(num_hidden_layers=24))} parameters" in words


def test_a_small_growth_does_not_read_as_none() -> None:
    words = said(open_app("sweep.py", architecture="BertForSequenceClassification", x="num_labels", measure="weights"))
    assert "near 2, like $C^{0.00001}$" in words  # two labels are 1,538 parameters of 109 million
    assert "**×\N{NO-BREAK SPACE}1.00001**" in words
    none = said(open_app("sweep.py", x="sequence_length", x_to="50", measure="weights"))
    assert "Does not depend on" in none
    assert "**×\N{NO-BREAK SPACE}1.00**" in none


def test_what_goes_along_can_stay() -> None:
    app = open_app("sweep.py", tie_intermediate="false")
    alone = real(hidden_size=1536, num_attention_heads=24)
    assert f"→ {number(alone)} parameters" in said(app)
    assert "I" in str(app.latex[0].value)
    assert "A = H/64" in app.checkbox(key="tie_heads").label
    assert "I = 4H" in app.checkbox(key="tie_intermediate").label
    assert "tie_heads" not in [box.key for box in open_app("sweep.py", x="num_hidden_layers").checkbox]


def test_every_quantity_of_the_unit_has_its_formula_and_order() -> None:
    app = open_app("sweep.py", architecture="BertForMaskedLM", growths="true", log="true")
    assert '"type": "log"' in json.dumps(app.session_state["shown"][0].spec)
    table = tables(app)[0]
    names = [QUANTITIES[name].meaning for name in ("parameters", "embeddings", "encoder", "head")]
    assert list(table["Quantity"]) == names
    assert list(table["Growth"]) == ["$O(H^2)$", "$O(H)$", "$O(H^2)$", "$O(H^2)$"]
    assert table["Formula"][2] == "$12 L H^{2} + 13 L H$"
    assert not tables(open_app("sweep.py"))  # the folded table is not computed


@pytest.mark.parametrize(
    "link",
    [
        {"measure": "encoder"},
        {"measure": "forward", "log": "true"},
        {"measure": "activations", "position_embedding_type": "relative_key"},
    ],
)
def test_every_dimension_comes_up(link: dict[str, str]) -> None:
    app = open_app("sweep.py", architecture="BertForPreTraining", **link)
    for x in sweepable(Model(BertConfig())):
        app.selectbox(key="x").set_value(x).run()
        assert not app.exception
        assert not app.error
        assert len(app.latex) == 1


@pytest.mark.parametrize("link", [{}, {"position_embedding_type": "relative_key", "log": "true"}])
def test_any_two_dimensions_make_a_map(link: dict[str, str]) -> None:
    decoder = {"is_decoder": "true", "add_cross_attention": "true", "architecture": "BertLMHeadModel"}
    app = open_app("sweep.py", sweep="map", measure="activations", **decoder, **link)
    for x, y in list(permutations(sweepable(Model(BertConfig())), 2))[::17]:
        app.selectbox(key="x").set_value(x)
        app.selectbox(key="y").set_value(y).run()
        assert not app.exception
        assert not app.error
        assert ("No contour lines" in said(app)) == (bool(link) and "num_attention_heads" in (x, y))
        assert ("All points of a line have the same value" in said(app)) == ("No contour lines" not in said(app))


@pytest.mark.parametrize("measure", QUANTITIES)
def test_every_quantity_has_a_map(measure: str) -> None:
    app = open_app("sweep.py", sweep="map", measure=measure)
    assert QUANTITIES[measure].meaning in said(app)
    assert not app.error


def test_a_model_without_a_head_has_none_anywhere() -> None:
    for view in VIEW.options:
        app = open_app("sweep.py", sweep=view, measure="head")
        assert not app.error
    assert "Does not depend on hidden_size" in said(open_app("sweep.py", measure="head"))


def test_the_formula_of_a_peak_is_said_to_be_that_of_one_moment() -> None:
    app = open_app("sweep.py", measure="inference_memory")
    assert "This is the formula of the step at which memory peaks now" in said(app)
    assert len(app.latex) == 1
    assert "step at which memory peaks" not in said(open_app("sweep.py", measure="activations"))


def test_a_step_on_the_map_takes_the_model_into_the_sidebar() -> None:
    app = open_app("sweep.py", sweep="map")
    [button] = [one for one in app.button if one.label == "→ H = 832"]
    button.click().run()
    shown = {field: getattr(present(app), field) for field in SLIDERS}
    assert shown == {
        "vocab_size": 30522,
        "hidden_size": 832,
        "num_hidden_layers": 12,
        "num_attention_heads": 13,
        "intermediate_size": 3328,
    }
    assert not app.error
    count = real(hidden_size=832, num_attention_heads=13, intermediate_size=3328)
    assert f"**{number(count)} parameters**" in said(app)
    assert [one for one in app.button if one.label == "↑ L = 13"]
    [chart] = app.session_state["shown"]
    [ring] = [row for row in frame_of(chart).itertuples() if row.kind == "here"]
    assert (ring.x0, ring.y0) == (832, 12)


def test_steps_are_only_to_models_that_there_are() -> None:
    app = open_app("sweep.py", sweep="map", x="num_attention_heads", y="hidden_size")
    labels = [one.label for one in app.button]
    assert "← A = 8" in labels
    assert "→ A = 16" in labels


@pytest.mark.parametrize(
    ("link", "sentence", "remedy"),
    [
        ({"x_from": "0"}, "x from 0 is invalid: it must be a whole number from 64 to 65,536", "x from = 64"),
        ({"x_to": "99999999"}, "x to 99,999,999 is invalid", "x to = 65,536"),
        ({"x_from": "900", "x_to": "200"}, "x from 900 must be below x to 200", "x from = 200, x to = 900"),
        (
            {"x_from": "770", "x_to": "780"},
            "There is no valid hidden_size between x from 770 and x to 780",
            "x from = 64, x to = 2,048",
        ),
        (
            {"x_from": "770", "x_to": "770"},
            "There is no valid hidden_size between x from 770 and x to 770",
            "x from = 64, x to = 2,048",
        ),
        (
            {"hidden_size": "65536", "num_attention_heads": "1"},
            "hidden_size can only be 65,536 here",
            "tie_heads = False, tie_intermediate = False",
        ),
        ({"sweep": "map", "y": "hidden_size"}, "x and y are both hidden_size", "y axis = num_hidden_layers"),
        (
            {"sweep": "map", "x": "num_hidden_layers"},
            "x and y are both num_hidden_layers",
            "y axis = hidden_size",
        ),
        (
            {"sweep": "map", "x": "sequence_length", "x_to": "513", "measure": "forward"},
            "Sequence length 513 exceeds max_position_embeddings 512: use at most 512.",
            "x to = 512",
        ),
        (
            {"x": "sequence_length", "x_to": "16384", "measure": "forward"},
            "Sequence length 16,384 exceeds max_position_embeddings 512: use at most 512.",
            "max_position_embeddings = 16,384",
        ),
    ],
)
def test_what_cannot_be_is_explained_with_a_way_out(link: dict[str, str], sentence: str, remedy: str) -> None:
    app = open_app("sweep.py", **link)
    assert str(app.error[0].value).startswith(sentence)
    [button] = [one for one in app.button if one.label == remedy]
    button.click().run()
    assert not app.error
    assert not app.exception


def test_too_much_to_be_counted_is_refused_before() -> None:
    link = {"max_position_embeddings": "1000000", "measure": "forward", "sequence_length": "1000000"}
    app = open_app("sweep.py", x="batch_size", x_to="1000000", **link)
    [error] = app.error
    assert "reaches 2^63, the limit of this chart, before Batch size is 1,000,000" in str(error.value)
    [button] = [one for one in app.button if one.label.startswith("x to = ")]
    button.click().run()
    assert not app.error
    app = open_app("sweep.py", x="num_labels", batch_size="1000000", **link)
    [error] = app.error
    assert "reaches 2^63, the limit of this chart, before Batch size is 1,000,000" in str(error.value)
    [button] = [one for one in app.button if one.label == "Batch size = 1, Sequence length = 128"]
    button.click().run()
    assert not app.error


def test_what_does_not_depend_on_the_sequence_is_marked_at_the_real_one() -> None:
    words = said(open_app("sweep.py", x="sequence_length", sequence_length="100"))
    assert f"Doubled to 200: {number(real())} → {number(real())} parameters" in words


def test_a_map_of_one_dimension_gets_another_one_with_its_own_ends() -> None:
    app = open_app("sweep.py", sweep="map", x="hidden_size", y="hidden_size")
    assert "↑ L = 13" in [button.label for button in app.button]


def test_another_dimension_has_other_ends() -> None:
    app = open_app("sweep.py", x_from="512", x_to="1024")
    app.selectbox(key="x").set_value("num_hidden_layers").run()
    assert app.number_input(key="x_from").value is None
    assert app.number_input(key="x_to").value is None
    assert not app.error


def test_the_usual_ranges_hold_every_slider() -> None:
    assert set(RANGES) == set(SWEPT)


def test_the_present_model_is_always_within_the_usual_range() -> None:
    app = open_app("sweep.py", x="num_hidden_layers", num_hidden_layers="150")
    assert app.number_input(key="x_to").placeholder == "192"
    assert open_app("sweep.py").number_input(key="x_to").placeholder == "2,048"


def test_numbers_on_charts_are_short() -> None:
    assert short(109_482_240, "parameters") == "109.5M"
    assert short(1_000_000_000, "parameters") == "1B"
    assert short(22_348_431_360, "FLOPs") == "22.35 GFLOPs"
    assert short(500_000_000, "bytes") == "500 MB"


def test_published_models_have_short_names() -> None:
    assert _name("bert-base-uncased") == "bert-base"
    assert _name("all-MiniLM-L6-v2") == "MiniLM-L6"
    assert _name("bert_uncased_L-2_H-128_A-2") == "Tiny"
    assert _name("bert_uncased_L-12_H-128_A-2") == ""


def test_an_end_that_is_not_possible_leaves_the_other() -> None:
    said = [str(error.value) for error in open_app("sweep.py", x_from="5000", x_to="10").error]
    assert any("x to 10 is invalid" in text for text in said)
    assert any("x from 5,000 must be below x to 64" in text for text in said)


def test_few_points_are_explained() -> None:
    few = open_app("sweep.py", hidden_size="800", num_attention_heads="10")
    assert any("Only multiples of 400" in caption.value for caption in few.caption)
    assert not any("Only multiples" in caption.value for caption in open_app("sweep.py").caption)
