"""The requests of a browser with an empty cache."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from pages.ui.shell.navigation import PAGES
from tests.browser.look import settled
from tests.examples import sampled


@pytest.mark.parametrize("address", sampled([*PAGES], 4))
def test_it_asks_for_the_server_once_and_has_the_files_when_it_draws(
    browser: Browser, server: str, address: str
) -> None:
    """The server's endpoints are not below the address of a page, except of the first page."""
    with browser.new_context() as context:
        page = context.new_page()
        paths: list[str] = []
        page.on("request", lambda request: paths.append(urlsplit(request.url).path))
        page.goto(f"{server}/{address}")
        settled(page)
        files = page.evaluate(
            "() => performance.getEntriesByType('resource').map((entry) => [entry.initiatorType, entry.name])"
        )
    asked = [path for path in paths if "_stcore" in path]
    assert asked == ["/_stcore/health", "/_stcore/host-config"]
    # Scripts that the page does not preload are requested by another script.
    late = [urlsplit(name).path for kind, name in files if kind == "script" and "/static/js/" in name]
    assert [path for path in late if not path.startswith("/static/js/index.")] == []
    # A style sheet that only a script requests would style the page after it is drawn.
    assert {kind for kind, name in files if name.endswith(".css")} == {"link"}
