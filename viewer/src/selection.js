// What is looked at: the rows that pass the filters, what they add up to, and the
// tree of it, for what the state tells. What was worked out is kept.
import { groupFrames } from "./groups.js";
import { Sheet } from "./sheet.js";
import { Callees, Callers } from "./trees.js";

// The estimates behind each value.
export const ESTIMATES = {
  live: ["inuse"],
  allocated: ["alloc"],
  young: ["young"],
  dead: ["dead"],
  growth: ["gained", "lost"],
};

export class Selection {
  constructor(data, state) {
    this.data = data;
    this.state = state;
    this.texts = data.texts;
    this.frames = data.frames;
    this.known = new Map();
  }

  // What is worked out once for the same arguments.
  once(key, make) {
    if (!this.known.has(key)) this.known.set(key, make());
    return this.known.get(key);
  }

  sheet(value = this.state.get("value")) {
    const growth = value === "growth" ? this.growth : null;
    const columns = growth ? growth.columns : this.data.live;
    return this.once(
      `sheet ${growth ? this.state.get("since") : ""}`,
      () => new Sheet(columns, this.data.malloc_births),
    );
  }

  get growth() {
    return this.data.growths[Number(this.state.get("since"))] || this.data.growths[0];
  }

  groupOf(detail) {
    return this.once(`detail ${detail}`, () => groupFrames(this.frames, detail));
  }

  // The filter that the state tells. A class is a name, or if there is none like
  // that, a part of names.
  filter() {
    const { state, texts } = this;
    const number = (text) => (text === "" ? null : texts.indexOf(text));
    const name = state.get("class");
    let classes = null;
    if (name !== "") {
      const all = this.classes;
      const same = all.filter((text) => texts[text] === name);
      const part = name.toLowerCase();
      classes = new Set(same.length ? same : all.filter((text) => texts[text].toLowerCase().includes(part)));
    }
    const age = /^(\d+)(-(\d*))?$/.exec(state.get("age"));
    const ages = age
      ? [Number(age[1]), age[2] === undefined ? Number(age[1]) : age[3] === "" ? Infinity : Number(age[3])]
      : null;
    return {
      memory: state.get("memory"),
      classes,
      type: number(state.get("type")),
      gem: number(state.get("gem")),
      ages,
    };
  }

  // The texts that are classes in the profile or one of the growths.
  get classes() {
    return this.once("classes", () => {
      const seen = new Uint8Array(this.texts.length);
      for (const columns of [this.data.live, ...this.data.growths.map((growth) => growth.columns)]) {
        for (const text of columns.get("class")) seen[text] = 1;
      }
      return [...seen.keys()].filter((text) => seen[text]);
    });
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
    return this.recent("mask", `${sheet.growth} ${this.state.get("since")} ${this.filterKey}`, () =>
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
    const detail = state.get("detail");
    const key = `${this.sheetKey} ${state.get("unit")} ${this.filterKey} ${detail} ${state.get("direction")}`;
    return this.recent(
      "tree",
      key,
      () => new (state.get("direction") === "callers" ? Callers : Callees)(sums, this.groupOf(detail)),
    );
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
}
