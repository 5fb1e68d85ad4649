"""A made-up family, and a program that checks every page for it."""

import json
from dataclasses import replace
from typing import NoReturn

from bertcalc import BertConfig, Config
from bertcalc.families import bert, register
from bertcalc.model.family import Class, Family, Hidden
from bertcalc.model.trace import Trace

MADE_UP = "MadeUpForTokenClassification"


class MadeUpConfig(BertConfig):
    """BERT's fields under another name."""


def made_up(**changes: object) -> Family:
    """Return a family with BERT's base model and its own head: a second classifier after the first."""

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
    return replace(family, **changes)  # type: ignore[arg-type]  # a test may break any part


def lacks(*_asked: object, **_named: object) -> NoReturn:
    """Raise the error of a class that transformers lacks.

    See test_a_class_that_transformers_lacks_is_no_class_to_compare_with.
    """
    raise NotImplementedError(MADE_UP)


def shown(total: int, flops: int) -> dict[str, tuple[str, dict[str, str]]]:
    """Return a text about the made-up model that only a page's body contains, and the view's parameters.

    Results are keyed by the page's address. Sidebar, title and link name the class and its preset on every page.
    """
    return {
        "": (f"Parameters in {MADE_UP}", {}),
        "layers": (f"So far 0 of {total:,}", {}),
        "structure": (f"{MADE_UP}(</code>", {}),
        "outputs": ("1 × 128 × 3", {}),
        "configuration": (f"recounting {MADE_UP} with", {}),
        "compute": (f"{flops:,}", {}),
        "memory": (f"{4 * total:,}", {"memory": "weights"}),
        "compare": (f"{MADE_UP} instead of MadeUpModel", {"models": "made-up-base present"}),
        "sweep": (f"{total:,} → ", {}),
        "design": (f"candidates ({MADE_UP}, ", {}),
        "bring": (f"{total:,}", {}),  # for its config.json, which is pasted there
        # For classes without a family: nothing on this page is about the made-up family.
        "any_model": ("Model type", {}),
        "change": (f"{total:,}", {}),
        "verify": (f"has no {MADE_UP}: ", {}),
        "explain": (f"**{total:,}**", {}),
        "tools": (f"{MADE_UP} has {total:,} parameters", {}),
        "lecture": (f"Parameters in {MADE_UP}", {"screen": "whole-model"}),
        "exercises": (f"How many does {MADE_UP} have?", {"exercise": "5"}),
    }


def main() -> None:
    """Print whether each page shows the text about the made-up model that only its body contains.

    Results are keyed by address. The first line is for pages with their bodies, the second for pages without.
    """
    register(made_up())  # before the controls are declared, since they list the names of all classes and presets
    from streamlit import Page

    from bertcalc import build, forward_flops
    from bertcalc.families.hf_json import write
    from bertcalc.model.model import Model
    from bertcalc.processes.worker import WORKER
    from pages.ui.shell.navigation import PAGES
    from tests.pages.apptest import open_app, texts, without_marks
    from tests.pages.places import said

    WORKER.listen = lacks  # type: ignore[method-assign]  # saves importing PyTorch
    config = MadeUpConfig.default()
    model = build(config, MADE_UP)
    only = shown(model.num_parameters(), forward_flops(model, 1, 128))

    def nothing(self: Page) -> None:
        """Do nothing, in place of a page's body."""

    def says(page: str) -> bool:
        wanted, view = only[page]
        app = open_app(page and f"{page}.py", preset="made-up-base", architecture=MADE_UP, **view)
        for area in app.text_area if page == "bring" else ():
            area.set_value(write(Model(config, MADE_UP))).run()
        words = (without_marks(text).replace("\N{NO-BREAK SPACE}", " ") for _place, text in said(app))
        return any(wanted in text for text in words) and not texts(app)

    print(json.dumps({page: says(page) for page in PAGES}))
    Page.run = nothing  # type: ignore[method-assign]
    print(json.dumps({page: says(page) for page in PAGES}))
