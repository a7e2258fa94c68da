// What is shown: the rows that pass the filters, their sums, and their tree, by the
// state. Results are cached.
import { foldedFrames } from "./folding.js";
import { groupFrames } from "./groups.js";
import { Sheet } from "./sheet.js";
import { Callees, Callers, sandwich } from "./trees.js";

// The estimates behind each value.
export const ESTIMATES = {
  inuse: ["inuse"],
  allocated: ["alloc"],
  young: ["young"],
  freed: ["freed"],
  growth: ["gained", "lost"],
  kept: ["inuse"],
};

export class Selection {
  constructor(data, state) {
    this.data = data;
    this.state = state;
    this.texts = data.texts;
    this.frames = data.frames;
    this.kinds = new Map(data.groups.map((kind) => [kind.name, kind]));
    this.known = new Map();
  }

  // What is worked out once for the same arguments.
  once(key, make) {
    if (!this.known.has(key)) this.known.set(key, make());
    return this.known.get(key);
  }

  sheet(value = this.state.get("value")) {
    const growth = value === "growth" ? this.growth : null;
    const kept = value === "kept";
    const columns = growth ? growth.columns : kept ? this.data.kept : this.data.profile;
    return this.once(`sheet ${growth ? this.state.get("since") : ""} ${kept ? "kept" : ""}`, () => new Sheet(columns));
  }

  get growth() {
    return this.data.growths[Number(this.state.get("since"))] || this.data.growths[0];
  }

  groupOf(detail) {
    return this.once(`detail ${detail}`, () => groupFrames(this.frames, detail));
  }

  // The kinds of texts by which rows are filtered.
  get filters() {
    return [...this.kinds.values()].filter(({ detail, malloc }) => !detail && !malloc).map(({ name }) => name);
  }

  // The frames that are folded, a byte each; null: none is.
  get folded() {
    return this.state.get("frames") === "app" ? this.foldable : null;
  }

  get foldable() {
    return this.once("folded", () => foldedFrames(this.frames));
  }

  // The filter of the state: texts by column, ages, memory.
  filter() {
    const { state } = this;
    const texts = new Map();
    for (const name of this.filters) {
      const value = state.get(name);
      if (value !== "")
        texts.set(name, name === "class" ? this.classesLike(value) : new Set([this.texts.indexOf(value)]));
    }
    const age = /^(\d+)(-(\d*))?$/.exec(state.get("age"));
    const ages = age
      ? [Number(age[1]), age[2] === undefined ? Number(age[1]) : age[3] === "" ? Infinity : Number(age[3])]
      : null;
    return { memory: state.get("memory"), texts, ages };
  }

  // The class of that name or, if there is none, those that have it in their names.
  classesLike(name) {
    const { texts, classes } = this;
    const same = classes.filter((text) => texts[text] === name);
    const part = name.toLowerCase();
    return new Set(same.length ? same : classes.filter((text) => texts[text].toLowerCase().includes(part)));
  }

  // The texts that are classes in the profile or one of the growths.
  get classes() {
    return this.once("classes", () => {
      const seen = new Uint8Array(this.texts.length);
      const kept = this.data.kept ? [this.data.kept] : [];
      for (const columns of [this.data.profile, ...kept, ...this.data.growths.map((growth) => growth.columns)]) {
        for (const text of columns.get("class")) seen[text] = 1;
      }
      return [...seen.keys()].filter((text) => seen[text]);
    });
  }

  get filterKey() {
    return JSON.stringify(["memory", "age", ...this.filters].map((name) => this.state.get(name)));
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
    return this.recent("mask", `${sheet.growth} ${this.sheetKey} ${this.filterKey}`, () =>
      sheet.mask(this.filter(), this.data.gc_count),
    );
  }

  sums() {
    const { state } = this;
    const key = `${this.sheetKey} ${state.get("unit")} ${this.filterKey}`;
    return this.recent("sums", key, () =>
      this.sheet().sums(this.mask(), ESTIMATES[state.get("value")], state.get("unit")),
    );
  }

  tree() {
    const { state } = this;
    const sums = this.sums();
    const groupOf = this.groupOf(state.get("detail"));
    const names = ["unit", "detail", "direction", "frames", ...(this.both ? ["mark"] : [])];
    const key = [this.sheetKey, this.filterKey, ...names.map((name) => state.get(name))];
    return this.recent("tree", key.join(" "), () => {
      if (!this.both) return new (state.get("direction") === "callers" ? Callers : Callees)(sums, groupOf, this.folded);
      const chosen = this.marked ?? this.widest(sums, groupOf);
      return sandwich(sums, groupOf, this.folded, chosen, groupOf[chosen.indexOf(1)]);
    });
  }

  // Are callers and callees shown, of one function?
  get both() {
    return this.state.get("direction") === "both";
  }

  // The frames of the marked row, a byte each; null: none is marked.
  get marked() {
    const mark = /^(line|method|file):(\d+)$/.exec(this.state.get("mark"));
    if (!mark) return null;
    const frames = Uint8Array.from(this.groupOf(mark[1]), (group) => (group === Number(mark[2]) - 1 ? 1 : 0));
    return frames.includes(1) ? frames : null;
  }

  // The frames of the line that most memory is charged to.
  widest(sums, groupOf) {
    const callers = new Callers(sums, groupOf, null);
    const [first] = callers.children(callers.root);
    return Uint8Array.from(groupOf, (group) => (group === (first?.group ?? 0) ? 1 : 0));
  }

  // The frames that are searched for or marked: a byte each, or null.
  wanted() {
    const { state } = this;
    const search = state.get("search").toLowerCase();
    if (!search && (this.both || !state.get("mark"))) return null;
    return this.recent("wanted", `${search} ${state.get("mark")}`, () => {
      if (!search) return this.marked;
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
}
