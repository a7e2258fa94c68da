// What is looked at, and how: kept in the address, so that a link (or a reload)
// shows the same view.

export const DEFAULTS = {
  value: "live",        // live, allocated, young, dead, growth
  since: "0",           // growth: which of the earlier profiles
  unit: "bytes",        // or objects
  memory: "both",       // slots, malloc
  graph: "icicle",      // or flame
  direction: "callees", // or callers
  detail: "line",       // method, file: what frames are told apart by
  by: "line",           // what the table's rows are
  sort: "value",        // column of the table, "-" before it: the smallest first
  class: "",
  type: "",
  gem: "",
  age: "",              // "3-10", in GCs
  search: "",
  mark: "",             // a row of the table that is marked: "line:17"
  zoom: "",             // groups of frames from the root on: "3.17.4"
};

export class State {
  constructor(window, changed) {
    this.window = window;
    this.changed = changed;
    this.values = { ...DEFAULTS, ...this.read() };
    window.addEventListener("hashchange", () => {
      if (this.text() === window.location.hash) return;
      this.values = { ...DEFAULTS, ...this.read() };
      changed(Object.keys(DEFAULTS));
    });
  }

  read() {
    const given = new URLSearchParams(this.window.location.hash.slice(1));
    return Object.fromEntries([...given].filter(([name]) => Object.hasOwn(DEFAULTS, name)));
  }

  get(name) {
    return this.values[name];
  }

  // Takes new values, and tells what they changed.
  set(values) {
    const names = Object.keys(values).filter((name) => this.values[name] !== values[name]);
    if (names.length === 0) return;
    Object.assign(this.values, values);
    this.window.history.replaceState(null, "", this.text() || "#");
    this.changed(names);
  }

  // As it stands in the address: only what is not as it was at first.
  text() {
    const told = Object.entries(this.values).filter(([name, value]) => value !== DEFAULTS[name]);
    return told.length ? `#${new URLSearchParams(told)}` : "";
  }
}
