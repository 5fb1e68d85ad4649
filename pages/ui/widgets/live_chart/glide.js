// After a jump of a slider, the marks of a chart (bars, curves, labels) glide to their new places. During a drag, they
// move without a transition.

const GLIDE = { duration: 200, easing: "ease-out", id: "glide" };

const mayGlide = () =>
  !document.body.classList.contains("bertcalc-drag") && !matchMedia("(prefers-reduced-motion: reduce)").matches;

// The marks of a chart, as a list for each layer.
const layersOf = (root) =>
  [...root.querySelectorAll(".role-mark")].map((layer) => [...layer.querySelectorAll(":scope > :is(path, text)")]);

const lookOf = (mark) => ({ path: mark.getAttribute("d"), transform: getComputedStyle(mark).transform });

// The paths and transforms of a chart's marks, or an empty list if marks must not glide. Finishes running animations.
function looksIn(root) {
  const layers = layersOf(root);
  for (const mark of layers.flat()) for (const animation of mark.getAnimations()) animation.finish();
  return mayGlide() ? layers.map((marks) => marks.map(lookOf)) : [];
}

// Animate the marks from their earlier places, in the layers that still have the same number of marks.
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

// Whether two paths have the same commands, which is necessary for interpolating between them.
function isAlike(path, other) {
  const commands = (text) => text?.replace(/[-+.\d]+(e-?\d+)?/g, "0");
  return Boolean(path && other) && commands(path) === commands(other);
}
