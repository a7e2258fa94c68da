// The page: what is shown, from the data and the state, and what clicks and keys do.
import { drawGenerations, drawMemory, generations } from "./charts.js";
import { choice, field, list } from "./controls.js";
import { el, fill } from "./dom.js";
import { changes } from "./estimate.js";
import { Flame } from "./flame.js";
import { amount, count, cut, duration, interval, percent, visible } from "./format.js";
import { FrameLook } from "./frame_look.js";
import { DETAIL, Groups, isUntouched, KINDS } from "./groups.js";
import { help, Theme, Tip } from "./overlays.js";
import { ESTIMATES, Selection } from "./selection.js";
import { State } from "./state.js";
import { Table } from "./table.js";
import { pathOf } from "./trees.js";

const TITLES = { live: "In use", allocated: "Allocated since start", young: "Young", dead: "Dead", growth: "Growth" };
const NOTES = {
  live: "Objects found alive by the last completed mark, and what malloc gave.",
  allocated: "Everything born since sampling started.",
  young: "Born since the last completed mark: not known to be in use.",
  dead: "What was allocated since sampling started and found dead, or freed.",
};
const KINDS_OF_CODE = { app: "application", gem: "gem", ruby: "Ruby's library", native: "native code" };
const SUGGESTIONS = 500;

const byId = (id) => document.getElementById(id);

export class App {
  constructor(data) {
    this.data = data;
    this.texts = data.texts;
    this.frames = data.frames;
    this.state = new State(window, (names) => this.changed(names));
    this.view = new Selection(data, this.state);
    this.tip = new Tip(byId("tip"));
    this.theme = new Theme(byId("theme"));
    this.flame = new Flame(
      byId("graph"),
      {
        draw: (nodes) => this.look.prepare(nodes),
        zoom: (node) => this.state.set({ zoom: pathOf(node).join(".") }),
        hover: (node, rest, where) => this.tip.show(node && this.look.told(node, rest), where),
      },
      (node) => this.look.of(node),
    );
    this.table = new Table(byId("table"), {
      sort: (sort) => this.state.set({ sort }),
      select: (row) => this.select(row),
    });
    byId("title").textContent = visible(data.title);
    fill(
      byId("about"),
      ...data.about.map((line) => el("p", {}, visible(line))),
      el("p", { className: "note" }, this.sizes()),
    );
    this.makeControls();
    this.state.begin({ value: this.first(data.first) });
    help(byId("help"));
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    byId("out").addEventListener("click", () => this.zoomOut());
    document.addEventListener("keydown", (event) => this.key(event));
    this.watchWidth();
    drawMemory(byId("memory"), data, { hover: (lines, where) => this.tip.show(lines, where) });
  }

  // What is shown at first: what was asked for; without anything alive, what is young.
  first(value) {
    const has = (name) =>
      this.view
        .sheet("live")
        .estimate(name)[0]
        .some((samples) => samples > 0);
    return value === "live" && !has("inuse") && has("young") ? "young" : value;
  }

  sizes() {
    const live = this.view.sheet("live");
    return `${count(live.rowCount)} rows, ${count(live.stackCount - 1)} stacks, ${count(this.frames.get("path").length)} frames.`;
  }

  // --- controls ---

  makeControls() {
    const { data, state } = this;
    const values = { live: "Live", allocated: "Allocated" };
    state.allow("value", (value) => Object.hasOwn(values, value));
    state.allow("since", (value) => /^\d+$/.test(value) && Number(value) < Math.max(1, data.growths.length));
    state.allow("memory", (value) => value === "both" || data.malloc);
    const live = this.view.sheet("live");
    const some = (name) => live.estimate(name)[0].some((samples) => samples > 0);
    if (some("young")) values.young = "Young";
    if (some("dead")) values.dead = "Dead";
    if (data.growths.length) values.growth = "Growth";
    const since = data.growths.map((growth, i) => [
      String(i),
      growth.seconds === null
        ? `profile ${i + 1}`
        : `${duration(growth.seconds)} before${growth.since ? `, ${growth.since.slice(11, 19)}` : ""}`,
    ]);
    this.controls = [
      choice("value", "Value", values, state),
      data.growths.length > 1 ? list("since", "since", since, state, () => state.get("value") === "growth") : null,
      data.malloc ? choice("memory", "Memory", { both: "Both", slots: "Slots", malloc: "Malloc" }, state) : null,
      choice("unit", "Unit", { bytes: "Bytes", objects: "Objects" }, state),
      choice("direction", "Direction", { callees: "Callees", callers: "Callers" }, state),
      choice("graph", "Graph", { icicle: "Icicle", flame: "Flame" }, state),
      list(
        "detail",
        "frames by",
        [
          ["line", "line"],
          ["method", "method"],
          ["file", "file"],
        ],
        state,
      ),
      (this.search = field("search", "search", { placeholder: "method or path" }, state)),
      field("class", "class", { placeholder: "any", suggestions: this.largest("class", SUGGESTIONS) }, state),
      list("type", "type", this.options("type"), state),
      list("gem", "gem", this.options("gem"), state),
      field("age", "age in GCs", { placeholder: "0-10", short: true, pattern: /^\d+(-\d*)?$/ }, state),
    ].filter((control) => control);
    fill(byId("controls"), ...this.controls.map(({ element }) => element));
    const by = list(
      "by",
      "by",
      KINDS.filter((kind) => data.malloc || (kind !== "function" && kind !== "library")).map((kind) => [kind, kind]),
      state,
    );
    this.controls.push(by);
    fill(byId("table-bar"), by.element, el("span", { id: "table-note", className: "note" }));
  }

