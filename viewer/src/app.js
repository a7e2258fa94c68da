// The page: what is shown, from the data and the state, and what clicks and keys do.
import { drawGenerations, drawMemory, generations } from "./charts.js";
import { choice, field, list } from "./controls.js";
import { el, fill } from "./dom.js";
import { Flame } from "./flame.js";
import { amount, count, cut, duration, interval, percent, visible } from "./format.js";
import { Groups, groupFrames, KINDS } from "./groups.js";
import { help, Theme, Tip } from "./overlays.js";
import { Sheet } from "./sheet.js";
import { State } from "./state.js";
import { Table } from "./table.js";
import { Callees, Callers, pathOf } from "./trees.js";

// The estimates behind each value.
const ESTIMATES = { live: ["inuse"], allocated: ["alloc"], young: ["young"], dead: ["dead"], growth: ["gained", "lost"] };
const TITLES = { live: "In use", allocated: "Allocated since start", young: "Young", dead: "Dead", growth: "Growth" };
const NOTES = {
  live: "Objects found alive by the last completed mark, and what malloc gave.",
  allocated: "Everything born since sampling started.",
  young: "Born since the last completed mark: not known to be in use.",
  dead: "What was allocated since sampling started and found dead.",
};
const KINDS_OF_CODE = { app: "application", gem: "gem", ruby: "Ruby's library", native: "native code" };
// A growth is drawn strong from this share of the whole on.
const MUCH = 0.1;
const SUGGESTIONS = 500;
const LABEL = 200;
const NAMESPACES = /(?:[A-Z]\w*::)+(?=[A-Z])/g;

const byId = (id) => document.getElementById(id);

export class App {
  constructor(data) {
    this.data = data;
    this.texts = data.texts;
    this.frames = data.frames;
    this.known = new Map();
    this.state = new State(window, (names) => this.changed(names));
    this.tip = new Tip(byId("tip"));
    this.theme = new Theme(byId("theme"));
    this.flame = new Flame(byId("graph"), {
      zoom: (node) => this.state.set({ zoom: pathOf(node).join(".") }),
      hover: (node, rest, where) => this.tip.show(node && this.told(node, rest), where),
    }, (node) => this.look(node));
    this.table = new Table(byId("table"), {
      sort: (sort) => this.state.set({ sort }),
      select: (row) => this.select(row),
    });
    byId("title").textContent = visible(data.title);
    fill(byId("about"), ...data.about.map((line) => el("p", {}, visible(line))), el("p", { className: "note" }, this.sizes()));
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
    const has = (name) => this.sheet("live").estimate(name)[0].some((samples) => samples > 0);
    return value === "live" && !has("inuse") && has("young") ? "young" : value;
  }

  sizes() {
    const live = this.sheet("live");
    return `${count(live.rowCount)} rows, ${count(live.stackCount - 1)} stacks, ${count(this.frames.get("path").length)} frames.`;
  }

  // What is worked out once for the same arguments.
  once(key, make) {
    if (!this.known.has(key)) this.known.set(key, make());
    return this.known.get(key);
  }

  sheet(value = this.state.get("value")) {
    const growth = value === "growth" ? this.growth : null;
    const columns = growth ? growth.columns : this.data.live;
    return this.once(`sheet ${growth ? this.state.get("since") : ""}`, () => new Sheet(columns, this.frames));
  }

  get growth() {
    return this.data.growths[Number(this.state.get("since"))] || this.data.growths[0];
  }

  groupOf(detail) {
    return this.once(`detail ${detail}`, () => groupFrames(this.frames, detail));
  }

  // --- controls ---

