// Computes the programs of bertcalc/live/live_program.py: exact arithmetic on sizes, and the texts of
// bertcalc/text/digits.py. It holds no formula; tests/browser/test_live.py compares each function with Python's.
//
// Integers are BigInt, fractions {top, below} in lowest terms, positions in charts Number.

const NO_VALUE = new Error("no value at these sizes");
const isFraction = (value) => value?.below !== undefined;
const absolute = (value) => (value < 0n ? -value : value); // of an integer

function fraction(top, below) {
  if (!below) throw NO_VALUE;
  let [larger, smaller] = [absolute(top), absolute(below)];
  while (smaller) [larger, smaller] = [smaller, larger % smaller];
  const by = below < 0n ? -larger : larger;
  return below === by ? top / by : { top: top / by, below: below / by };
}

// A number as a numerator and a denominator. A Number is a binary fraction.
function split(value) {
  if (typeof value === "bigint") return [value, 1n];
  if (isFraction(value)) return [value.top, value.below];
  if (!Number.isFinite(value)) throw NO_VALUE;
  let below = 1n;
  while (!Number.isInteger(value)) [value, below] = [value * 2, below * 2n];
  return [BigInt(value), below];
}

const both = (whole, other) => (left, right) => {
  if (typeof left === "bigint" && typeof right === "bigint") return whole(left, right);
  const [a, b] = split(left);
  const [c, d] = split(right);
  return fraction(...other(a, b, c, d));
};
const add = both(
  (left, right) => left + right,
  (a, b, c, d) => [a * d + c * b, b * d],
);
const subtract = both(
  (left, right) => left - right,
  (a, b, c, d) => [a * d - c * b, b * d],
);
const multiply = both(
  (left, right) => left * right,
  (a, b, c, d) => [a * c, b * d],
);
const divide = both(
  (left, right) => fraction(left, right),
  (a, b, c, d) => [a * d, b * c],
);
const away = (left, right) => {
  const difference = subtract(left, right);
  return isLess(difference, 0n) ? subtract(0n, difference) : difference;
};
const isLess = (left, right) => split(subtract(left, right))[0] < 0n;
const isSame = (left, right) => split(subtract(left, right))[0] === 0n;
const power = (base, exponent) => {
  const [top, below] = split(base);
  return exponent < 0n ? fraction(below ** -exponent, top ** -exponent) : fraction(top ** exponent, below ** exponent);
};
const ten = (exponent) => power(10n, BigInt(exponent));

function floor(value) {
  const [top, below] = split(value);
  const whole = top / below;
  return top < 0n && whole * below !== top ? whole - 1n : whole;
}

// To the nearest integer, a tie to the even one, as in Python.
function round(value) {
  const [top, below] = split(value);
  const low = floor(value);
  const twice = 2n * (top - low * below);
  return twice < below || (twice === below && low % 2n === 0n) ? low : low + 1n;
}

const grouped = (count) => `${count}`.replace(/\B(?=(\d{3})+$)/g, ",");

function powers(value, digits) {
  const [top, below] = split(value);
  const size = fraction(absolute(top), below);
  let exponent = top ? `${absolute(top)}`.length - `${below}`.length : 0;
  if (top && isLess(size, ten(exponent))) exponent -= 1;
  let units = round(divide(size, ten(exponent - digits + 1)));
  if (units === 10n ** BigInt(digits)) [units, exponent] = [units / 10n, exponent + 1];
  const figure = `${units}`.padStart(digits, "0");
  return [`${top < 0n ? "-" : ""}${figure[0]}${digits > 1 ? "." : ""}${figure.slice(1)}`, exponent];
}

function fixed(value, places = 1, unlike = 0) {
  const distance = away(value, BigInt(unlike));
  if (isLess(0n, distance) && !isLess(fraction(1n, 2n * 10n ** BigInt(places)), distance)) {
    places = -powers(distance, 1)[1];
    if (!Number(unlike) && places > 12) return powers(value, 1).join("e");
  }
  const scale = 10n ** BigInt(places);
  const negative = isLess(value, 0n);
  const units = round(multiply(negative ? subtract(0n, value) : value, scale));
  const decimals = places ? `.${`${units % scale}`.padStart(Number(places), "0")}` : "";
  return `${negative && units ? "-" : ""}${grouped(units / scale)}${decimals}`;
}

