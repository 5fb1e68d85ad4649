// The parts of the page that draw live values themselves, such as charts. A part has the number of the run whose
// program its arguments belong to, and a function that draws the part with the arguments' present values.
const parts = (window.bertcalcParts ??= new Map());

function joinPart(key, owner, run, draw) {
  parts.set(key, { owner, run, draw });
}

// A component that is drawn again may have taken the place before the old component leaves.
function leavePart(key, owner) {
  if (parts.get(key)?.owner === owner) parts.delete(key);
}

// The data with the present value of each live text.
function presentData(data, value) {
  if (Array.isArray(data)) return data.map((part) => presentData(part, value));
  if (data === null || typeof data !== "object") return data;
  if (data.live) return value(data.live) ?? data.text;
  return Object.fromEntries(Object.entries(data).map(([name, part]) => [name, presentData(part, value)]));
}