  makeControls() {
    const { data, state } = this;
    const values = { live: "Live", allocated: "Allocated" };
    state.allow("value", (value) => Object.hasOwn(values, value));
    state.allow("since", (value) => /^\d+$/.test(value) && Number(value) < Math.max(1, data.growths.length));
    state.allow("memory", (value) => value === "both" || data.malloc);
    const live = this.sheet("live");
    const some = (name) => live.estimate(name)[0].some((samples) => samples > 0);
    if (some("young")) values.young = "Young";
    if (some("dead")) values.dead = "Dead";
    if (data.growths.length) values.growth = "Growth";
    const since = data.growths.map((growth, i) => [String(i), growth.seconds === null ? `profile ${i + 1}`
      : `${duration(growth.seconds)} before${growth.since ? `, ${growth.since.slice(11, 19)}` : ""}`]);
    this.controls = [
      choice("value", "Value", values, state),
      data.growths.length > 1 ? list("since", "since", since, state, () => state.get("value") === "growth") : null,
      data.malloc ? choice("memory", "Memory", { both: "Both", slots: "Slots", malloc: "Malloc" }, state) : null,
      choice("unit", "Unit", { bytes: "Bytes", objects: "Objects" }, state),
      choice("direction", "Direction", { callees: "Callees", callers: "Callers" }, state),
      choice("graph", "Graph", { icicle: "Icicle", flame: "Flame" }, state),
      list("detail", "frames by", [["line", "line"], ["method", "method"], ["file", "file"]], state),
      (this.search = field("search", "search", { placeholder: "method or path" }, state)),
      field("class", "class", { placeholder: "any", suggestions: this.largest("class", SUGGESTIONS) }, state),
      list("type", "type", this.options("type"), state),
      list("gem", "gem", this.options("gem"), state),
      field("age", "age in GCs", { placeholder: "0-10", short: true, pattern: /^\d+(-\d*)?$/ }, state),
    ].filter((control) => control);
    fill(byId("controls"), ...this.controls.map(({ element }) => element));
    const by = list("by", "by", KINDS.filter((kind) => data.malloc || (kind !== "function" && kind !== "library")).map((kind) => [kind, kind]), state);
    this.controls.push(by);
    fill(byId("table-bar"), by.element, el("span", { id: "table-note", className: "note" }));
  }

  // Texts of a column, those with the most bytes first.
  largest(column, most) {
    const { columns, rowCount } = this.sheet("live");
    const [texts, inuse, alloc] = [column, "inuse_space", "alloc_space"].map((name) => columns.get(name));
    const sums = new Map();
    for (let row = 0; row < rowCount; row++) sums.set(texts[row], (sums.get(texts[row]) || 0) + inuse[row] + alloc[row]);
    return [...sums].filter(([text]) => text > 0).sort((a, b) => b[1] - a[1]).slice(0, most).map(([text]) => this.texts[text]);
  }

  options(column) {
    return [["", "any"], ...this.largest(column, Infinity).map((text) => [text, text])];
  }

  // --- what is looked at ---

  // The filter that the state tells. A class is a name, or if there is none like
  // that, a part of names.
  filter() {
    const { state, texts } = this;
    const number = (text) => (text === "" ? null : texts.indexOf(text));
    const name = state.get("class");
    let classes = null;
    if (name !== "") {
      const all = new Set([...this.data.live.get("class"), ...(this.sheet().growth ? this.sheet().columns.get("class") : [])]);
      const same = [...all].filter((text) => texts[text] === name);
      const part = name.toLowerCase();
      classes = new Set(same.length ? same : [...all].filter((text) => texts[text].toLowerCase().includes(part)));
    }
    const age = /^(\d+)(-(\d*))?$/.exec(state.get("age"));
    const ages = age ? [Number(age[1]), age[2] === undefined ? Number(age[1]) : age[3] === "" ? Infinity : Number(age[3])] : null;
    return { memory: state.get("memory"), classes, type: number(state.get("type")), gem: number(state.get("gem")), ages };
  }

  get filterKey() {
    return JSON.stringify(["memory", "class", "type", "gem", "age"].map((name) => this.state.get(name)));
  }

  get sheetKey() {
    const value = this.state.get("value");
    return value === "growth" ? `growth ${this.state.get("since")}` : value;
  }

  // What depends on other choices is kept for the present ones alone.
  recent(kind, key, make) {
    const last = this.known.get(kind);
    if (last && last.key === key) return last.made;
    const made = make();
    this.known.set(kind, { key, made });
    return made;
  }

  mask() {
    const sheet = this.sheet();
    return this.recent("mask", `${sheet.growth} ${this.state.get("since")} ${this.filterKey}`, () => sheet.mask(this.filter(), this.data.gc_count));
  }

  sums() {
    const { state } = this;
    const key = `${this.sheetKey} ${state.get("unit")} ${this.filterKey}`;
    return this.recent("sums", key, () => this.sheet().sums(this.mask(), ESTIMATES[state.get("value")], state.get("unit")));
  }

