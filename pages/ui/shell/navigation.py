"""The list of all pages, with their sections, titles and headings. Add a new page to ``SECTIONS``."""

from copy import copy
from functools import lru_cache
from typing import Literal, NamedTuple

import streamlit as st

from bertcalc.text import N_
from pages.ui.shell.i18n import LANGUAGES, _, catalogue


class PageEntry(NamedTuple):
    """A page: its title in the navigation, its heading, a line on its purpose, and its icon.

    ``follows_sliders`` says whether the page shows the sidebar's model, and ``is_listed`` whether the navigation lists
    the page; only links open an unlisted page. ``takes_steps`` says whether the page's figures include the steps of the
    Change page.
    """

    title: str
    heading: str
    line: str
    icon: str | None = None
    follows_sliders: bool = True
    is_listed: bool = True
    takes_steps: bool = False


# Keyed by navigation section, then by path, which is also the file name; the first page's path is empty.
SECTIONS: dict[str, dict[str, PageEntry]] = {
    "": {
        # The first page draws a live sentence instead of the line.
        "": PageEntry(N_("Parameters"), N_("Why does BERT have 110 million parameters?"), ""),
        "layers": PageEntry(
            N_("Step by step"),
            N_("The model, step by step"),
            N_("Walk from the token ids to the output, with the input, the output and the parameters of each step."),
        ),
        "structure": PageEntry(
            N_("Modules"),
            N_("What the model is made of"),
            N_("The modules as PyTorch prints them, every tensor by name, and what is trained when parts are frozen."),
        ),
        "outputs": PageEntry(
            N_("In and out"),
            N_("What goes in, and what comes out"),
            N_("The arguments of a forward pass, and the tensors that it returns: their names, shapes and bytes."),
        ),
        "configuration": PageEntry(
            N_("Configuration"),
            N_("What each field of the configuration does"),
            N_("The meaning of each field, its possible values, and its effects on the model."),
        ),
        "compute": PageEntry(
            N_("Compute"),
            N_("How many operations does the model take?"),
            N_("The FLOPs of a forward pass, step by step; other ways to count them; and how long training takes."),
        ),
        "memory": PageEntry(
            N_("Memory"),
            N_("How much memory does the model need?"),
            N_("Bytes of weights, gradients, optimizer states and activations, and what fits on a device."),
        ),
    },
    N_("Import"): {
        "bring": PageEntry(
            N_("Bring anything"),
            N_("What do you have?"),
            N_(
                "Paste a number, a text, a printed model or a config.json, name a model on the Hub, or open a file: "
                "bertcalc reads, counts and checks it."
            ),
            ":material/upload_file:",
            follows_sliders=False,
        ),
        "any_model": PageEntry(
            N_("Any model"),
            N_("What is the formula of any other model?"),
            N_("Choose a model type or paste a config.json. The formula is derived from the real class and verified."),
            ":material/travel_explore:",
        ),
    },
    N_("Explore"): {
        "change": PageEntry(
            N_("Change"),
            N_("What does a change save?"),
            N_("LoRA, a different vocabulary, fewer layers, quantization: how each step changes parameters and bytes."),
            ":material/tune:",
            takes_steps=True,
        ),
        "compare": PageEntry(
            N_("Compare"),
            N_("Where does the difference come from?"),
            N_("Compare models side by side, and break the difference between any two down by field."),
            ":material/compare_arrows:",
            takes_steps=True,
        ),
        "sweep": PageEntry(
            N_("Sweep"),
            N_("What happens when a size grows?"),
            N_("Sweep one or two sizes over a range to see how parameters, compute or memory grow."),
            ":material/show_chart:",
        ),
        "design": PageEntry(
            N_("Design"),
            N_("Which models fit a budget?"),
            N_("Set a budget of parameters, FLOPs or bytes, and find the models that come closest."),
            ":material/straighten:",
        ),
    },
    N_("Check"): {
        "verify": PageEntry(
            N_("Verify"),
            N_("Does the real model agree?"),
            N_(
                "This page builds the Hugging Face model with the same configuration and compares the two tensor by "
                "tensor."
            ),
            ":material/verified:",
        ),
        "explain": PageEntry(
            N_("Why is my number different?"),
            N_("Why is my number different?"),
            N_("Enter your number, or your terms one by one, to see which count it is or which mistake leads to it."),
            ":material/troubleshoot:",
            is_listed=False,
            takes_steps=True,
        ),
        "tools": PageEntry(
            N_("Other tools"),
            N_("What do other tools count?"),
            N_("Other tools' formulas, evaluated for the same model, and why each gives a different number."),
            ":material/calculate:",
        ),
    },
    N_("Teach"): {
        "lecture": PageEntry(
            N_("Lecture"),
            N_("Lecture"),
            N_("Screens for a projector, with the numbers of a model that you can change as you speak."),
            ":material/co_present:",
        ),
        "exercises": PageEntry(
            N_("Exercises"),
            N_("Count it yourself"),
            N_("A worksheet with one model per question. A correct answer reveals the worked solution."),
            ":material/edit_note:",
            follows_sliders=False,
        ),
    },
}
PAGES = {path: entry for entries in SECTIONS.values() for path, entry in entries.items()}

# README.md repeats this sentence, and the heading of the first page, at its beginning.
DESCRIPTION = N_(
    "Every count as a formula, worked out with your numbers, and checked tensor by tensor against the Hugging Face "
    "model."
)


def about(path: str, language: str) -> tuple[str, str, str] | None:
    """The texts of a link preview: the language, the page's heading and its purpose; None if there is no such page."""
    language = language if language in LANGUAGES else LANGUAGES[0]
    entry, translate = PAGES.get(path), catalogue(language).gettext
    return entry and (language, translate(entry.heading), translate(entry.line or DESCRIPTION))


def navigation() -> st.Page:
    """Draw the navigation in the session's language; return the requested page."""
    return st.navigation(
        {
            # Copy the cached pages for this run, because st.navigation modifies the page that may run (Streamlit 1.67).
            _(section): [
                copy(_page(path, _(entry.title), entry.icon, entry.is_listed)) for path, entry in entries.items()
            ]
            for section, entries in SECTIONS.items()
        },
        position="top",
        expanded=True,  # affects only phones, where the list is in the sidebar
    )


def section_mark(path: str) -> str:
    """A CSS rule that highlights the section of the page at ``path`` in the navigation; "" for a page without section.

    Streamlit 1.67 highlights only the page itself, which is hidden in the closed menu of its section.
    """
    pages, *sections = SECTIONS.values()
    for position, entries in enumerate(sections, len(pages) + 1):
        if path in entries:
            section = f'[data-testid="stTopNav"] > :nth-child({position}) > [data-testid="stTopNavSection"]'
            return f"{section} {{ background: rgb(141 173 206 / 25%); font-weight: 600; }}"
    return ""


def page_at(path: str) -> st.Page:
    """The page at ``path``, for ``st.page_link``.

    The page has no icon, because the link would show it. Pass this page instead of a file name, which Streamlit would
    look up on the disk in every run.
    """
    entry = PAGES[path]
    return _page(path, _(entry.title), None, entry.is_listed)


# Cached, because st.Page looks up its file on the disk and every run needs all pages.
@lru_cache(maxsize=256)
def _page(path: str, title: str, icon: str | None, is_listed: bool) -> st.Page:
    visibility: Literal["visible", "hidden"] = "visible" if is_listed else "hidden"
    return st.Page(f"{path or 'parameters'}.py", title=title, icon=icon, default=not path, visibility=visibility)
