// After a jump, the bars, curves and words of a chart glide to their new places; in a drag they follow at once.

const GLIDE = { duration: 200, easing: "ease-out", id: "glide" };

const mayGlide = () =>
  !document.body.classList.contains("bertcalc-drag") && !matchMedia("(prefers-reduced-motion: reduce)").matches;

// The marks of a chart, by layer.
const layersOf = (root) =>
  [...root.querySelectorAll(".role-mark")].map((layer) => [...layer.querySelectorAll(":scope > :is(path, text)")]);

const lookOf = (mark) => ({ path: mark.getAttribute("d"), transform: getComputedStyle(mark).transform });

// The places of a chart's marks, or none while nothing may glide. Marks that still glide jump to their ends.
function looksIn(root) {
  const layers = layersOf(root);
  for (const mark of layers.flat()) for (const animation of mark.getAnimations()) animation.finish();
  return mayGlide() ? layers.map((marks) => marks.map(lookOf)) : [];
}

// Glide from earlier places, in the layers that have as many marks as before.
function glideFrom(before, root) {
  layersOf(root).forEach((marks, layer) => {
    if (before[layer]?.length === marks.length) marks.forEach((mark, at) => glide(mark, before[layer][at]));
  });
}

function glide(mark, before) {
  const [after, from, to] = [lookOf(mark), {}, {}];
  if (before.transform !== after.transform) [from.transform, to.transform] = [before.transform, after.transform];
  if (before.path !== after.path && isAlike(before.path, after.path)) {
    [from.d, to.d] = [before.path, after.path].map((path) => `path("${path}")`);
  }
  if (Object.keys(from).length) mark.animate([from, to], GLIDE);
}

// Whether two paths have the same commands, so that all paths between them can be drawn.
function isAlike(path, other) {
  const commands = (text) => text?.replace(/[-+.\d]+(e-?\d+)?/g, "0");
  return Boolean(path && other) && commands(path) === commands(other);
}
