// The page: what is shown, from the data and the state, and what clicks do.
import { drawGcs } from "./gcs.js";
import { drawGenerations, drawMemory, generations } from "./charts.js";
import { drawDiagnosis } from "./diagnosis.js";
import { el, fill } from "./dom.js";
import { changes } from "./estimate.js";
import { Flame } from "./flame.js";
import { count, cut, visible } from "./format.js";
import { FrameLook } from "./frame_look.js";
import { Groups } from "./groups.js";
import { Keys } from "./keys.js";
import { drawLegend } from "./legend.js";
import { help, Theme, Tip } from "./overlays.js";
import { framesAt, shortened } from "./places.js";
import { inWindow } from "./scroll.js";
import { ESTIMATES, Selection } from "./selection.js";
import { State } from "./state.js";
import { Summary } from "./summary.js";
import { Table } from "./table.js";
import { Toolbar } from "./toolbar.js";
import { pathTo } from "./trees.js";

// What the address says that does not change the rows, or which of them are counted.
const OF_TABLE = ["by", "sort", "columns"];
const OF_GRAPH = [...OF_TABLE, "zoom", "mark", "search", "graph", "direction", "detail", "frames", "small"];

// Where the graph begins, by its direction.
const STARTS = {
  code: ["From the root to what it calls", "From the lines that memory is charged to, to their callers"],
  kept: ["From the roots of the heap to what they retain", "From what is retained, to the roots of the heap"],
};

const narrow = () => window.matchMedia("(max-width: 700px)").matches;
const byId = (id) => document.getElementById(id);

export class App {
  constructor(data) {
    this.processes = [data, ...data.others].map((process) => ({ ...data, ...process, first: data }));
    this.texts = data.texts;
    this.frames = data.frames;
    this.state = new State(window, (names) => this.changed(names));
    this.tip = new Tip(byId("tip"));
    this.theme = new Theme(byId("theme"));
    this.flame = this.makeFlame("graph", "Flame graph", () => this.look);
    this.callers = this.makeFlame("callers", "Callers", () => this.lookOfCallers);
    this.table = new Table(byId("table"), byId("columns"), {
      columns: (all) => this.state.set({ columns: all ? "all" : "some" }),
      sort: (sort) => this.state.set({ sort }),
      select: (row) => this.select(row),
    });
    this.begin();
    this.listen();
  }

  // Shows the process that the state has.
  begin() {
    this.data = this.processes[this.state.get("process")] || this.processes[0];
    this.view = new Selection(this.data, this.state);
    this.summary = new Summary(this.view);
    this.toolbar = new Toolbar(this.view);
    this.state.begin({ value: this.first() });
    this.fill();
  }

  makeFlame(id, title, look) {
    const on = {
      draw: (nodes) => look().prepare(nodes),
      zoom: (node) => (this.view.both ? this.choose(node) : this.state.set({ zoom: pathTo(node) })),
      other: (node) => this.state.set({ small: "all", ...(this.view.both ? {} : { zoom: pathTo(node) }) }),
      hover: (node, rest, where) => this.tip.show(node && look().lines(node, rest), where),
    };
    return new Flame(byId(id), title, on, (node) => look().of(node));
  }

  // Shows callers and callees of a frame; of a fold, its frames.
  choose({ group }) {
    if (group >= 0) this.state.set({ direction: "both", mark: `${this.state.get("detail")}:${group + 1}`, zoom: "" });
    else this.state.set({ frames: "all" });
  }

