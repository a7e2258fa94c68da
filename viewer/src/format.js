// Figures and names as text, as HeapSample::Layout writes them.

const MINUS = "\u2212";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

const scale = (size) => {
  let unit = 0;
  while (size >= 1023.95 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return unit;
};

const inUnit = (value, unit, sign) => {
  const number = (Math.abs(value) / 1024 ** unit).toFixed(unit === 0 ? 0 : 1);
  if (Number(number) === 0) return number;
  return (value < 0 ? MINUS : sign ? "+" : "") + number;
};

export const bytes = (value, sign = false, unit = scale(Math.abs(value))) => {
  return `${inUnit(value, unit, sign)} ${UNITS[unit]}`;
};

// One for all: toLocaleString would make another for each figure.
const NUMBER = new Intl.NumberFormat("en-US");

const largest = (values) => scale(Math.max(...values.map(Math.abs)));

// A figure and its limits in bytes, in one unit.
export const figureWithin = (value, limits) => {
  const scaled = largest([value, ...limits]);
  return [bytes(value, true, scaled), range(...limits, "bytes", true, scaled)];
};

export const count = (value, sign = false) => {
  const rounded = Math.round(value);
  return (rounded < 0 ? MINUS : sign && rounded > 0 ? "+" : "") + NUMBER.format(Math.abs(rounded));
};

export const percent = (share) => `${(share * 100).toFixed(1)}%`;

export const amount = (value, unit, sign = false) => (unit === "objects" ? count(value, sign) : bytes(value, sign));

export const range = (low, high, unit, sign = false, scaled = largest([low, high])) => {
  if (unit === "objects") return `${count(low, sign)} – ${count(high, sign)}`;
  return `${inUnit(low, scaled, sign)} – ${inUnit(high, scaled, sign)} ${UNITS[scaled]}`;
};

const SYMMETRIC_FROM = 20;
const isSymmetric = (estimate) => !("gained" in estimate) && estimate.samples >= SYMMETRIC_FROM;

// The unit of the larger figure of an estimate, as it is shown.
const unitOf = (estimate) =>
  largest([
    estimate.value("bytes"),
    ...(estimate.exact || estimate.samples === 0 || isSymmetric(estimate) ? [] : estimate.interval("bytes")),
  ]);

// An Estimate or, with a sign, a Net: in the unit of its interval.
export const size = (estimate, unit) => {
  const sign = "gained" in estimate;
  if (unit === "objects") return count(estimate.objects, sign);
  return bytes(estimate.space, sign, unitOf(estimate));
};

const MOST_DECIMALS = 3;

// With as many decimals as leave a digit of it.
const error = (value, unit) => {
  if (unit === 0) return bytes(value, false, unit);
  const scaled = value / 1024 ** unit;
  for (let decimals = 1; decimals < MOST_DECIMALS; decimals++)
    if (Number(scaled.toFixed(decimals)) > 0) return `${scaled.toFixed(decimals)} ${UNITS[unit]}`;
  return `${Math.max(scaled, 10 ** -MOST_DECIMALS).toFixed(MOST_DECIMALS)} ${UNITS[unit]}`;
};

// The 95% interval of an Estimate or, with a sign, of a Net.
export const interval = (estimate, unit) => {
  if (estimate.exact) return "exact";
  if (estimate.samples === 0) return "?";
  const [low, high] = estimate.interval(unit);
  if (unit === "objects" && isSymmetric(estimate)) return `±${count((high - low) / 2)}`;
  if (isSymmetric(estimate)) return `±${error((high - low) / 2, unitOf(estimate))}`;
  return range(low, high, unit, "gained" in estimate, unitOf(estimate));
};

export const duration = (seconds) => {
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
};

// Control characters, and those that turn the direction of what follows.
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

// A name as a person can read it, whatever is in it.
export const visible = (text) => (text === "" ? "(unknown)" : text.replace(UNSEEN, escaped));

// The end of a path, whole directories if possible: "…/models/ticket.rb".
export const cutFront = (path, length) => {
  if (path.length <= length) return path;
  const tail = path.slice(-Math.max(length - 1, 1));
  const slash = tail.indexOf("/");
  return `…${slash >= 0 && slash < tail.length - 1 ? tail.slice(slash) : tail}`;
};

// A method with the beginning of its class, "Tick….latest:40"; where there is no room for it, the whole, whose end the
// browser cuts. What has no class is its last part.
const CLASS = 3;
const BLOCK = /^(?:(?:block(?: \(\d+ levels\))?|rescue|ensure) in )+/;
export const cutClass = (label, last, length) => {
  if (!/^[#.]/.test(last)) return last;
  const bare = label.replace(BLOCK, "");
  if (bare.length <= length) return bare;
  const room = length - last.length - 1;
  return room < CLASS ? bare : `${bare.slice(0, room)}…${last}`;
};

export const cut = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);
