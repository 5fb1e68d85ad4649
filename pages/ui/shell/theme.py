"""The appearance of the page, light or dark: its colors, how it changes, and how it prints."""

from collections.abc import Collection

import streamlit as st

from bertcalc.charts.colors import BACKGROUND, COLORS
from bertcalc.model.totals import Component


def appearance() -> str:
    """The appearance of the page in the reader's browser: light or dark."""
    return "dark" if st.context.theme.type == "dark" else "light"


def colors() -> dict[Component, str]:
    return COLORS[appearance()]


# When the reader chooses a theme in Streamlit's menu, Streamlit does not run the page again, so that charts keep their
# colors, and stores the choice only for this page's address (stActiveTheme-/layers-v2 in the local storage, 1.67).
_WATCH = st.components.v2.component(
    "bertcalc_theme",
    js="""
export default ({ data, setStateValue }) => {
  const app = document.querySelector("[data-testid=stApp]");
  const paper = () => getComputedStyle(app).backgroundColor;
  let before = paper();
  const watch = new MutationObserver(() => {
    if (paper() === before) return;
    before = paper();
    setStateValue("paper", before);
    setTimeout(keep);
  });
  const keep = () => {
    const { pathname } = location;
    const root = pathname.slice(0, pathname.length - data.page.length);
    const chosen = localStorage.getItem(`stActiveTheme-${pathname}-v2`);
    if (chosen) data.pages.forEach((page) => localStorage.setItem(`stActiveTheme-${root}${page}-v2`, chosen));
  };
  watch.observe(app, { attributeFilter: ["class"] });
  return () => watch.disconnect();
};
""",
)


def follow(page: str, pages: Collection[str]) -> None:
    """Redraw this page when the reader chooses another theme, and open all pages in it."""
    _WATCH(key="theme", data={"page": page, "pages": list(pages)}, on_paper_change=lambda: None)


def paper() -> str:
    """The style of the page's color, --paper; a dark page is inverted for print: hues stay, light becomes dark."""
    inverted = (
        " @media print {"
        " html, body { background: #fff !important; }"
        " .stApp { background: none !important; filter: invert(1) hue-rotate(180deg) contrast(1.2); }"
        " }"
    )
    return f":root {{ --paper: {BACKGROUND[appearance()]}; }}{inverted if appearance() == 'dark' else ''}"
