// The parts of the page that draw live values themselves, such as charts. A part has a run number, which identifies the
// program that its arguments refer to, and a function that draws it with the current values of the arguments.
const parts = (window.bertcalcParts ??= new Map());

function joinPart(key, owner, run, draw) {
  parts.set(key, { owner, run, draw });
}

// Do nothing if a new component has already taken the key, which can happen before the old component leaves.
function leavePart(key, owner) {
  if (parts.get(key)?.owner === owner) parts.delete(key);
}

// The data with each live text replaced by its current value.
function presentData(data, value) {
  if (Array.isArray(data)) return data.map((part) => presentData(part, value));
  if (data === null || typeof data !== "object") return data;
  if (data.live) return value(data.live) ?? data.text;
  return Object.fromEntries(Object.entries(data).map(([name, part]) => [name, presentData(part, value)]));
}
