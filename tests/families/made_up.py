"""A made-up family, and the program that looks for it on every page."""

import json
from dataclasses import replace
from typing import NoReturn

from bertcalc import BertConfig, Config
from bertcalc.families import bert, register
from bertcalc.family import Class, Family, Hidden
from bertcalc.forward.trace import Trace

MADE_UP = "MadeUpForTokenClassification"


class MadeUpConfig(BertConfig):
    """BERT's fields under another name."""


def made_up(**changes: object) -> Family:
    """A family of BERT's body with a head of its own: a second classifier after the first."""

    def head(t: Trace, c: Config, hidden: Hidden) -> None:
        t.output("logits", t.linear("last", t.linear("first", hidden.states, 5, role="dense"), 3, role="classifier"))

    cls = Class(MADE_UP, "token-classification", head, (*bert.TOKENS, "labels"))
    base = bert.FAMILY.classes[0]._replace(name="MadeUpModel")
    family = replace(
        bert.FAMILY,
        name="made-up",
        config=MadeUpConfig,
        classes=(base, cls),
        presets={"made-up-base": bert.FAMILY.presets["bert-base-uncased"]._replace(config=MadeUpConfig())},
    )
    return replace(family, **changes)  # type: ignore[arg-type]  # whatever a test wants to break


def lacks(*_asked: object, **_named: object) -> NoReturn:
    """What asking the real class comes to (test_a_class_that_transformers_lacks_is_no_class_to_compare_with)."""
    raise NotImplementedError(MADE_UP)


def main() -> None:
    """Print for each page, by its address, whether it comes up with the made-up class and names it."""
    register(made_up())  # before the controls are declared, which know all names of classes and presets
    from bertcalc.worker import WORKER
    from pages.ui.navigation import PAGES
    from tests.pages.apptest import open_app, texts
    from tests.pages.places import said

    WORKER.listen = lacks  # type: ignore[method-assign]  # nothing has to import PyTorch to say so
    found = {}
    for page in PAGES:
        app = open_app(page and f"{page}.py", preset="made-up-base", architecture=MADE_UP)
        found[page] = any(MADE_UP in text for _place, text in said(app)) and not texts(app)
    print(json.dumps(found))
