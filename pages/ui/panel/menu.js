// What Streamlit's own navigation lacks: on a phone the list of pages closes when a page is chosen, and the labels that
// Streamlit itself writes are translated into the language of the page.

let words = {};
const find = (id) => document.querySelector(`[data-testid=${id}]`);

function write(node, text) {
  if (node && node.nodeValue !== text) node.nodeValue = text; // the node stays: React writes into it
}

function name(button, text) {
  if (button && button.ariaLabel !== text) button.ariaLabel = text;
}

function sayWords() {
  if (!words.menu) return;
  name(find("stExpandSidebarButton"), words.menu);
  name(document.querySelector("[data-testid=stSidebarCollapseButton] button"), words.close);
  write(find("stSkipToContent")?.firstChild, words.skip);
  write(document.querySelector(".rc-overflow-item-rest p")?.firstChild, words.more);
}

new MutationObserver(sayWords).observe(document.body, { childList: true, characterData: true, subtree: true });
document.addEventListener("click", (event) => {
  if (innerWidth < 768 && event.target.closest?.("[data-testid=stSidebarNavLink]")) {
    document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
  }
});

// Streamlit stores that the list was open, and would open it on the next visit, over the whole screen of a phone, also
// of one that was turned in between. On a wide screen the list is open by default.
addEventListener("pagehide", () => {
  const names = Object.keys(localStorage).filter((name) => name.startsWith("stSidebarCollapsed"));
  const open = names.filter((name) => innerWidth < 768 || localStorage[name] === "false");
  open.forEach((name) => localStorage.removeItem(name));
});

function sayIn(given) {
  words = given;
  document.documentElement.lang = given.lang; // the page that was served has the language of its link
  sayWords();
}
