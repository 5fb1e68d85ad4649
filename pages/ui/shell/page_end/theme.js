// Redraw the page when the reader chooses a different theme, and make all pages open in this theme. Streamlit 1.67 does not
// rerun the page after a choice in its menu, so charts would keep their colors. It stores the choice only for this
// page's URL (stActiveTheme-/layers-v2 in the local storage).
let theme = null; // the current page, the paths of all pages, and the observer

function followTheme({ page, pages }, setStateValue) {
  const mine = (theme ??= watchTheme());
  Object.assign(mine, { page, pages, redraw: (paper) => setStateValue("paper", paper) });
  return () => {
    mine.observer.disconnect();
    if (theme === mine) theme = null;
  };
}

function watchTheme() {
  const app = document.querySelector("[data-testid=stApp]");
  const paper = () => getComputedStyle(app).backgroundColor;
  let before = paper();
  const observer = new MutationObserver(() => {
    if (paper() === before) return;
    before = paper();
    theme.redraw(before);
    setTimeout(storeTheme);
  });
  observer.observe(app, { attributeFilter: ["class"] });
  return { observer };
}

function storeTheme() {
  if (!theme) return;
  const { pathname } = location;
  const root = pathname.slice(0, pathname.length - theme.page.length);
  const chosen = localStorage.getItem(`stActiveTheme-${pathname}-v2`);
  if (chosen) theme.pages.forEach((page) => localStorage.setItem(`stActiveTheme-${root}${page}-v2`, chosen));
}
