// Compile Vega's expressions to closures. Vega itself would create functions from the text of expressions, which the
// page's content security policy forbids. Vega's own interpreter would walk the syntax tree at every evaluation.

const CONSTANTS = {
  NaN, E: Math.E, LN2: Math.LN2, LN10: Math.LN10, LOG2E: Math.LOG2E, LOG10E: Math.LOG10E, PI: Math.PI,
  SQRT1_2: Math.SQRT1_2, SQRT2: Math.SQRT2, MIN_VALUE: Number.MIN_VALUE, MAX_VALUE: Number.MAX_VALUE,
};

const BINARY = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a % b,
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  "==": (a, b) => a == b, "!=": (a, b) => a != b, "===": (a, b) => a === b, "!==": (a, b) => a !== b,
};

const UNARY = { "+": (a) => +a, "-": (a) => -a, "!": (a) => !a };

// The functions that Vega translates to JavaScript, except functions of dates.
const FUNCTIONS = {
  isNaN: Number.isNaN, isFinite: Number.isFinite, parseFloat, parseInt,
  abs: Math.abs, ceil: Math.ceil, exp: Math.exp, floor: Math.floor, log: Math.log, max: Math.max, min: Math.min,
  pow: Math.pow, round: Math.round, sqrt: Math.sqrt, cos: Math.cos, sin: Math.sin, tan: Math.tan, atan2: Math.atan2,
  clamp: (value, low, high) => Math.max(low, Math.min(high, value)),
  length: (list) => list.length,
  join: (list, ...rest) => list.join(...rest),
  indexof: (list, ...rest) => list.indexOf(...rest),
  slice: (list, ...rest) => list.slice(...rest),
  upper: (text) => `${text}`.toUpperCase(),
  lower: (text) => `${text}`.toLowerCase(),
  substring: (text, ...rest) => `${text}`.substring(...rest),
  split: (text, ...rest) => `${text}`.split(...rest),
  replace: (text, ...rest) => `${text}`.replace(...rest),
  trim: (text) => `${text}`.trim(),
  regexp: RegExp,
  test: (pattern, text) => RegExp(pattern).test(text),
};
const OF_EVENTS = ["view", "item", "group", "xy", "x", "y"];

// Maps types of syntax nodes to compilers. An expression becomes a function of the signals (s), the row or datum (d),
// the event (e), and the item that is drawn (i).
const NODES = {
  Literal: ({ value }) => () => value,
  Identifier({ name }) {
    if (name === "datum") return (_s, d) => d;
    if (name === "event") return (_s, _d, e) => e;
    if (name === "item") return (_s, _d, _e, i) => i;
    if (Object.hasOwn(CONSTANTS, name)) return () => CONSTANTS[name];
    return (s) => s[`$${name}`];
  },
  MemberExpression({ computed, object, property }, functions) {
    const [owner, name] = [closure(object, functions), computed ? closure(property, functions) : () => property.name];
    return (s, d, e, i) => {
      const value = owner(s, d, e, i)[name(s, d, e, i)];
      return typeof value === "function" ? undefined : value; // a constructor could turn text into a function
    };
  },
  CallExpression(node, functions) {
    const name = node.callee.name.replace(/^_/, "");
    const values = node.arguments.map((argument) => closure(argument, functions));
    if (name === "if") return (s, d, e, i) => (values[0](s, d, e, i) ? values[1](s, d, e, i) : values[2](s, d, e, i));
    if (OF_EVENTS.includes(name)) {
      return (s, d, e, i) => e.vega[name](...values.map((value) => value(s, d, e, i)));
    }
    const call = functions[name] ?? FUNCTIONS[name];
    if (!call) throw new Error(`no function ${name} in expressions of charts`);
    return (s, d, e, i) => call.apply(functions, values.map((value) => value(s, d, e, i)));
  },
  ArrayExpression({ elements }, functions) {
    const values = elements.map((element) => closure(element, functions));
    return (s, d, e, i) => values.map((value) => value(s, d, e, i));
  },
  ObjectExpression({ properties }, functions) {
    const values = properties.map(({ key, value }) => [key.name ?? key.value, closure(value, functions)]);
    return (s, d, e, i) => Object.fromEntries(values.map(([key, value]) => [key, value(s, d, e, i)]));
  },
  BinaryExpression({ operator, left, right }, functions) {
    const [compute, a, b] = [BINARY[operator], closure(left, functions), closure(right, functions)];
    return (s, d, e, i) => compute(a(s, d, e, i), b(s, d, e, i));
  },
  UnaryExpression({ operator, argument }, functions) {
    const [compute, value] = [UNARY[operator], closure(argument, functions)];
    return (s, d, e, i) => compute(value(s, d, e, i));
  },
  LogicalExpression({ operator, left, right }, functions) {
    const [a, b] = [closure(left, functions), closure(right, functions)];
    if (operator === "&&") return (s, d, e, i) => a(s, d, e, i) && b(s, d, e, i);
    return (s, d, e, i) => a(s, d, e, i) || b(s, d, e, i);
  },
  ConditionalExpression({ test, consequent, alternate }, functions) {
    const [holds, then, otherwise] = [test, consequent, alternate].map((node) => closure(node, functions));
    return (s, d, e, i) => (holds(s, d, e, i) ? then(s, d, e, i) : otherwise(s, d, e, i));
  },
};

const closure = (node, functions) => NODES[node.type](node, functions);

// The interpreter that Vega calls; Vega requires these methods.
const EXPRESSIONS = {
  operator: ({ functions }, { ast }) => closure(ast, functions),
  parameter({ functions }, { ast }) {
    const compute = closure(ast, functions);
    return (datum, signals) => compute(signals, datum);
  },
  event({ functions }, { ast }) {
    const compute = closure(ast, functions);
    return (event) => compute(undefined, undefined, event);
  },
  handler({ functions }, { ast }) {
    const compute = closure(ast, functions);
    return (signals, event) => compute(signals, event.item?.datum, event);
  },
  encode({ functions }, { marktype, channels }) {
    const values = Object.entries(channels).map(([name, { ast }]) => [name, closure(ast, functions)]);
    return (item, signals) => {
      let isModified = 0;
      for (const [name, compute] of values) {
        const value = compute(signals, item.datum, undefined, item);
        if (item[name] !== value) [item[name], isModified] = [value, 1];
      }
      if (marktype !== "rule") {
        place(item, channels, marktype, ["x", "x2", "xc", "width"]);
        place(item, channels, marktype, ["y", "y2", "yc", "height"]);
      }
      return isModified;
    };
  },
};

// Compute the start and the size of an item that is given by its two ends, or by its end or center and its size.
function place(item, channels, marktype, [start, end, center, size]) {
  if (channels[end]) {
    if (!channels[start]) item[start] = item[end] - (item[size] || 0);
    else if (["group", "image", "rect"].includes(marktype) && item[start] > item[end]) {
      [item[start], item[end]] = [item[end], item[start]];
    }
    if (channels[start]) item[size] = item[end] - item[start];
  }
  if (channels[center]) item[start] = item[center] - (item[size] || 0) / 2;
}
