// The last component of a page. It passes each part of its data to the script that needs this part.

export default function ({ data, setStateValue, setTriggerValue }) {
  const leave = [keepValues(data.kept, setStateValue), followTheme(data.theme, setStateValue)];
  showLive(data.live, setTriggerValue);
  dispatchEvent(new CustomEvent("bertcalc-drawn", { detail: data.drawn })); // the panel now sends its queued events
  return () => leave.forEach((end) => end());
}
