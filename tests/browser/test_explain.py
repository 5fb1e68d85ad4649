"""The Explain page in a browser: typing, examples, links, and a screen of 1280 x 720."""

from playwright.sync_api import expect

from tests.browser.conftest import Look
from tests.browser.look import boxes, expect_query, query, settled


def test_a_typed_number_is_in_the_link_and_explained(look: Look) -> None:
    page = look("explain")
    field = page.get_by_role("textbox", name="Your number")
    expect(page.get_by_text("Known counts that round to your number")).to_be_visible()
    field.fill("109,089,024")
    field.press("Enter")
    expect(page.get_by_text("One miscount explains your number exactly.")).to_be_visible()
    expect(page.get_by_text("the position embeddings are left out")).to_be_in_viewport()
    expect_query(page, {"number": "109,089,024"})


def test_the_example_of_a_write_up_fits_the_screen(look: Look) -> None:
    page = look("explain?explain=terms")
    page.get_by_role("button", name="formulas with the values of a config.json").press("Enter")
    expect(page.get_by_text("the attention is counted in one layer only")).to_be_in_viewport()
    expect(page.get_by_text("the biases of the feed-forward network are left out")).to_be_in_viewport()
    settled(page)
    assert query(page)["preset"] == "bert-base-chinese"


def test_in_chinese(look: Look) -> None:
    page = look("explain?lang=zh&number=109,089,024")
    expect(page.get_by_text("位置嵌入")).to_be_visible()
    expect(page.get_by_text("miscount")).to_have_count(0)


def test_a_phone_shows_what_is_wrong_with_a_term(look: Look) -> None:
    page = look("explain?explain=terms")
    page.get_by_role("button", name="formulas with the values of a config.json").press("Enter")
    wrong = page.get_by_text("the attention is counted in one layer only")
    expect(wrong).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    for box in boxes(page.locator(".st-key-terms-table :is(th, td)")):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