  // What stays as it is while one process is shown.
  fill() {
    const sheet = this.view.sheet("inuse");
    const sizes = `${count(sheet.rowCount)} rows, ${count(sheet.stackCount - 1)} stacks, ${count(this.frames.get("path").length)} frames.`;
    const about = this.data.about.map((line) => el("p", {}, visible(line)));
    fill(byId("about"), ...about, el("p", { className: "note" }, sizes));
    const places = ["process", "main", "search", "filters", "graph", "table"].map((name) => [
      name,
      byId(`${name}-controls`),
    ]);
    this.toolbar.place(Object.fromEntries(places), byId("filters-button"));
    this.toolbar.search.input.addEventListener("keydown", (event) => event.key === "Enter" && this.zoomToFound());
    byId("diagnosis").hidden = !this.data.diagnosis;
    drawDiagnosis(byId("verdict"), byId("findings"), this.data.diagnosis, this.data.process, this.data.states, {
      select: (lines) => this.showLine(lines),
      short: (line) => shortened(line, this.view),
    });
    this.drawMemory();
  }

  listen() {
    help(byId("help"));
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    byId("out").addEventListener("click", () => this.zoomOut());
    this.keys = new Keys(this.state, {
      busy: () => byId("help").open,
      search: () => this.toolbar.search.input.focus(),
      help: () => byId("help").showModal(),
      theme: () => this.theme.next(),
      graph: () => byId("graph").querySelector('.frame[tabindex="0"]')?.focus(),
      zoomOut: () => this.zoomOut(),
      hide: () => this.tip.show(null),
    });
    this.watchWidth();
  }

  // What is shown at first: growth where there is one; without live memory, young memory.
  first() {
    if (this.toolbar.values()[this.data.opens]) return this.data.opens;
    if (this.data.growths.length) return "growth";
    return !this.toolbar.some("inuse") && this.toolbar.some("young") ? "young" : "inuse";
  }

  // --- drawing ---

  changed(names) {
    this.tip.show(null);
    const chosen = this.focus;
    if (names.includes("direction") && this.view.both && !this.state.get("mark") && chosen?.parent) this.choose(chosen);
    this.parts = new Set([...(this.parts || []), ...names]);
    if (this.frameAsked) return;
    this.frameAsked = requestAnimationFrame(() => {
      this.frameAsked = null;
      this.render(this.parts);
      this.parts = null;
    });
  }

  render(names = null) {
    if (names?.has("process")) {
      const focused = document.activeElement?.dataset.name;
      this.begin();
      if (focused) document.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
    }
    const only = (some) => names !== null && [...names].every((name) => some.includes(name));
    this.toolbar.show();
    this.arrange();
    this.shownTree = this.view.tree();
    this.focus = this.zoomed();
    this.wantedFrames = this.view.wanted();
    if (!only(OF_TABLE)) this.drawGraph();
    this.drawTable();
    this.drawTitle();
    fill(byId("summary"), ...this.summary.parts(this.wantedFrames));
    if (!only(OF_GRAPH)) this.drawAges();
    byId("link").href = this.state.text() || "#";
    this.showFound(names);
    this.drawn = (this.drawn || 0) + 1;
  }

  // On a phone the list of lines comes before the graph.
  arrange() {
    const [graph, table] = [byId("graph-section"), byId("table-section")];
    const [first, second] = narrow() ? [table, graph] : [graph, table];
    if (first.nextElementSibling !== second) first.parentNode.prepend(first);
  }

  zoomed() {
    const zoom = this.state.get("zoom");
    return this.shownTree.find(zoom === "" ? [] : zoom.split("."));
  }

  drawTitle() {
    const growth = this.state.get("value") === "growth" ? this.view.growth : null;
    const title = visible((growth || this.data).title);
    byId("title").textContent = title;
    byId("title").title = title;
    if (document.title !== title) document.title = title;
  }

