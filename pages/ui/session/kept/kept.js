// Hold the server's values. When the connection is lost, they become part of the next message, which may start a new
// session. They stay part of all later messages: removing them would take another message, for which other controls may
// not be ready.
const DOWNLOADS = "[data-testid=stDownloadButton]";
const STORED = "bertcalc texts";
const tab = storage();
let values = {};
let isReloaded = performance.getEntriesByType("navigation")[0]?.type !== "navigate"; // a link is opened as it is

function storage() {
  try {
    return window.sessionStorage;
  } catch {
    return null; // a browser may block the storage if another site shows the app in a frame
  }
}

// After a reload, send the tab's texts that the new session does not have; then store the session's texts.
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
    // A download button requests no run, and a new server does not know the button: so request a run at once.
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
