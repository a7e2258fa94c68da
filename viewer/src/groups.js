// Rows that share a line, line of the application, method, file or a text, summed, as
// HeapSample::Groups sums them. The profile lists the kinds: each has a `name`,
// the `column` of its key, for code the `detail` that distinguishes frames, and `malloc` where slots
// have no such key.
import { Estimate, FIELDS, Net } from "./estimate.js";

export const NO_STACK = "(no stack)";
const SLOTS = "(slots)";

// Frames by what they look like: lines, methods or files. Gives each a group,
// the number of the first frame that looks the same.
export const groupFrames = (frames, kind) => {
  const [method, path, line] = ["method", "path", "line"].map((name) => frames.get(name));
  const groups = new Int32Array(path.length);
  const known = new Map();
  for (let frame = 0; frame < groups.length; frame++) {
    let key = `${path[frame]}`;
    if (kind !== "file" || frames.get("native")[frame]) key += ` ${method[frame]}`;
    if (kind === "line") key += ` ${line[frame]}`;
    if (!known.has(key)) known.set(key, frame);
    groups[frame] = known.get(key);
  }
  return groups;
};

// The key of each row: a frame, counted from 1, or a text; -1 of slots that have none.
const keysOf = (sheet, { column, detail, malloc: mallocOnly }, frameGroups) => {
  const keys = sheet.columns.get(column);
  if (detail) {
    const groups = frameGroups(detail);
    return Int32Array.from(keys, (frame) => (frame === 0 ? 0 : groups[frame - 1] + 1));
  }
  if (!mallocOnly) return keys;
  const malloc = sheet.columns.get("malloc");
  return Int32Array.from(keys, (text, row) => (malloc[row] ? text : -1));
};

export class Groups {
  // `names`: one estimate, or gained and lost.
  constructor(sheet, mask, names, kind, frameGroups) {
    this.sheet = sheet;
    const known = (sheet.keys ||= new Map());
    if (!known.has(kind.name)) known.set(kind.name, keysOf(sheet, kind, frameGroups));
    this.number(mask, known.get(kind.name));
    const estimates = names.map((name) => sheet.estimate(name).map((column) => this.sum(column)));
    const extra = this.extras(names[0]);
    this.list = this.keys.map((key, number) => {
      const parts = estimates.map((fields) => new Estimate(...FIELDS.map((_, i) => fields[i][number])));
      const group = { key, number, estimate: parts.length > 1 ? new Net(...parts) : parts[0] };
      for (const name of Object.keys(extra)) group[name] = extra[name][number];
      return group;
    });
  }

  // The rows that pass, and the number of the group of each.
  number(mask, keys) {
    const numbers = new Int32Array(this.sheet.keyLimit(keys)).fill(-1);
    const rows = new Int32Array(mask.length);
    const numberOf = new Int32Array(mask.length);
    this.keys = [];
    let count = 0;
    for (let row = 0; row < mask.length; row++) {
      if (mask[row] === 0) continue;
      const at = keys[row] + 1;
      if (numbers[at] < 0) numbers[at] = this.keys.push(keys[row]) - 1;
      numberOf[count] = numbers[at];
      rows[count++] = row;
    }
    this.rows = rows.subarray(0, count);
    this.numberOf = numberOf.subarray(0, count);
  }

  sum(column, factor = null) {
    const { rows, numberOf } = this;
    const sums = new Float64Array(this.keys.length);
    if (factor === null) for (let i = 0; i < rows.length; i++) sums[numberOf[i]] += column[rows[i]];
    else for (let i = 0; i < rows.length; i++) sums[numberOf[i]] += column[rows[i]] * factor[rows[i]];
    return sums;
  }

