// Keep the server's values. When the connection is lost, they become part of the next message, which may start a new
// session. They remain part of all later messages, because removing them would need another message, for which other
// controls may not be ready.
const DOWNLOADS = "[data-testid=stDownloadButton]";
const STORED = "bertcalc kept";
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

// After a reload, send the tab's texts and answers if the new session lacks any of them; otherwise store the session's.
function keepInTab({ texts = {}, answers }, setStateValue) {
  const stored = JSON.parse(tab?.getItem(STORED) ?? '{"texts":{}}');
  const isLacking = Object.keys(stored.texts).some((name) => !(name in texts)) || (stored.answers && !answers);
  if (isReloaded && isLacking) setStateValue("reloaded", JSON.stringify({ kept: stored }));
  else tab?.setItem(STORED, JSON.stringify({ texts, answers }));
  isReloaded = false;
}

function keepValues(kept, setStateValue) {
  values = kept;
  const app = document.querySelector(".stApp");
  app.keeper ??= watch(app);
  app.keeper.set = setStateValue;
  keepInTab(kept, setStateValue);
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