  tree() {
    const { state } = this;
    const sums = this.sums();
    const detail = state.get("detail");
    const key = `${this.sheetKey} ${state.get("unit")} ${this.filterKey} ${detail} ${state.get("direction")}`;
    return this.recent("tree", key, () => new (state.get("direction") === "callers" ? Callers : Callees)(sums, this.groupOf(detail)));
  }

  // The frames that are searched for or marked: a byte each, or null.
  wanted() {
    const { state } = this;
    const [search, mark] = [state.get("search").toLowerCase(), /^(line|method|file):(\d+)$/.exec(state.get("mark"))];
    if (!search && !mark) return null;
    return this.recent("wanted", `${search} ${state.get("mark")}`, () => {
      if (!search) return this.groupOf(mark[1]).map((group) => (group === Number(mark[2]) - 1 ? 1 : 0));
      return Uint8Array.from(this.searchTexts(), (text) => (text.includes(search) ? 1 : 0));
    });
  }

  searchTexts() {
    return this.once("search texts", () => {
      const [label, path, line] = ["label", "path", "line"].map((name) => this.frames.get(name));
      return Array.from(label, (text, i) => `${this.texts[text]} ${this.texts[path[i]]}:${line[i]}`.toLowerCase());
    });
  }

  // What is in stacks that have a wanted frame.
  found(wanted) {
    const sheet = this.sheet();
    const { frame, parent, stackNode, nodeCount, stackCount } = sheet;
    const on = new Uint8Array(nodeCount);
    for (let node = 1; node < nodeCount; node++) on[node] = on[parent[node]] | wanted[frame[node]];
    const ranges = [];
    for (let stack = 0; stack < stackCount; stack++) {
      if (!on[stackNode[stack]]) continue;
      if (ranges[ranges.length - 1] === stack) ranges[ranges.length - 1]++;
      else ranges.push(stack, stack + 1);
    }
    return this.sums().over(ranges);
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
    this.shownTree = this.tree();
    const zoom = this.state.get("zoom");
    this.focus = this.shownTree.find(zoom === "" ? [] : zoom.split(".").map(Number));
    this.wantedFrames = this.wanted();
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
    for (let node = this.focus; node.parent; node = node.parent) path.unshift(cut(visible(this.texts[this.frames.get("method")[node.group]]), 40));
    byId("place").textContent = path.length ? path.slice(-4).join(" › ") : this.state.get("direction") === "callers"
      ? "From the lines that memory is put down to, to their callers" : "From the root to what it calls";
    byId("place").title = cut(path.join(" › "), 2000);
    byId("out").hidden = path.length === 0;
    this.drawLegend();
  }

  drawLegend() {
    const swatch = (kind, text) => el("span", {}, el("span", { className: `swatch ${kind}` }), text);
    const growth = this.state.get("value") === "growth";
    const kinds = growth
      ? [swatch("grown", "grew"), swatch("shrunk", "shrank"), swatch("noise", "within noise"), swatch("rest", "narrower"),
        el("span", {}, "width: how much stacks changed")]
      : [...Object.entries(KINDS_OF_CODE).map(([kind, text]) => swatch(kind, text)), swatch("rest", "narrower")];
    if (this.wantedFrames) kinds.push(swatch("found", "found"));
    fill(byId("legend"), ...kinds);
  }

  drawTable() {
    const { state, data } = this;
    const value = state.get("value");
    const by = state.get("by");
    const sheet = this.sheet();
    const zoomed = this.focus.parent !== null;
    const mask = zoomed ? sheet.within(this.mask(), this.shownTree.ranges(this.focus)) : this.mask();
    const groups = new Groups(sheet, mask, ESTIMATES[value], by, (kind) => this.groupOf(kind));
    const code = ["line", "method", "file"].includes(by);
    this.table.draw({
      key: [this.sheetKey, this.filterKey, by, state.get("zoom")].join(" "),
      groups, by, value, unit: state.get("unit"), sort: state.get("sort"), gcCount: data.gc_count,
      totals: { value: this.sums().total.value(state.get("unit")) },
      matched: value !== "growth" || this.growth.matched,
      sides: data.malloc && state.get("memory") === "both" && state.get("unit") === "bytes" && ["line", "method", "file", "gem"].includes(by),
      code, memory: state.get("memory"), names: this, marked: (row) => this.marked(by, row),
    });
    byId("table-note").textContent = zoomed ? "of what is zoomed in on; shares are of all" : "~ fewer than 10 samples: weak";
  }