  // What ages and lifetimes are worked out from, and malloc's part.
  extras(name) {
    const { columns } = this.sheet;
    const malloc = columns.get("malloc");
    if (name === "inuse") {
      const allocationGc = columns.get("allocation_gc");
      const objects = columns.get("inuse_objects");
      const aged = allocationGc.map((number) => (number > 0 ? 1 : 0));
      return {
        malloc: this.sum(columns.get("inuse_space"), malloc),
        memsize: this.sum(columns.get("memsize")),
        resident: this.sum(columns.get("resident")),
        holdsFree: this.sum(columns.get("holds_free")),
        pinned: this.sum(columns.get("holds_free_pinned")),
        unshared: this.sum(columns.get("unshared")),
        gcSum: this.sum(objects, allocationGc),
        aged: this.sum(objects, aged),
      };
    }
    if (name !== "alloc") return {};
    const [alloc, freed, freedObjects, freedGcs] = ["alloc_space", "freed_space", "freed_objects", "freed_gcs"].map(
      (column) => columns.get(column),
    );
    return {
      alloc: this.sum(alloc),
      freed: this.sum(freed),
      freedObjects: this.sum(freedObjects),
      freedGcs: this.sum(freedGcs),
    };
  }

  // Texts of the classes of some groups and their bytes, live and young, the largest first;
  // malloc is a class only where it is most of the group.
  classes(groups) {
    const [klass, malloc, inuse, young] = ["class", "malloc", "inuse_space", "young_space"].map((name) =>
      this.sheet.columns.get(name),
    );
    const lists = new Map(groups.map(({ number }) => [number, new Map()]));
    const wanted = new Uint8Array(this.keys.length);
    for (const { number } of groups) wanted[number] = 1;
    for (let i = 0; i < this.rows.length; i++) {
      if (wanted[this.numberOf[i]] === 0) continue;
      const row = this.rows[i];
      const space = inuse[row] + young[row];
      if (space === 0) continue;
      const sums = lists.get(this.numberOf[i]);
      const key = klass[row] * 2 + malloc[row];
      sums.set(key, (sums.get(key) || 0) + space);
    }
    return groups.map(({ number }) => {
      const all = [...lists.get(number)];
      const bytesOf = (some) => some.reduce((sum, [, space]) => sum + space, 0);
      const objects = all.filter(([key]) => key % 2 === 0);
      return (bytesOf(objects) * 2 >= bytesOf(all) ? objects : all)
        .map(([key, space]) => [key >> 1, space])
        .sort((a, b) => b[1] - a[1]);
    });
  }
}

// The reference that retains most live memory of each of some groups, a text; 0: not known.
export const holders = (list, groups) => {
  const [holder, inuse, young] = ["holder", "inuse_space", "young_space"].map((name) => groups.sheet.columns.get(name));
  const sums = new Map(list.map(({ number }) => [number, new Map()]));
  for (let i = 0; i < groups.rows.length; i++) {
    const row = groups.rows[i];
    const own = sums.get(groups.numberOf[i]);
    if (own && holder[row] > 0) own.set(holder[row], (own.get(holder[row]) || 0) + inuse[row] + young[row]);
  }
  return list.map(({ number }) => [...sums.get(number)].sort((a, b) => b[1] - a[1])[0]?.[0] || 0);
};

// Mean number of GCs since live memory was allocated, or null.
export const age = (group, gcCount) =>
  gcCount !== null && group.aged > 0 ? gcCount + 1 - group.gcSum / group.aged : null;

// Mean number of GCs that freed objects had survived, or null.
export const lifetime = (group) => (group.freedObjects > 0 ? group.freedGcs / group.freedObjects : null);

// Share of allocated memory that was freed, or null.
export const freedShare = (group) => (group.alloc > 0 ? Math.min(group.freed / group.alloc, 1) : null);

// Is enough of it never touched to be shown? As in HeapSample::Estimate.
const UNTOUCHED_SHARE = 0.05;
const UNTOUCHED_LEAST = 1 << 20;
const MUCH_LEAST = 1 << 20;
// Is a share of the heap pages worth a column?
export const isMuch = (space) => space >= MUCH_LEAST;
export const isUntouched = (space, resident) => space - resident >= Math.max(UNTOUCHED_SHARE * space, UNTOUCHED_LEAST);

// What a group is called: its name, and where it is.
export const nameOf = ({ detail }, key, { texts, frames }) => {
  if (!detail) return { name: key === -1 ? SLOTS : texts[key], place: "" };
  if (key === 0) return { name: NO_STACK, place: "" };
  const frame = key - 1;
  const short = texts[frames.get("short")[frame]];
  const line = detail === "line" && frames.get("line")[frame] > 0 ? `:${frames.get("line")[frame]}` : "";
  return { name: detail === "file" ? "" : texts[frames.get("method")[frame]], place: short + line };
};
