// Tells the server that the browser has drawn the page (see __init__.py).

export default function ({ data, setStateValue }) {
  if (data.isDrawn) return () => {};
  const timer = setTimeout(() => setStateValue("is_drawn", true), 1000);
  return () => clearTimeout(timer);
}