  drawSummary() {
    const { state } = this;
    const unit = state.get("unit");
    const total = this.sums().total;
    const value = state.get("value");
    const parts = [el("span", { className: "strong" }, `${TITLES[value]}: ${this.figures(total)}`)];
    const filtered = ["class", "type", "gem", "age"].some((name) => state.get(name) !== "") || state.get("memory") !== "both";
    if (filtered) parts.push(" (filtered)");
    if (this.wantedFrames) {
      const found = this.found(this.wantedFrames);
      const share = value !== "growth" && total.value(unit) > 0 ? `, ${percent(found.value(unit) / total.value(unit))}` : "";
      parts.push(` · found: ${found.zero ? "nothing" : `${this.figures(found)}${share}`}`);
    }
    parts.push(" ", el("span", { className: "note" }, value === "growth" ? this.growthNote() : NOTES[value]));
    if (value === "allocated" && this.data.malloc && !this.data.malloc_alloc_known) parts.push(el("span", { className: "note" }, " Heap slots alone."));
    for (const warning of this.warnings()) parts.push(" ", el("span", { className: "warning" }, warning));
    fill(byId("summary"), ...parts);
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
    const { seconds, gcs, matched, same_run: sameRun } = this.growth;
    const span = [seconds !== null && seconds >= 0 ? duration(seconds) : "", gcs !== null ? `${count(gcs)} GCs` : ""].filter((text) => text).join(", ");
    const how = matched ? "Births and deaths in between; what survived adds nothing." : sameRun
      ? "The sampling interval changed in between: totals are compared." : "Not of one session of one process: totals are compared.";
    return `${span ? `Over ${span}. ` : ""}${how}`;
  }

  warnings() {
    const warnings = [];
    if (this.state.get("value") === "growth") {
      if (this.growth.malloc_left_out) warnings.push("Malloc was sampled for one of the two profiles only: it is left out.");
      if (this.growth.gcs === 0) warnings.push("No GC ran in between: what is in use in slots cannot have changed.");
    }
    return warnings;
  }