const withoutZeros = (figure) => (figure.includes(".") ? figure.replace(/\.?0+$/, "") : figure);

function brief(value, digits = 6) {
  const [top, below] = split(value);
  if (below === 1n && absolute(top) < 10n ** 15n) return grouped(top);
  const [figure, exponent] = powers(value, digits);
  if (exponent > -5 && exponent < digits) return withoutZeros(fixed(value, digits - 1 - exponent));
  return `${withoutZeros(figure)}e${exponent < 0 ? "-" : "+"}${`${Math.abs(exponent)}`.padStart(2, "0")}`;
}

function significant(value, digits = 3) {
  return isSame(value, 0n) ? "0" : fixed(value, Math.max(0, digits - 1 - powers(value, digits)[1]));
}

function multiple(count, first) {
  const times = divide(count, first);
  const small = isLess(0n, times) && isLess(times, fraction(1n, 10n));
  return small ? significant(times) : fixed(times, 2, 1);
}

function share(part, whole, decimals = 1) {
  const percent = divide(multiply(100n, part), whole);
  const least = ten(-decimals);
  const half = divide(least, 2n);
  if (!isSame(part, 0n) && isLess(percent, half)) return `<${fixed(least, decimals)}`;
  const high = !isLess(percent, subtract(100n, half)) && !isLess(100n, percent) && !isSame(part, whole);
  return high ? `>${fixed(subtract(100n, least), decimals)}` : fixed(percent, decimals);
}

const signed_count = (difference, none = "±0") =>
  difference ? `${difference < 0n ? "−" : "+"}${grouped(absolute(difference))}` : none;

const threeDigits = (number) => fixed(number, isLess(number, 10n) ? 2 : 1);

function size(count) {
  if (count < 1000n) return `${count} B`;
  const exponent = Math.min(4, Math.floor((`${count}`.length - 1) / 3));
  const [disk, memory] = [
    ["kB", "KiB"],
    ["MB", "MiB"],
    ["GB", "GiB"],
    ["TB", "TiB"],
  ][exponent - 1];
  const [decimal, binary] = [10n ** BigInt(3 * exponent), 2n ** BigInt(10 * exponent)];
  return `${threeDigits(fraction(count, decimal))} ${disk} (${threeDigits(fraction(count, binary))} ${memory})`;
}

const PREFIXES = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];
function scaled(figure, unit) {
  const prefix = Math.min(Math.floor(Math.max(0, powers(figure, 4)[1]) / 3), PREFIXES.length - 1);
  const small = divide(figure, ten(3 * prefix));
  return `${isLess(small, 1000n) ? brief(small, 4) : fixed(small, 0)} ${PREFIXES[prefix]}${unit}`;
}
const compact = (figure) => scaled(figure, "").replace(" ", "").replace("G", "B");

function duration(seconds) {
  const units = [
    ["s", 1n, 120n],
    ["min", 60n, 120n],
    ["h", 3600n, 96n],
  ];
  const [unit, length] = units.find(([_unit, length, most]) => isLess(seconds, most * length)) ?? ["d", 86400n];
  return `${fixed(divide(seconds, length))} ${unit}`;
}

const decimal = (value, places) => fixed(value, split(value)[1] === 1n ? 0 : Number(places));

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const superscript = (exponent) => `${exponent}`.replace("-", "⁻").replace(/[0-9]/g, (digit) => SUPERSCRIPTS[digit]);

function on_paper(value) {
  if (isLess(value, 1000000n)) return isLess(value, 1000n) ? brief(value, 4) : grouped(round(value));
  const [figure, exponent] = powers(value, 4);
  return `${figure} × 10${superscript(exponent)}`;
}

function growth_words([before, after, terms, sizes], alone, stays, mostly, follows) {
  if (isSame(before, after) || isSame(before, 0n)) return "";
  const times = `× ${multiple(after, before)}`;
  const [reason, isMixed] = reasonOf(divide(after, before), terms, sizes, stays, follows);
  return reason ? (isMixed ? mostly : alone).replace("{times}", times).replace("{reason}", reason) : times;
}

