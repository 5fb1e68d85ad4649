// The last component of a page: hands each part of its data to the script that needs the part.

export default function ({ data, setStateValue, setTriggerValue }) {
  const leave = [keepValues(data.kept, setStateValue), followTheme(data.theme, setStateValue)];
  showLive(data.live, setTriggerValue);
  dispatchEvent(new CustomEvent("bertcalc-drawn", { detail: data.drawn })); // the panel then sends its held events
  return () => leave.forEach((end) => end());
}
