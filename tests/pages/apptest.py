"""The app without a browser."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]


def open_app(page: str = "", **link: str) -> AppTest:
    """The app as the first request of a session sees it, at a page and with the parameters of a link."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=60)
    app.query_params.update(link)
    app.run()
    if page:
        app.switch_page(page).run()
    assert not app.exception
    return app


def total(app: AppTest) -> str:
    """The headline of the Parameters page."""
    return str(app.metric[0].value)


def texts(app: AppTest) -> list[str]:
    """What the page says about a link."""
    return [str(text.value) for text in app.text]