  // Texts of a column, those with the most bytes first.
  largest(column, most) {
    const { columns, rowCount } = this.view.sheet("live");
    const [texts, inuse, alloc] = [column, "inuse_space", "alloc_space"].map((name) => columns.get(name));
    const sums = new Map();
    for (let row = 0; row < rowCount; row++)
      sums.set(texts[row], (sums.get(texts[row]) || 0) + inuse[row] + alloc[row]);
    return [...sums]
      .filter(([text]) => text > 0)
      .sort((a, b) => b[1] - a[1])
      .slice(0, most)
      .map(([text]) => this.texts[text]);
  }

  options(column) {
    return [["", "any"], ...this.largest(column, Infinity).map((text) => [text, text])];
  }

  // --- drawing ---

  changed(names) {
    this.tip.show(null);
    this.parts = new Set([...(this.parts || []), ...names]);
    if (this.frameAsked) return;
    this.frameAsked = requestAnimationFrame(() => {
      this.frameAsked = null;
      this.render(this.parts);
      this.parts = null;
    });
  }

  render(names = null) {
    const only = (...some) => names !== null && [...names].every((name) => some.includes(name));
    for (const control of this.controls) control.show();
    this.shownTree = this.view.tree();
    const zoom = this.state.get("zoom");
    this.focus = this.shownTree.find(zoom === "" ? [] : zoom.split(".").map(Number));
    this.wantedFrames = this.view.wanted();
    if (!only("by", "sort")) this.drawGraph();
    this.drawTable();
    this.drawSummary();
    if (!only("by", "sort", "zoom", "mark", "search", "graph", "direction", "detail")) this.drawAges();
    byId("link").href = this.state.text() || "#";
    this.drawn = (this.drawn || 0) + 1;
  }

  drawGraph() {
    const graph = byId("graph");
    const flame = this.state.get("graph") === "flame";
    const keepFocus = graph.contains(document.activeElement);
    this.look = new FrameLook(this.view, this.shownTree, this.wantedFrames);
    if (this.shownTree.root.width > 0) {
      for (const note of graph.querySelectorAll("p")) note.remove();
      this.flame.draw(this.shownTree, this.focus, { flame, keepFocus });
      if (flame !== this.wasFlame) graph.scrollTop = flame ? graph.scrollHeight : 0;
      this.wasFlame = flame;
    } else if (!graph.querySelector("p")) {
      graph.prepend(el("p", { className: "note" }, "Nothing matches."));
    }
    graph.querySelector("svg")?.toggleAttribute("hidden", !(this.shownTree.root.width > 0));
    const path = [];
    for (let node = this.focus; node.parent; node = node.parent)
      path.unshift(cut(visible(this.texts[this.frames.get("method")[node.group]]), 40));
    byId("place").textContent = path.length
      ? path.slice(-4).join(" › ")
      : this.state.get("direction") === "callers"
        ? "From the lines that memory is put down to, to their callers"
        : "From the root to what it calls";
    byId("place").title = cut(path.join(" › "), 2000);
    byId("out").hidden = path.length === 0;
    this.drawLegend();
  }