  drawGraph() {
    const graph = byId("graph");
    const flame = this.state.get("graph") === "flame" && !this.view.both;
    const keepFocus = graph.contains(document.activeElement);
    const some = this.shownTree.root.width > 0;
    const { callers } = this.shownTree;
    // What is searched for is never among the others.
    const all = this.state.get("small") === "all" || this.wantedFrames !== null;
    this.look = new FrameLook(this.view, this.shownTree, this.wantedFrames);
    byId("callers").hidden = !callers || !some;
    if (callers && some) {
      this.lookOfCallers = new FrameLook(this.view, callers, this.wantedFrames);
      this.callers.draw(callers, callers.root, { flame: true, keepFocus: false, all });
      byId("callers").scrollTop = byId("callers").scrollHeight;
    }
    if (some) {
      for (const note of graph.querySelectorAll("p")) note.remove();
      this.flame.draw(this.shownTree, this.focus, { flame, keepFocus, all });
      if (flame !== this.wasFlame) graph.scrollTop = flame ? graph.scrollHeight : 0;
      this.wasFlame = flame;
      if (this.focus.parent) this.flame.showFocus();
    } else if (!graph.querySelector("p")) {
      graph.prepend(el("p", { className: "note" }, "Nothing matches."));
    }
    graph.querySelector("svg")?.toggleAttribute("hidden", !some);
    this.drawPlace();
    drawLegend(byId("legend"), {
      growth: this.state.get("value") === "growth",
      kept: this.state.get("value") === "kept",
      folds: this.view.folded !== null,
      found: this.wantedFrames !== null,
      zoomed: this.focus.parent !== null,
    });
  }

  // Where in the tree the graph is: the way to what is zoomed in on, and the whole of that.
  drawPlace() {
    const path = [];
    for (let node = this.focus; node.parent; node = node.parent) path.unshift(this.look.of(node).short);
    const [fromRoot, fromLine] = STARTS[this.state.get("value") === "kept" ? "kept" : "code"];
    const place = byId("place");
    const start = this.state.get("direction") === "callers" ? fromLine : fromRoot;
    const name = this.view.both ? this.look.of(this.focus).name : "";
    place.textContent = path.length
      ? path
          .slice(-4)
          .map((name) => cut(name, 60))
          .join(" › ")
      : name
        ? `Callers above, callees below: ${cut(name, 120)}`
        : start;
    place.title = cut(path.join(" › "), 2000);
    byId("out").hidden = path.length === 0 && this.state.get("small") !== "all";
    fill(byId("details"), ...(path.length ? this.look.lines(this.focus, 0).map((line) => el("bdi", {}, line)) : []));
  }

  drawTable() {
    const { state, data, view } = this;
    const value = state.get("value");
    const by = view.kinds.get(state.get("by"));
    const sheet = view.sheet();
    const zoomed = this.focus.parent !== null;
    const mask = zoomed ? sheet.within(view.mask(), this.shownTree.ranges(this.focus)) : view.mask();
    const groups = new Groups(sheet, mask, ESTIMATES[value], by, (kind) => view.groupOf(kind));
    const code = Boolean(by.detail);
    const found = this.foundGroups(by);
    this.table.draw({
      key: [view.sheetKey, view.filterKey, by.name, state.get("zoom")].join(" "),
      groups,
      by,
      value,
      changes: (rows) => this.changes(rows),
      unit: state.get("unit"),
      sort: state.get("sort"),
      all: state.get("columns") === "all",
      gcCount: data.gc_count,
      totals: { value: view.sums().total.value(state.get("unit")) },
      matched: value !== "growth" || view.growth.matched,
      sides:
        data.malloc && state.get("memory") === "both" && state.get("unit") === "bytes" && (code || by.name === "gem"),
      // By line it would be taken for malloc's part of that line, which may be another's.
      buffers: data.memsize && by.name === "class",
      code,
      memory: state.get("memory"),
      names: this,
      marked: (row) => this.marked(by, row),
      step: narrow() ? 10 : 100,
      found,
    });
    byId("table-note").textContent = zoomed
      ? "of the zoomed part; shares are of the total"
      : "~ fewer than 10 samples: weak";
  }

