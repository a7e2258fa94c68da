// The controls: of everything, of the graph, and of the table.
import { choice, field, list } from "./controls.js";
import { el, fill } from "./dom.js";
import { duration } from "./format.js";

const SUGGESTIONS = 500;

export class Toolbar {
  constructor(view) {
    this.view = view;
    this.data = view.data;
    this.state = view.state;
    this.allow();
    this.search = field("search", "search", { placeholder: "method or path" }, this.state);
    this.filters = this.makeFilters();
    this.groups = {
      process: [this.process()],
      main: [this.value(), this.since()],
      search: [this.search],
      filters: this.filters,
      graph: this.ofGraph(),
      table: [list("by", "by", this.kinds(), this.state)],
    };
    for (const [name, controls] of Object.entries(this.groups))
      this.groups[name] = controls.filter((control) => control);
  }

  // Puts them into the page: elements by the name of their group.
  place(elements, filtersButton) {
    for (const [name, controls] of Object.entries(this.groups))
      fill(elements[name], ...controls.map(({ element }) => element));
    this.button = filtersButton;
    this.panels = [elements.filters, elements.graph];
    filtersButton.onclick = () => this.open(filtersButton.getAttribute("aria-expanded") !== "true");
    this.open(false);
  }

  // Where there is little room, the filters and the graph's controls are seen while this is open.
  open(open) {
    this.button.setAttribute("aria-expanded", open);
    for (const panel of this.panels) panel.classList.toggle("closed", !open);
  }

  show() {
    for (const controls of Object.values(this.groups)) for (const control of controls) control.show();
    const set = [...this.view.filters, "age"].filter((name) => this.state.get(name) !== "").length;
    fill(this.button, set > 0 ? `Filters (${set})` : "Filters");
  }

  // What an address may say depends on what this page has.
  allow() {
    const { data, state, view } = this;
    const values = Object.keys(this.values());
    state.allow("process", (value) => /^\d+$/.test(value) && Number(value) <= data.others.length);
    state.allow("value", (value) => values.includes(value));
    state.allow("since", (value) => /^\d+$/.test(value) && Number(value) < Math.max(1, data.growths.length));
    state.allow("memory", (value) => value === "both" || (data.malloc && ["slots", "malloc"].includes(value)));
    state.allow("by", (value) => view.kinds.has(value));
    for (const name of view.filters) state.add(name);
  }

  // Is there anything of an estimate?
  some(name) {
    return this.view
      .sheet("inuse")
      .estimate(name)[0]
      .some((samples) => samples > 0);
  }

  values() {
    const values = { inuse: "Live", allocated: "Allocated" };
    if (this.some("young")) values.young = "Young";
    if (this.some("freed")) values.freed = "Freed";
    if (this.data.growths.length) values.growth = "Growth";
    if (this.data.kept) values.kept = "Retained by";
    return values;
  }

  // Those that were judged have the word of their verdict; the page may have fewer processes than were recorded.
  process() {
    const { data, state } = this;
    if (data.others.length === 0) return null;
    const verdicts = data.diagnosis?.processes ?? [];
    const options = [data.first, ...data.others].map(({ name, pid, process }, i) => {
      const { state: grade, judged = [] } = verdicts[process] ?? {};
      return [String(i), grade && judged.includes(pid) ? `${name} – ${data.states[grade] ?? grade}` : name];
    });
    const more = data.left_out > 0 ? `process (${data.left_out} more are not in this page)` : "process";
    return list("process", more, options, state);
  }

  value() {
    return choice("value", "Value", this.values(), this.state);
  }

  since() {
    const { data, state } = this;
    if (data.growths.length < 2) return null;
    const since = data.growths.map(({ seconds, since, deploys, lasted }, i) => {
      if (deploys) return [String(i), `deploy ${deploys[0]}, ${duration(lasted[0])} after its start`];
      return [
        String(i),
        seconds === null ? since : `${duration(seconds)} before, ${since.replace(/^.* at /, "").slice(11, 19)}`,
      ];
    });
    return list("since", "since", since, state, () => state.get("value") === "growth");
  }

  makeFilters() {
    const { data, state, view } = this;
    const class_ = () =>
      field("class", "class", { placeholder: "any", suggestions: this.largest("class", SUGGESTIONS) }, state);
    return [
      data.malloc ? choice("memory", "Memory", { both: "Both", slots: "Slots", malloc: "Malloc" }, state) : null,
      choice("unit", "Unit", { bytes: "Bytes", objects: "Objects" }, state),
      ...view.filters.map((name) => (name === "class" ? class_() : list(name, name, this.options(name), state))),
      field("age", "age in GCs", { placeholder: "0-10", short: true, pattern: /^\d+(-\d*)?$/ }, state),
    ].filter((control) => control);
  }

  ofGraph() {
    const { state, view } = this;
    const details = ["line", "method", "file"].map((detail) => [detail, detail]);
    return [
      view.foldable ? choice("frames", "Frames", { app: "Application", all: "All frames" }, state) : null,
      choice("direction", "Direction", { callees: "Callees", callers: "Callers", both: "Sandwich" }, state),
      choice("graph", "Graph", { icicle: "Icicle", flame: "Flame" }, state),
      list("detail", "frames by", details, state),
    ];
  }

  kinds() {
    return [...this.view.kinds.values()]
      .filter(({ malloc }) => this.data.malloc || !malloc)
      .map(({ name }) => [name, name]);
  }

  // Texts of a column, those with the most bytes first.
  largest(column, most) {
    const { columns, rowCount } = this.view.sheet("inuse");
    const [texts, inuse, alloc] = [column, "inuse_space", "alloc_space"].map((name) => columns.get(name));
    const sums = new Map();
    for (let row = 0; row < rowCount; row++)
      sums.set(texts[row], (sums.get(texts[row]) || 0) + inuse[row] + alloc[row]);
    return [...sums]
      .filter(([text]) => text > 0)
      .sort((a, b) => b[1] - a[1])
      .slice(0, most)
      .map(([text]) => this.data.texts[text]);
  }

  options(column) {
    return [["", "any"], ...this.largest(column, Infinity).map((text) => [text, text])];
  }
}