  drawAges() {
    const { state, data } = this;
    if (data.gc_count === null) return fill(byId("generations"), el("p", { className: "note" }, "The profile does not tell GCs."));
    const sheet = this.sheet("live");
    const filter = this.filter();
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

  // --- a frame ---

  // Its text, its look, and how it is spoken.
  look(node) {
    const unit = this.state.get("unit");
    const name = this.frameName(node);
    const estimate = this.shownTree.estimate(node);
    const net = "gained" in estimate;
    const classes = [];
    if (node.group >= 0) {
      if (net) classes.push(this.growthClass(estimate, node));
      else classes.push(this.codeClass(node.group));
    } else if (net) {
      classes.push(this.growthClass(estimate, node));
    }
    const found = this.wantedFrames !== null && node.group >= 0 && this.matches(node.group);
    if (this.wantedFrames) classes.push(found ? "matched" : "unmatched");
    const spoken = `${name}, ${amount(estimate.value(unit), unit, net)}, ${net ? "" : `${percent(node.width / (this.shownTree.root.width || 1))}, `}${count(estimate.samples)} samples${estimate.weak ? ", weak" : ""}`;
    return { name, short: name.replace(NAMESPACES, ""), classes: classes.join(" "), spoken, found };
  }

  // Does one of the frames that a node stands for match?
  matches(group) {
    const groups = this.groupOf(this.state.get("detail"));
    const found = this.recent("matching groups", this.wantedKey, () => {
      const matching = new Set();
      this.wantedFrames.forEach((on, frame) => on && matching.add(groups[frame]));
      return matching;
    });
    return found.has(group);
  }

  get wantedKey() {
    return ["search", "mark", "detail"].map((name) => this.state.get(name)).join(" ");
  }

  codeClass(frame) {
    if (this.frames.get("native")[frame]) return "native";
    const gem = this.texts[this.frames.get("gem")[frame]];
    return gem === "(app)" ? "app" : gem.startsWith("(") ? "ruby" : "gem";
  }

  growthClass(net, node) {
    const direction = net.direction(this.state.get("unit"));
    if (direction === 0) return "noise";
    const much = Math.abs(net.value(this.state.get("unit"))) > MUCH * this.shownTree.root.width;
    return `${direction > 0 ? "grown" : "shrunk"}${much && node.width > 0 ? " much" : ""}`;
  }

  frameName(node) {
    if (node.group < 0) return "all";
    const detail = this.state.get("detail");
    const [label, method, short, line, native] = ["label", "method", "short", "line", "native"].map((name) => this.frames.get(name)[node.group]);
    if (native) return cut(visible(this.texts[label]), LABEL);
    if (detail === "file") return cut(visible(this.texts[short]), LABEL);
    const place = this.texts[short] + (detail === "line" && line > 0 ? `:${line}` : "");
    return `${cut(visible(this.texts[detail === "line" ? label : method]), LABEL)}${place ? ` ${cut(visible(place), LABEL)}` : ""}`;
  }

  // The lines of a tooltip.
  told(node, rest) {
    if (Array.isArray(node)) return node;
    const unit = this.state.get("unit");
    if (rest) return [`${count(rest)} frames too narrow to draw`, "Zoom in on the frame they are next to."];
    const estimate = this.shownTree.estimate(node);
    const root = this.shownTree.root;
    const lines = [];
    if (node.group < 0) {
      lines.push("all");
    } else {
      const [label, method, path, line] = ["label", "method", "path", "line"].map((name) => this.frames.get(name)[node.group]);
      const detail = this.state.get("detail");
      const place = this.texts[path] + (detail === "line" && line > 0 ? `:${line}` : "");
      if (detail !== "file") lines.push(cut(visible(this.texts[detail === "line" ? label : method]), 500));
      if (place) lines.push(cut(visible(place), 500));
    }
    if (estimate.zero) return [...lines, "nothing"];
    if ("gained" in estimate) {
      lines.push(`${amount(estimate.value(unit), unit, true)} (${interval(estimate, unit)})${estimate.direction(unit) === 0 ? ", within noise" : ""}`);
      const [gained, lost] = this.growth.matched ? ["gained", "lost"] : ["later", "earlier"];
      lines.push(`${gained} ${amount(estimate.gained.value(unit), unit)}, ${lost} ${amount(estimate.lost.value(unit), unit)}`);
    } else {
      const within = interval(estimate, unit);
      lines.push(`${amount(estimate.value(unit), unit)} ${within.startsWith("±") ? within : `(${within})`}, ${percent(node.width / root.width)}`);
      if (unit === "bytes") lines.push(`${count(estimate.objects)} objects, ${interval(estimate, "objects")}`);
      const own = node.width - this.shownTree.children(node).reduce((sum, child) => sum + child.width, 0);
      if (node.group >= 0 && own > 1e-9 * node.width) lines.push(`itself ${amount(own, unit)}`);
    }
    lines.push(`${count(estimate.samples)} samples${estimate.weak ? ": weak" : ""}`);
    return lines;
  }

  // --- what is clicked and typed ---

  marked(by, row) {
    const { state } = this;
    if (["class", "type", "gem"].includes(by)) return state.get(by) !== "" && state.get(by) === row.name;
    return state.get("mark") === `${by}:${row.key}`;
  }

  // A class, type or gem filters; code is marked in the graph.
  select(row) {
    const by = this.state.get("by");
    const off = this.marked(by, row);
    if (["class", "type", "gem"].includes(by)) this.state.set({ [by]: off || row.key <= 0 ? "" : row.name });
    else if (["line", "method", "file"].includes(by)) this.state.set({ mark: off || row.key === 0 ? "" : `${by}:${row.key}`, search: "" });
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
    const other = (name, one, two) => () => this.state.set({ [name]: this.state.get(name) === one ? two : one, ...(name === "direction" ? { zoom: "" } : {}) });
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
    return this.table.rows.map(({ estimate, name, place }) => ({
      name, place, value: estimate.value(unit), objects: estimate.objects,
      interval: estimate.interval(unit), samples: estimate.samples, weak: estimate.weak,
      direction: "gained" in estimate ? estimate.direction(unit) : 0,
    }));
  }
}
