// Additions to Streamlit's front end. On a phone, the list of pages closes after the choice of a page. Escape closes a
// dialog that has lost the focus, or leaves projector view. A download button gets its focus back. Streamlit's own
// texts are translated.

let words = {};
// The elements in which Streamlit writes its own texts. ATTRIBUTES lists the attributes that contain such texts.
const PLACES = [
  ...["InputInstructions", "stMainMenu", "stMainMenuPopover", "stElementToolbar", "stTooltipContent", "stCode"],
  ...["stNumberInput", "stSelectbox", "stConnectionStatus", "stStatusWidget", "stDataFrameColumnMenu"],
].map((id) => `[data-testid=${id}]`);
const BOXES = [...PLACES, "[role=listbox]", "[role=dialog] > button", "[role=menu]"].join();
const ATTRIBUTES = ["aria-label", "title", "placeholder"];
const texts = new WeakMap(); // maps a node to Streamlit's English text and the shown text, for a change of language
const find = (id) => document.querySelector(`[data-testid=${id}]`);

function write(node, text) {
  if (node && node.nodeValue !== text) node.nodeValue = text; // keep the node, because React writes into it
}

function name(button, text) {
  if (button && button.ariaLabel !== text) button.ariaLabel = text;
}

function translated(english) {
  const text = english.trim();
  const [, keys, what] = text.match(/^Press (.*Enter) to (apply|submit form)$/) ?? [];
  if (keys) return words.texts[`Press Enter to ${what}`].replace("Enter", keys); // for a text area, the keys are Ctrl+Enter
  return text in words.texts ? english.replace(text, words.texts[text]) : english;
}

function translate(node) {
  const before = texts.get(node);
  const english = before?.shown === node.nodeValue ? before.english : node.nodeValue;
  const shown = translated(english);
  if (before || shown !== english) texts.set(node, { english, shown });
  write(node, shown);
}

function translateTexts() {
  for (const box of document.querySelectorAll(BOXES)) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) translate(walker.currentNode);
    for (const element of [box, ...box.querySelectorAll(ATTRIBUTES.map((name) => `[${name}]`).join())]) {
      ATTRIBUTES.map((name) => element.getAttributeNode(name)).filter(Boolean).forEach(translate);
    }
  }
}

function sayWords() {
  asked = 0;
  if (!words.menu) return;
  translateTexts();
  name(find("stExpandSidebarButton"), words.menu);
  name(document.querySelector("[data-testid=stSidebarCollapseButton] button"), words.close);
  write(find("stSkipToContent")?.firstChild, words.skip);
  write(document.querySelector(".rc-overflow-item-rest p")?.firstChild, words.more);
}

let asked = 0; // the pending animation frame, if any
const ask = () => (asked ||= requestAnimationFrame(sayWords));
new MutationObserver(ask).observe(document.body, { childList: true, characterData: true, subtree: true });
document.addEventListener("click", (event) => {
  if (innerWidth < 768 && event.target.closest?.("[data-testid=stSidebarNavLink]")) {
    document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
  }
});

// Streamlit stores that the list of pages was open. On the next visit, it would open the list over the whole screen of
// a phone, even if the phone was turned in between. On a wide screen, the list is open by default.
addEventListener("pagehide", () => {
  const names = Object.keys(localStorage).filter((name) => name.startsWith("stSidebarCollapsed"));
  const open = names.filter((name) => innerWidth < 768 || localStorage[name] === "false");
  open.forEach((name) => localStorage.removeItem(name));
});

function sayIn(menu) {
  words = menu;
  document.documentElement.lang = menu.lang; // the HTML from the server has the link's language instead
  sayWords();
}

// Streamlit 1.67 disables a download button while it makes the file, and may replace the button afterwards. The focus
// moves to the body or to the dialog, so keys no longer reach the button. This script returns the focus to the button,
// unless the reader has done something else. It polls with a timer, because an observer of the page missed the last
// change on a busy machine.
const DOWNLOAD = "[data-testid=stDownloadButton] button";
const LONGEST = 20_000; // ms to wait for a file
const RESTED = 30; // after this number of checks in a row, the focus is stable
let waiting;
const stopWaiting = () => clearInterval(waiting);
function giveBackTo(pressed) {
  const until = Date.now() + LONGEST;
  const label = pressed.innerText;
  let rested = 0;
  return () => {
    const button = [...document.querySelectorAll(DOWNLOAD)].find(({ innerText }) => innerText === label);
    const there = button && !button.disabled;
    rested = there && button === document.activeElement ? rested + 1 : 0;
    if (there) button.focus();
    if (rested > RESTED || Date.now() > until) stopWaiting();
  };
}
for (const input of ["keydown", "pointerdown"]) document.addEventListener(input, stopWaiting, true);
document.addEventListener(
  "click",
  ({ target }) => {
    stopWaiting();
    const pressed = target.closest?.(DOWNLOAD);
    if (pressed) waiting = setInterval(giveBackTo(pressed), 100);
  },
  true,
);
const LEAVES = ["[data-testid=stDialog] [role=dialog] > button", ".st-key-leave :is(a, button)"];
document.addEventListener("keydown", ({ key, defaultPrevented }) => {
  if (key !== "Escape" || defaultPrevented || document.activeElement !== document.body) return;
  LEAVES.map((button) => document.querySelector(button)).find(Boolean)?.click();
});
