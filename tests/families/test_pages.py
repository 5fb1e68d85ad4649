"""Every page opens with every family, and names its class and its own fields."""

import pytest

from bertcalc.families import FAMILIES
from pages.ui.shell.navigation import PAGES
from tests.examples import sampled
from tests.pages.apptest import open_app, texts
from tests.pages.places import said


@pytest.mark.parametrize(
    ("family", "page"), sampled([(family, page) for family in FAMILIES if family != "bert" for page in PAGES], 9)
)
def test_a_page_comes_up(family: str, page: str) -> None:
    found = FAMILIES[family]
    architecture = found.classes[1].name
    app = open_app(page and f"{page}.py", preset=next(iter(found.presets)), architecture=architecture)
    assert not texts(app)
    if page != "memory":  # this page does not simulate every family
        assert not app.error, app.error[0].value
    assert any(architecture in text for _place, text in said(app))
