// The last component of a page: it hands each part of its data to the script that it is for.

export default function ({ data, setStateValue, setTriggerValue }) {
  const leave = [keepValues(data.kept, setStateValue), followTheme(data.theme, setStateValue)];
  showLive(data.live, setTriggerValue);
  dispatchEvent(new CustomEvent("bertcalc-drawn", { detail: data.drawn })); // the panel then sends what it holds back
  return () => leave.forEach((end) => end());
}