// The changed letters of the term that grew most, and whether other terms grew less: see FigureGrowth in
// bertcalc/explore/factor_formulas.py.
function reasonOf(ratio, terms, sizes, stays, follows) {
  if (!terms.length) return ["", false];
  const change = ([before, after]) => away(after, before);
  const term = terms.reduce((best, other) => (isLess(change(best), change(other)) ? other : best));
  const powers = new Map(term[2]);
  const changed = sizes.filter(([_field, _letter, before, after]) => !isSame(before, after));
  const grown = changed.filter(([field]) => powers.has(field));
  const moved = (field) => changed.some(([name]) => name === field);
  const letterOf = (field) => sizes.find(([name]) => name === field)[1];
  const staying = follows
    .filter(([field, leader]) => grown.some(([name]) => name === leader) && powers.has(field) && !moved(field))
    .map(([field]) => stays.replace("{letter}", letterOf(field)));
  const letters = grown.map(([field, letter]) => letter + (powers.get(field) === 1n ? "" : superscript(powers.get(field))));
  const reason = [letters.join("·"), ...staying].filter(Boolean).join(", ");
  const alone = grown.reduce(
    (all, [field, _letter, before, after]) => multiply(all, power(divide(after, before), powers.get(field))),
    1n,
  );
  const far = isLess(fraction(1n, 20n), away(divide(ratio, alone), 1n));
  return [reason, grown.length > 0 && far];
}

function phraseOf([phrases, before, after]) {
  const growth = after - before;
  const at = phrases.length === 1 ? 0 : 2 * (growth < 0n) + (absolute(growth) > 1n);
  return phrases[at].replace("{count}", grouped(absolute(growth)));
}

// The sentence of the first page: see SentencePart in pages/ui/parameters/answer.py.
function difference_sentence(parts, messages) {
  const [has, otherwise, same, more, inAll, whole, each, comma] = messages;
  const changed = parts.filter(([_phrases, before, after]) => before !== after);
  if (!changed.length) return "";
  const counting = changed.filter((part) => part[3] !== 0n);
  const order = (a, b) => (isLess(absolute(a[3]), absolute(b[3])) ? 1 : isLess(absolute(b[3]), absolute(a[3])) ? -1 : 0);
  const ranked = [...(counting.length ? counting : changed)].sort(order);
  const named = ranked.slice(0, 3);
  const list = named.map(phraseOf).join(comma);
  const difference = signed_count(changed.reduce((sum, part) => sum + part[3], 0n));
  const write = (message, values) =>
    Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), message);
  let words;
  if (!counting.length) words = write(same, { changes: list });
  else if (counting.length > 1) {
    words = write(inAll, { changes: counting.length > 3 ? write(more, { changes: list }) : list, difference });
  } else {
    const [[_phrases, before, after, cost, alike]] = counting;
    const amount = alike ? floor(fraction(cost, after - before)) : 0n;
    const isEach = amount && amount !== absolute(cost);
    words = isEach
      ? write(each, { changes: list, "each:,": grouped(amount) })
      : write(whole, { changes: list, difference });
  }
  return write(named.every((part) => part[5]) ? has : otherwise, { changes: words });
}

const EMS = new Map([...[..." ,.·()iljI"].map((sign) => [sign, 0.25]), ...[..."%Mm"].map((sign) => [sign, 0.83])]);
const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/;
const ems = (text) => [...text].reduce((sum, sign) => sum + (EMS.get(sign) ?? (WIDE.test(sign) ? 1 : 0.52)), 0);

function first_fitting(pairs, room) {
  return pairs.find(([text, other]) => ems(text) + ems(other) <= room) ?? pairs.at(-1);
}

function room_beside(longest, limit, least, whole) {
  return limit ? least + (1 - Number(longest) / Number(limit)) * whole : least;
}

const TENTHS = [10n, 12n, 14n, 16n, 18n, 20n, 25n, 30n, 35n, 40n, 45n, 50n, 60n, 70n, 80n, 90n, 100n];

function round_figure(largest) {
  const wanted = 11n * largest > 100n ? 11n * largest : 100n;
  const tenth = 10n ** BigInt(`${wanted}`.length - 2);
  return TENTHS.map((steps) => steps * tenth).find((figure) => figure >= wanted) / 10n;
}

