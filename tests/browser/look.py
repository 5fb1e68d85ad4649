"""Where things are on the page, as a person finds them: by role and by name."""

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page, expect

# The pages that have the sidebar, by their addresses.
PAGES = (
    "",
    "layers",
    "structure",
    "outputs",
    "configuration",
    "compute",
    "memory",
    "compare",
    "sweep",
    "design",
    "bring",
    "verify",
    "explain",
    "tools",
    "exercises",
)


def total(page: Page) -> Locator:
    """The large number."""
    return page.get_by_test_id("stMetricValue").first


def slider(page: Page, field: str) -> Locator:
    """The slider of a field."""
    return page.get_by_role("slider", name=field)


def number(page: Page, field: str) -> Locator:
    """The number field of a field."""
    return page.get_by_role("spinbutton", name=field)


def ready(page: Page) -> None:
    """Wait until the Parameters page is drawn to its end."""
    expect(page.get_by_text("Tensors: name, shape").or_(page.get_by_text("张量：名称"))).to_be_visible()
    settled(page)


def settled(page: Page) -> None:
    """Wait until the script has run and the fonts are there: KaTeX's are narrower than what stands in for them."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.evaluate("() => document.fonts.ready.then(() => true)")


def bottom(things: Locator) -> float:
    """The lowest line of all of them, in pixels."""
    boxes = [thing.bounding_box() for thing in things.all()]
    return max(box["y"] + box["height"] for box in boxes if box)


def query(page: Page) -> dict[str, str]:
    """What the link says."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query).items()}


def open_page(page: Page, section: str, name: str) -> None:
    """Choose a page from a section of the navigation."""
    page.get_by_test_id("stHeader").get_by_text(section, exact=True).click()
    page.get_by_role("menuitem", name=name).click()