  drawLegend() {
    const swatch = (kind, text) => el("span", {}, el("span", { className: `swatch ${kind}` }), text);
    const growth = this.state.get("value") === "growth";
    const kinds = growth
      ? [
          swatch("grown", "grew"),
          swatch("shrunk", "shrank"),
          swatch("noise", "within noise"),
          swatch("rest", "narrower"),
          el("span", {}, "width: how much stacks changed"),
        ]
      : [...Object.entries(KINDS_OF_CODE).map(([kind, text]) => swatch(kind, text)), swatch("rest", "narrower")];
    if (this.wantedFrames) kinds.push(swatch("found", "found"));
    fill(byId("legend"), ...kinds);
  }

  drawTable() {
    const { state, data } = this;
    const value = state.get("value");
    const by = state.get("by");
    const sheet = this.view.sheet();
    const zoomed = this.focus.parent !== null;
    const mask = zoomed ? sheet.within(this.view.mask(), this.shownTree.ranges(this.focus)) : this.view.mask();
    const groups = new Groups(sheet, mask, ESTIMATES[value], by, (kind) => this.view.groupOf(kind));
    const code = by in DETAIL;
    this.table.draw({
      key: [this.view.sheetKey, this.view.filterKey, by, state.get("zoom")].join(" "),
      groups,
      by,
      value,
      changes: (rows) => this.changes(rows),
      unit: state.get("unit"),
      sort: state.get("sort"),
      gcCount: data.gc_count,
      totals: { value: this.view.sums().total.value(state.get("unit")) },
      matched: value !== "growth" || this.view.growth.matched,
      sides: data.malloc && state.get("memory") === "both" && state.get("unit") === "bytes" && (code || by === "gem"),
      // By line it would be taken for malloc's part of that line, which may be another's.
      buffers: data.memsize && by === "class",
      code,
      memory: state.get("memory"),
      names: this,
      marked: (row) => this.marked(by, row),
    });
    byId("table-note").textContent = zoomed
      ? "of what is zoomed in on; shares are of all"
      : "~ fewer than 10 samples: weak";
  }

  // Which way the rows of the table went, as many as they are; they come in one order.
  changes(rows) {
    const { view, state } = this;
    const key = [
      view.sheetKey,
      view.filterKey,
      ...["by", "unit", "zoom", "detail", "direction"].map((name) => state.get(name)),
    ].join(" ");
    return view.recent("changes", key, () =>
      changes(
        rows.map(({ estimate }) => estimate),
        state.get("unit"),
      ),
    );
  }

  drawSummary() {
    const { state } = this;
    const unit = state.get("unit");
    const total = this.view.sums().total;
    const value = state.get("value");
    const parts = [el("span", { className: "strong" }, `${TITLES[value]}: ${this.figures(total)}`)];
    if (value === "live" && unit === "bytes") parts.push(this.resident(total));
    const filtered =
      ["class", "type", "gem", "age"].some((name) => state.get(name) !== "") || state.get("memory") !== "both";
    if (filtered) parts.push(" (filtered)");
    if (this.wantedFrames) {
      const found = this.view.found(this.wantedFrames);
      const share =
        value !== "growth" && total.value(unit) > 0 ? `, ${percent(found.value(unit) / total.value(unit))}` : "";
      parts.push(` · found: ${found.zero ? "nothing" : `${this.figures(found)}${share}`}`);
    }
    parts.push(" ", el("span", { className: "note" }, value === "growth" ? this.growthNote() : NOTES[value]));
    if (value === "allocated" && this.data.malloc && !this.data.malloc_alloc_known)
      parts.push(el("span", { className: "note" }, " Heap slots alone."));
    for (const warning of this.warnings()) parts.push(" ", el("span", { className: "warning" }, warning));
    fill(byId("summary"), ...parts);
  }

  // What of it is resident, where that differs: memory that nobody has touched fills none.
  resident(total) {
    const mask = this.view.mask();
    const sum = this.view
      .sheet()
      .columns.get("resident")
      .reduce((all, bytes, row) => all + bytes * mask[row], 0);
    return isUntouched(total.space, sum) ? `, ${amount(sum, "bytes")} of it resident` : "";
  }

  figures(estimate) {
    const unit = this.state.get("unit");
    const net = "gained" in estimate;
    if (estimate.zero) return net ? "nothing changed" : "nothing sampled";
    const within = interval(estimate, unit);
    const objects = unit === "bytes" ? ` in ${count(estimate.objects, net)} objects` : " objects";
    return `${amount(estimate.value(unit), unit, net)} ${within.startsWith("±") ? within : `(${within})`}${objects}, ${count(estimate.samples)} samples`;
  }