  // Which rows of the table the search finds.
  foundGroups({ detail }) {
    const search = this.state.get("search").toLowerCase();
    if (!search) return () => false;
    if (!detail) return (row) => row.name.toLowerCase().includes(search);
    const groups = this.view.groupOf(detail);
    const keys = new Set();
    this.wantedFrames.forEach((on, frame) => on && keys.add(groups[frame] + 1));
    return (row) => keys.has(row.key);
  }

  // Which way the rows of the table went, as many as they are; they come in one order.
  changes(rows) {
    const { view, state } = this;
    const names = ["by", "unit", "zoom", "detail", "direction", "frames"];
    const key = [view.sheetKey, view.filterKey, ...names.map((name) => state.get(name))].join(" ");
    return view.recent("changes", key, () =>
      changes(
        rows.map(({ estimate }) => estimate),
        state.get("unit"),
      ),
    );
  }

  drawAges() {
    const { state, data } = this;
    if (data.gc_count === null)
      return fill(byId("generations"), el("p", { className: "note" }, "The profile has no GC counts."));
    const sheet = this.view.sheet("inuse");
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

  drawMemory() {
    const chart = this.data.diagnosis ? byId("over-time") : null;
    const on = { hover: (lines, where) => this.tip.show(lines, where) };
    drawMemory(byId("memory"), this.data, on, chart);
    drawGcs(chart?.firstChild ? chart : byId("memory"), this.data, on);
  }

  // The page was made wider or narrower.
  watchWidth() {
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      this.changed(["value"]);
      this.drawMemory();
    });
  }

  // --- what is clicked and found ---

  marked({ name, detail }, row) {
    const { state, view } = this;
    if (view.filters.includes(name)) return state.get(name) !== "" && state.get(name) === row.name;
    return state.get("mark") === `${detail}:${row.key}`;
  }

  // A class, type or gem filters; code is marked in the graph.
  select(row) {
    const { state, view } = this;
    const by = view.kinds.get(state.get("by"));
    const off = this.marked(by, row);
    this.follow = true;
    if (view.filters.includes(by.name)) state.set({ [by.name]: off || row.key <= 0 ? "" : row.name });
    else if (by.detail) {
      const mark = off || row.key === 0 ? "" : `${by.detail}:${row.key}`;
      state.set({ mark, search: "", ...(view.both ? { detail: by.detail } : {}) });
    } else if (row.key > 0) state.set({ search: state.get("search") === row.name ? "" : row.name, mark: "" });
  }

  // Scrolls to what was searched for or marked; what is too narrow to be drawn is zoomed in on.
  showFound(names) {
    const follow = this.follow;
    this.follow = false;
    if (names === null || !this.wantedFrames || !(names.has("mark") || names.has("search"))) return;
    const frame = this.flame.showFound();
    this.table.showFound();
    if (!follow) return;
    if (frame) inWindow(frame);
    else this.zoomToFound();
  }

  // Where most of what is found is, if it is anywhere.
  zoomToFound() {
    const wanted = this.view.wanted();
    const groups = wanted && this.view.tree().widest(wanted);
    if (groups) this.state.set({ zoom: pathTo(this.view.tree().reach(groups)) });
    return groups !== null;
  }

  // One of some lines of a finding, the first that the profile has: in the graph and in the table.
  showLine(lines) {
    for (const line of lines) {
      const wanted = framesAt(line, this.view);
      if (!wanted) continue;
      const mark = `line:${this.view.groupOf("line")[wanted.indexOf(1)] + 1}`;
      this.state.set({ by: "line", detail: "line", direction: "callees", search: "", zoom: "", mark });
      if (!this.zoomToFound()) {
        this.state.set({ value: "inuse" });
        this.zoomToFound();
      }
      inWindow(byId("graph-section"));
      return;
    }
  }

  zoomOut() {
    if (this.state.get("small") === "all") this.state.set({ small: "other" });
    else if (this.focus.parent) this.state.set({ zoom: pathTo(this.focus.parent) });
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
