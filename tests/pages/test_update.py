"""Updating the catalogues: long messages have ids, with which an edited message keeps its translation."""

from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from pages.ui.locale import update
from pages.ui.locale.update import LONG, extract_python
from pages.ui.shell.i18n import LOCALE
from tests.pages.test_i18n import OTHERS, in_catalogue

LONG_TEXT = "The attention of one layer has four matrices of the hidden size squared. " * 2
EDITED = LONG_TEXT.replace("four", "4")


def catalog_of(*texts: str, scope: str = "show") -> Catalog:
    """The catalogue of a page with a function that translates these messages."""
    calls = "\n".join(f"    _({text!r})" for text in texts)
    catalog = Catalog(locale="zh")
    for _line, _function, text, comments in extract_python(
        BytesIO(f"def {scope}():\n{calls}\n".encode()), {"_": None}, (), {}
    ):
        catalog.add(text, auto_comments=comments)
    return catalog


def translated(catalog: Catalog, **texts: str) -> Catalog:
    for message in catalog:
        if message.id:
            message.string = texts.get(message.id, "译文")
    return catalog


def strings(catalog: Catalog) -> dict[str, str]:
    return {str(message.id): str(message.string or "") for message in catalog if message.id}


def test_an_edited_long_message_keeps_its_translation() -> None:
    catalog = translated(catalog_of(LONG_TEXT, "Short"))
    update.update(catalog, catalog_of(EDITED, "Brief"))
    assert strings(catalog) == {EDITED: "译文", "Brief": ""}


def test_a_message_that_moves_keeps_its_translation_and_gives_it_to_no_other() -> None:
    catalog = translated(catalog_of(LONG_TEXT))
    update.update(catalog, catalog_of(EDITED, LONG_TEXT))
    assert strings(catalog) == {EDITED: "", LONG_TEXT: "译文"}
    update.update(catalog, catalog_of(LONG_TEXT, scope="draw"))
    assert strings(catalog) == {LONG_TEXT: "译文"}


@pytest.mark.parametrize("language", OTHERS)
def test_every_long_message_has_an_id_of_its_own(language: str) -> None:
    ids = [tuple(message.auto_comments) for message in in_catalogue(language) if len(str(message.id)) >= LONG]
    assert all(ids)
    assert len(ids) == len(set(ids))


def test_make_messages_changes_no_file_that_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogues have each message of the source with its comments, and nothing else."""
    written = {}
    monkeypatch.setattr(Path, "write_bytes", lambda path, data: written.update({path: data}))
    update.main()
    assert written == {path: path.read_bytes() for path in LOCALE.glob("*.po")}
    assert {path.stem for path in written} == {*OTHERS}