function widened(limit, largest) {
  return largest > limit || 8n * largest < limit ? round_figure(largest) : limit;
}

// The whole part of a square root.
function root(value) {
  if (!value) return value;
  let guess = BigInt(Math.floor(Math.sqrt(Number(value)))) + 2n;
  for (let next = (guess + value / guess) / 2n; next < guess; next = (guess + value / guess) / 2n) guess = next;
  return guess;
}

// The largest integer at which a polynomial is within a limit; null if every one is: Polynomial.largest in memory/fit.py.
function largestWithin([first, constant, linear, square, start, end], limit) {
  const room = limit - constant;
  let last = 0n;
  if (square) last = (root(linear ** 2n + 4n * square * (room > 0n ? room : 0n)) - linear) / (2n * square);
  else if (linear) last = floor(fraction(room, linear));
  else if (room >= 0n) return null;
  if (last < start) last = start === 2n ? (first <= limit ? 1n : 0n) : start - 1n;
  return last && end && last + 1n >= end ? null : last;
}

function most_fitting(growths, usable, positions) {
  const numbers = growths.map((growth) => largestWithin(growth, usable)).filter((number) => number !== null);
  const memory = numbers.length ? least(numbers) : null;
  if (positions !== null && (memory === null || memory >= positions)) return [positions, 1n];
  return memory === null ? [-1n, 2n] : [memory, 0n];
}

// A value while all figures are within their bounds; elsewhere there is none.
function within(value, bounds) {
  for (const [figure, low, high] of bounds) {
    if (isLess(figure, low) || (high !== null && isLess(high, figure))) throw NO_VALUE;
  }
  return value;
}

// An axis with its labels: see bertcalc/charts/labels.py.
const widest = (texts) => Math.max(...texts.map(ems));
const span = (low, high) => high - low || 1n;
function room_for_label(low, high, label, width, gap) {
  const share = Math.min(0.6, (label + gap) / width);
  return Number(high) + (Number(span(low, high)) * share) / (1 - share);
}
const text_inside = (text, length, whole) => (Number(length) > Number(whole) * 0.013 * ([...text].length + 1) ? text : "");
const part_of_column = (column, figure, longest, share) =>
  Number(column) + (share * Number(figure)) / Number(longest || 1n);
function place_in_order(figures, at, descending) {
  const own = figures[Number(at)];
  const before = figures.filter((figure) => (descending ? isLess(own, figure) : isLess(figure, own)));
  return BigInt(before.length + figures.slice(0, Number(at)).filter((figure) => isSame(figure, own)).length);
}
function in_lines(text, longest) {
  const letters = (signs) => [...signs].reduce((sum, sign) => sum + (WIDE.test(sign) ? 2 : 1), 0);
  const lines = [""];
  const begin = (signs) => lines.at(-1) && letters(lines.at(-1) + signs) > longest && lines.push("");
  for (const word of text.match(/[^ 、，：；]*[ 、，：；]|[^ 、，：；]+/g) ?? []) {
    begin(word.replace(/ +$/, ""));
    for (const sign of word) {
      if (sign !== " ") begin(sign);
      lines[lines.length - 1] += sign;
    }
  }
  return lines.map((line) => line.replace(/ +$/, "")).join("\n");
}
function signed_share(difference, whole) {
  const isNegative = isLess(difference, 0n);
  const sign = isNegative ? "−" : isSame(difference, 0n) ? "±" : "+";
  return sign + significant(divide(multiply(isNegative ? -100n : 100n, difference), whole));
}
const counted_words = (phrases, before, after) => (before === after ? "" : phraseOf([phrases, before, after]));

const most = (values) => values.reduce((best, value) => (isLess(best, value) ? value : best));
const least = (values) => values.reduce((best, value) => (isLess(value, best) ? value : best));

