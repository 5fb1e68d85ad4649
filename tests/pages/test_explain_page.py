"""The page that explains why a number is different."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from bertcalc.presets import PRESETS, PUBLISHED
from pages.ui.check.terms import EXAMPLES, TERMS
from pages.ui.check.total import NUMBERS
from tests.pages.apptest import open_app


def cells(app: AppTest) -> list[list[str]]:
    """The rows of all tables, as they are written."""
    tables: Any = app.table
    return [[str(cell) for cell in row] for table in tables for row in table.value.to_numpy().tolist()]


def click(app: AppTest, label: str) -> AppTest:
    [button] = [button for button in app.button if button.label == label]
    button.click().run()
    assert not app.exception
    return app


def test_what_rounds_to_110_million() -> None:
    rows = cells(open_app("explain.py"))
    assert ["109,514,298", "`BertForMaskedLM` · decoder tied  \n`BertLMHeadModel` · decoder tied"] in rows
    assert ["110,106,428", "`BertForPreTraining` · decoder tied"] in rows
    assert ["**109,482,240**", "`BertModel` · with pooler"] in rows


@pytest.mark.parametrize("published", PUBLISHED[::4])
def test_a_published_total_is_recognised(published: Any) -> None:
    app = open_app("explain.py", preset=published.preset, number=f"{published.parameters:,}")
    assert "Exactly a known count" in app.success[0].value
    assert any(published.architecture in row[1] for row in cells(app))


def test_a_slip_is_said_with_its_formula_and_comes_out() -> None:
    app = open_app("explain.py", number="109,089,024")  # without the 512 positions of 768
    assert app.info[0].value == "One slip explains it exactly."
    rows = cells(app)
    assert rows[0][2] == "109,482,240"
    assert rows[1] == ["the position embeddings are left out", r"$- H P = - 768 \cdot 512$", "-393,216"]
    assert rows[2][2] == "**109,089,024**"


def test_write_up_004_as_a_total() -> None:
    app = click(open_app("explain.py"), "75,641,856")
    assert app.session_state["preset"] == "bert-base-chinese"
    assert "3 slips together" in app.info[0].value
    assert "3 other explanations are equally short" in [expander.label for expander in app.expander]


def test_write_up_004_term_by_term() -> None:
    app = click(open_app("explain.py", explain="terms"), "a config.json in formulas")
    rows = cells(app)
    assert "= -36,864" in rows[1][3]
    assert "= -25,952,256" in rows[1][3]
    assert "= -46,080" in rows[2][3]
    assert ["your terms together", "75,641,856"] in rows
    assert any(row[1] == "+590,592" for row in rows)
    assert rows[-1][1] == "**102,267,648**"


@pytest.mark.parametrize("name", ["a walk layer by layer", "a notebook of tensors"])
def test_examples_that_come_out_right(name: str) -> None:
    app = click(open_app("explain.py", explain="terms"), name)
    assert app.success[0].value.startswith("Every term is right")
    assert all(":material/check_circle:" in row[2] for row in cells(app))


def test_the_inventory_comes_out_right() -> None:
    app = click(open_app("explain.py", explain="terms"), "an inventory of modules")
    assert [row[2] for row in cells(app)] == [":material/check_circle: a number of modules"] * 4


def test_the_count_that_people_write_first_fits_any_model() -> None:
    app = open_app("explain.py", explain="terms", preset="bert-large-cased")
    rows = cells(app)
    assert rows[-1][1] == "**333,579,264**"
    assert app.text_area[0].value == TERMS


def test_what_cannot_be_read_is_said_and_the_last_number_stays() -> None:
    app = open_app("explain.py", number="109,514,298")
    app.text_input(key="number").set_value("a lot").run()
    assert not app.exception
    assert '"a lot"' in app.error[0].value
    assert any("109,514,298" in caption.value for caption in app.caption)
    assert any("BertForMaskedLM" in row[1] for row in cells(app))


def test_bytes_are_no_slip_where_a_known_count_rounds_to_them() -> None:
    app = open_app("explain.py", number="437.9 MB")
    assert any(row[0] == "**109,482,240**" for row in cells(app))
    assert not app.info


def test_what_a_rounded_number_may_mean_is_said_where_nothing_rounds_to_it() -> None:
    app = open_app("explain.py", number="72.1 MB", preset="bert-base-chinese")
    [low, high] = next(row[1] for row in cells(app) if "1,024" in row[0]).split(" – ")
    assert int(low.replace(",", "")) <= 75_641_856 <= int(high.replace(",", ""))


def test_another_published_model_is_named_and_can_be_taken() -> None:
    app = open_app("explain.py", number="335,141,888")
    assert "bert-large-uncased" in app.success[0].value
    click(app, "Take bert-large-uncased")
    assert "Exactly a known count, as" in app.success[0].value
    assert app.session_state["hidden_size"] == 1024


def test_what_nothing_explains_is_said_honestly() -> None:
    app = open_app("explain.py", number="123,456,789")
    assert "No known count" in app.warning[0].value


def test_a_long_text_in_the_link_is_refused() -> None:
    app = open_app("explain.py", number="1" * 100, terms="a\n" * 3000)
    assert {text.value.split(" ")[0] for text in app.text} == {"number", "The"}


@settings(max_examples=25)
@given(st.text(max_size=60), st.text(max_size=200))
def test_no_text_ends_in_a_traceback(number: str, lines: str) -> None:
    for view in ("total", "terms"):
        app = open_app("explain.py", explain=view)
        if view == "total":
            app.text_input(key="number").set_value(number).run()
        else:
            app.text_area(key="terms").set_value(lines).run()
        assert not app.exception


def test_examples_are_of_presets() -> None:
    assert {example.preset for example in EXAMPLES.values()} | set(filter(None, NUMBERS.values())) <= set(PRESETS)


@pytest.mark.parametrize("number", ["417.6 MB", "417.6 MiB", "208.8 MB"])  # 109,482,240 x 4 or 2, over 1,024^2
def test_bytes_that_were_divided_by_powers_of_two_are_recognised(number: str) -> None:
    assert any(row[0] == "**109,482,240**" for row in cells(open_app("explain.py", number=number)))


def test_a_published_model_that_rounds_to_the_number_is_named_and_can_be_taken() -> None:
    app = open_app("explain.py", number="340M")
    assert "bert-large-uncased" in app.success[0].value
    app = click(app, "Take bert-large-uncased")
    assert any("335,141,888" in row[0] for row in cells(app))


def test_what_was_typed_is_quoted_as_it_is() -> None:
    said = open_app("explain.py", number="[click](https://example.org)").error[0].value
    assert "](" not in said
    assert "click" in said
