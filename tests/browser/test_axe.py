"""No page has a serious fault for people who see little, hear the page read, or use the keyboard: axe-core's rules."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.look import PAGES, settled

# Each page, two views that have other tables and bars, and what is made for the projector.
ADDRESSES = (*PAGES, "structure?view=parts", "memory?memory=fit", "lecture", "?present=1")

HEADINGS = ("page-has-heading-one", "heading-order", "empty-heading")  # how those who hear a page find their way


# In the dark only colours are different: the other rules would find the same again.
@pytest.mark.parametrize(("appearance", "options"), [("light", {}), ("dark", {"runOnly": ["color-contrast"]})])
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_page_has_a_serious_fault(
    visit: Open, page: Page, address: str, appearance: str, options: dict[str, list[str]]
) -> None:
    page.emulate_media(color_scheme=appearance)  # type: ignore[arg-type]  # parametrize gives str
    visit(address)
    expect(page.get_by_role("slider").last).to_be_attached()
    settled(page)
    page.wait_for_timeout(500)  # what appears does so by and by, and half-seen text has no contrast
    found = [
        (rule["id"], node["html"])
        for rule in Axe().run(page, options=options).response["violations"]
        if rule["impact"] in ("serious", "critical") or rule["id"] in HEADINGS
        for node in rule["nodes"]
    ]
    assert not found