// The operations of nodes, and the mirrored functions. Digits and places arrive as BigInt.
const OPERATIONS = {
  "+": (...values) => values.reduce(add),
  "-": subtract,
  "*": (...values) => values.reduce(multiply),
  "/": divide,
  "^": power,
  floor,
  max: (...values) => most(values),
  min: (...values) => least(values),
  element: (values, at) => values[Number(at)],
  text: (...parts) => parts.join(""),
  grouped,
  plain: (count) => `${count}`,
  joined: (separator, texts) => texts.filter(Boolean).join(separator),
  smallest: (values) => least(values),
  distance: (count, other) => absolute(count - other),
  unless_same: (count, other) => (count === other ? NaN : Number(other)),
  if_negative: (count, text, otherwise) => (isLess(count, 0n) ? text : otherwise),
  differ: (figures, others) => (figures.length === others.length && figures.every((figure, at) => isSame(figure, others[at])) ? 0n : 1n),
  if_between: (low, count, high, inside, outside) => (isLess(count, low) || isLess(high, count) ? outside : inside),
  with_sign: (difference, text) => (difference ? (difference < 0n ? "−" : "+") + text : ""),
  ems,
  first_fitting,
  room_beside,
  round_figure,
  widened,
  largest: (values) => (values.length ? most(values) : 0n),
  fixed: (value, places, unlike) => fixed(value, Number(places), unlike),
  significant: (value, digits) => significant(value, Number(digits)),
  brief: (value, digits) => brief(value, Number(digits)),
  multiple,
  share: (part, whole, decimals) => share(part, whole, Number(decimals)),
  signed_count,
  size,
  scaled,
  compact,
  growth_words,
  difference_sentence,
  counted_words,
  signed_share,
  widest,
  span,
  halfway: (start, end) => (Number(start) + Number(end)) / 2,
  room_for_label,
  text_inside,
  part_of_column,
  place_in_order,
  in_lines,
  quotient: (part, whole) => fraction(part, whole),
  nearest: round,
  duration,
  decimal,
  on_paper,
  rounded_up: (part, whole) => -floor(fraction(-part, whole)),
  place_of_largest: (figures) => BigInt(figures.findIndex((figure) => isSame(figure, most(figures)))),
  unbroken: (text) => text.replaceAll(" ", "\u00a0"),
  either: (count, other, same, different) => (isSame(count, other) ? same : different),
  most_fitting,
  counted_or: (number, without, none) => (number < 0n ? without : number ? grouped(number) : none),
  text_at: (texts, place) => texts[Number(place)],
  inside: (count, low, high) => (count < low || count > high ? NaN : Number(count)),
  within,
};

// A program with its sizes: give it sizes, and ask for the value of an argument such as [3].
class Program {
  constructor(operations) {
    this.steps = operations.map(([name, ...inputs]) => {
      if (name === "field") return () => this.size(inputs[0]);
      const operation = OPERATIONS[name];
      if (!operation) throw new Error(`there is no operation ${name}`);
      const readers = inputs.map((input) => this.reader(input));
      return () => operation(...readers.map((read) => read()));
    });
  }

  // What gives the value of an argument: see bertcalc/live/live_program.py.
  reader(input) {
    if (typeof input === "number") {
      const whole = BigInt(input);
      return () => whole;
    }
    if (!Array.isArray(input)) return () => input;
    const [kind, ...rest] = input;
    if (typeof kind === "number") return () => this.valueAt(kind);
    if (kind === "l") {
      const readers = rest.map((part) => this.reader(part));
      return () => readers.map((read) => read());
    }
    const value = { i: () => BigInt(rest[0]), q: () => fraction(BigInt(rest[0]), BigInt(rest[1])), f: () => rest[0] }[kind]();
    return () => value;
  }

  // Sizes by the names of fields, as Number. A step that has no value at these sizes is null.
  run(sizes) {
    this.sizes = Object.fromEntries(Object.entries(sizes).map(([name, value]) => [name, BigInt(value)]));
    this.values = [];
    for (const step of this.steps) {
      try {
        this.values.push(step());
      } catch {
        this.values.push(null);
      }
    }
  }

  // What follows from a step without a value has none.
  valueAt(step) {
    if (this.values[step] === null) throw NO_VALUE;
    return this.values[step];
  }

  size(field) {
    if (!(field in this.sizes)) throw NO_VALUE;
    return this.sizes[field];
  }

  value(input) {
    if (typeof input?.[0] === "number") return this.values[input[0]];
    try {
      return this.reader(input)();
    } catch {
      return null;
    }
  }
}
