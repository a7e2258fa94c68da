// What is looked at, and how: kept in the address, so that a link (or a reload)
// shows the same view.

// prettier-ignore
export const DEFAULTS = {
  process: "0",         // which of the page's processes
  value: "inuse",       // inuse, allocated, young, freed, growth
  since: "0",           // growth: which of the earlier profiles
  unit: "bytes",        // or objects
  memory: "both",       // slots, malloc
  graph: "icicle",      // or flame
  direction: "callees", // callers; both: sandwich, of what is marked
  detail: "line",       // method, file: what distinguishes frames
  frames: "app",        // the application's, the others folded; or all
  by: "line",           // what the table's rows are
  columns: "some",      // of the table, or all
  small: "other",       // small neighbouring frames are one; or all
  sort: "value",        // column of the table, "-" before it: the smallest first
  age: "",              // "3-10", in GCs
  search: "",
  mark: "",             // a row of the table that is marked: "line:17"
  zoom: "",             // groups of frames and folds from the root on: "3.f.4"
};

const one =
  (...values) =>
  (value) =>
    values.includes(value);
const like = (pattern) => (value) => pattern.test(value);

// What an address may say; of the others, anything.
const CHECKS = {
  unit: one("bytes", "objects"),
  memory: one("both", "slots", "malloc"),
  graph: one("icicle", "flame"),
  direction: one("callees", "callers", "both"),
  detail: one("line", "method", "file"),
  frames: one("app", "all"),
  columns: one("some", "all"),
  small: one("other", "all"),
  sort: like(/^-?[a-z]+$/),
  age: like(/^(\d+(-\d*)?)?$/),
  mark: like(/^((line|method|file):\d+)?$/),
  zoom: like(/^((\d+|f|o)(\.(\d+|f|o))*)?$/),
};

// What a change makes meaningless: a way through another tree, and what another process does not have.
export const reset = (name) => {
  const tree = ["process", "direction", "detail", "frames", "value", "since"].includes(name) ? { zoom: "" } : {};
  return name === "process" ? { ...tree, since: "0", age: "" } : tree;
};

export class State {
  constructor(window, changed) {
    this.window = window;
    this.changed = changed;
    this.checks = new Map(Object.entries(CHECKS));
    this.defaults = { ...DEFAULTS };
    this.values = { ...this.defaults, ...this.read() };
    window.addEventListener("hashchange", () => {
      if (this.text() === window.location.hash) return;
      this.values = { ...this.defaults, ...this.read() };
      changed(Object.keys(this.defaults));
    });
  }

  // A value more, such as a filter by a column that this page has.
  add(name) {
    this.defaults[name] = "";
  }

  // Takes what the page opens with where the address says nothing.
  begin(defaults) {
    Object.assign(this.defaults, defaults);
    this.values = { ...this.defaults, ...this.read() };
  }

  read() {
    const given = new URLSearchParams(this.window.location.hash.slice(1));
    return Object.fromEntries(
      [...given].filter(([name, value]) => Object.hasOwn(this.defaults, name) && this.allows(name, value)),
    );
  }

  allows(name, value) {
    const check = this.checks.get(name);
    return !check || check(value);
  }

  // What this page has to show decides too, once it is known.
  allow(name, check) {
    this.checks.set(name, check);
  }

  get(name) {
    return this.values[name];
  }

  // Takes new values, and reports what they changed.
  set(values) {
    const names = Object.keys(values).filter((name) => this.values[name] !== values[name]);
    if (names.length === 0) return;
    Object.assign(this.values, values);
    this.window.history.replaceState(null, "", this.text() || "#");
    this.changed(names);
  }

  // As it stands in the address: only what is not as it was at first.
  text() {
    const set = Object.entries(this.values).filter(([name, value]) => value !== this.defaults[name]);
    return set.length ? `#${new URLSearchParams(set)}` : "";
  }
}