  growthNote() {
    const { seconds, gcs, matched, same_run: sameRun } = this.view.growth;
    const span = [seconds !== null && seconds >= 0 ? duration(seconds) : "", gcs !== null ? `${count(gcs)} GCs` : ""]
      .filter((text) => text)
      .join(", ");
    const how = matched
      ? "Births and deaths in between; what survived adds nothing."
      : sameRun
        ? "The sampling interval changed in between: totals are compared."
        : "Not of one session of one process: totals are compared.";
    return `${span ? `Over ${span}. ` : ""}${how}`;
  }

  warnings() {
    const warnings = [];
    if (this.state.get("value") === "growth") {
      if (this.view.growth.malloc_left_out)
        warnings.push("Malloc was sampled for one of the two profiles only: it is left out.");
      if (this.view.growth.gcs === 0)
        warnings.push("No GC ran in between: what is in use in slots cannot have changed.");
    }
    return warnings;
  }

  drawAges() {
    const { state, data } = this;
    if (data.gc_count === null)
      return fill(byId("generations"), el("p", { className: "note" }, "The profile does not tell GCs."));
    const sheet = this.view.sheet("live");
    const filter = this.view.filter();
    const found = generations(sheet, sheet.mask({ ...filter, ages: null }, data.gc_count), data.gc_count);
    drawGenerations(byId("generations"), found, state.get("unit"), filter.ages, {
      age: (from, to) => {
        const age = from === to ? String(from) : `${from}-${to}`;
        state.set({ age: state.get("age") === age ? "" : age });
      },
      hover: (lines, where) => this.tip.show(lines, where),
    });
  }

  // The page was made wider or narrower.
  watchWidth() {
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      this.changed(["value"]);
      drawMemory(byId("memory"), this.data, { hover: (lines, where) => this.tip.show(lines, where) });
    });
  }

  // --- what is clicked and typed ---

  marked(by, row) {
    const { state } = this;
    if (["class", "type", "gem"].includes(by)) return state.get(by) !== "" && state.get(by) === row.name;
    return state.get("mark") === `${DETAIL[by]}:${row.key}`;
  }

  // A class, type or gem filters; code is marked in the graph.
  select(row) {
    const by = this.state.get("by");
    const off = this.marked(by, row);
    if (["class", "type", "gem"].includes(by)) this.state.set({ [by]: off || row.key <= 0 ? "" : row.name });
    else if (by in DETAIL) this.state.set({ mark: off || row.key === 0 ? "" : `${DETAIL[by]}:${row.key}`, search: "" });
    else if (row.key > 0) this.state.set({ search: this.state.get("search") === row.name ? "" : row.name, mark: "" });
  }

  zoomOut() {
    if (this.focus.parent) this.state.set({ zoom: pathOf(this.focus.parent).join(".") });
  }

  // Keys that mean the same everywhere; those of a frame are the graph's.
  key(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    if (event.key === "Escape") return this.escape(typing, event.target);
    if (typing) return;
    const other = (name, one, two) => () =>
      this.state.set({
        [name]: this.state.get(name) === one ? two : one,
        ...(name === "direction" ? { zoom: "" } : {}),
      });
    const keys = {
      "/": () => this.search.input.focus(),
      "?": () => byId("help").showModal(),
      c: other("direction", "callees", "callers"),
      i: other("graph", "icicle", "flame"),
      b: other("unit", "bytes", "objects"),
      t: () => this.theme.next(),
      g: () => byId("graph").querySelector('.frame[tabindex="0"]')?.focus(),
      Backspace: () => this.zoomOut(),
    };
    for (const button of document.querySelectorAll('[data-name="value"]')) {
      keys[String(Object.keys(ESTIMATES).indexOf(button.dataset.value) + 1)] = () => button.click();
    }
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  }

  // One step back: the field, what is marked, the zoom.
  escape(typing, target) {
    this.tip.show(null);
    if (typing) {
      if (target.dataset.name === "search") this.state.set({ search: "" });
      target.blur();
    } else if (this.state.get("mark") || this.state.get("search")) {
      this.state.set({ mark: "", search: "" });
    } else {
      this.zoomOut();
    }
  }

  // --- for tests ---

  // The rows of the table as they are sorted, with figures that are not rounded.
  rows() {
    const unit = this.state.get("unit");
    return this.table.rows.map(({ estimate, name, place, direction }) => ({
      name,
      place,
      value: estimate.value(unit),
      objects: estimate.objects,
      interval: estimate.interval(unit),
      samples: estimate.samples,
      weak: estimate.weak,
      direction,
    }));
  }
}
