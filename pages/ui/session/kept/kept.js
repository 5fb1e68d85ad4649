// Keep the server's values. When the connection is lost, they become part of the next message, which may start a new
// session. They remain part of all later messages, because removing them would need another message, for which other
// controls may not be ready.
const DOWNLOADS = "[data-testid=stDownloadButton]";
const STORED = "bertcalc texts";
const tab = storage();
let values = {};
let isReloaded = performance.getEntriesByType("navigation")[0]?.type !== "navigate"; // false if a link was opened

function storage() {
  try {
    return window.sessionStorage;
  } catch {
    return null; // a browser can block the storage if another site shows the app in a frame
  }
}

// After a reload, send the texts of the tab if the new session lacks any of them; otherwise store the session's texts.
function keepTexts(texts, setStateValue) {
  const stored = tab?.getItem(STORED) ?? "{}";
  const isToSend = isReloaded && Object.keys(JSON.parse(stored)).some((name) => !(name in texts));
  isReloaded = false;
  if (isToSend) setStateValue("reloaded", `{"kept":{"texts":${stored}}}`);
  else tab?.setItem(STORED, JSON.stringify(texts));
}

function keepValues(kept, setStateValue) {
  values = kept;
  const app = document.querySelector(".stApp");
  app.keeper ??= watch(app);
  app.keeper.set = setStateValue;
  keepTexts(kept.texts ?? {}, setStateValue);
  return () => app.keeper?.close();
}

function watch(app) {
  let wasConnected = true;
  const observer = new MutationObserver(() => {
    const isConnected = app.dataset.testConnectionState === "CONNECTED";
    // A download button does not request a run, and a new session does not have the button. So request a run now.
    const isNeeded = isConnected ? document.querySelector(DOWNLOADS) : wasConnected;
    if (isConnected !== wasConnected && isNeeded) keeper.set("kept", values);
    wasConnected = isConnected;
  });
  const keeper = {
    close() {
      observer.disconnect();
      delete app.keeper;
    },
  };
  observer.observe(app, { attributes: true, attributeFilter: ["data-test-connection-state"] });
  return keeper;
}
