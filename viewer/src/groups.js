// Rows that share a line, method, file, class, type, gem, function or library,
// summed, as HeapSample::Groups sums them.
import { Estimate, FIELDS, Net } from "./estimate.js";

export const KINDS = ["line", "method", "file", "class", "type", "gem", "function", "library"];
export const NO_STACK = "(no stack)";
const SLOTS = "(slots)";

// More than there can be texts, twice; a group's number times this is exact.
const TEXTS_MOST = 2 ** 28;

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

// The key of each row: a frame, counted from 1, or a text.
const keysOf = (sheet, kind, frameGroups) => {
  if (["line", "method", "file"].includes(kind)) {
    const groups = frameGroups(kind);
    return Int32Array.from(sheet.site, (site) => (site === 0 ? 0 : groups[site - 1] + 1));
  }
  const malloc = sheet.columns.get("malloc");
  const texts = sheet.columns.get(kind);
  if (kind === "function" || kind === "library") return Int32Array.from(texts, (text, row) => (malloc[row] ? text : -1));
  return texts;
};

export class Groups {
  // `names`: one estimate, or gained and lost.
  constructor(sheet, mask, names, kind, frameGroups) {
    this.kind = kind;
    this.net = names.length > 1;
    const known = (sheet.keys ||= new Map());
    if (!known.has(kind)) known.set(kind, keysOf(sheet, kind, frameGroups));
    const keys = known.get(kind);
    const numbers = new Map();
    const numberOf = new Int32Array(sheet.rowCount);
    for (let row = 0; row < numberOf.length; row++) {
      if (mask[row] === 0) continue;
      let number = numbers.get(keys[row]);
      if (number === undefined) numbers.set(keys[row], (number = numbers.size));
      numberOf[row] = number;
    }
    this.sheet = sheet;
    this.mask = mask;
    this.numberOf = numberOf;
    this.size = numbers.size;
    const estimates = names.map((name) => sheet.estimate(name).map((column) => this.sum(column)));
    const extra = this.net ? {} : this.extras();
    this.list = [...numbers.keys()].map((key, number) => {
      const parts = estimates.map((fields) => new Estimate(...FIELDS.map((_, i) => fields[i][number])));
      const group = { key, estimate: this.net ? new Net(...parts) : parts[0] };
      for (const name of Object.keys(extra)) group[name] = extra[name][number];
      return group;
    });
  }

  // Texts of the classes of each group and their live bytes, the largest first;
  // malloc is a class only where there is no other.
  classes() {
    const [klass, malloc, inuse, young] = ["class", "malloc", "inuse_space", "young_space"].map((name) => this.sheet.columns.get(name));
    const sums = new Map();
    for (let row = 0; row < this.numberOf.length; row++) {
      const space = inuse[row] + young[row];
      if (this.mask[row] === 0 || space === 0) continue;
      const key = this.numberOf[row] * TEXTS_MOST + klass[row] * 2 + malloc[row];
      sums.set(key, (sums.get(key) || 0) + space);
    }
    const lists = Array.from({ length: this.size }, () => []);
    for (const [key, space] of sums) {
      const rest = key % TEXTS_MOST;
      lists[(key - rest) / TEXTS_MOST].push([rest >> 1, space, rest & 1]);
    }
    return lists.map((list) => {
      const objects = list.filter(([, , malloced]) => !malloced);
      return (objects.length ? objects : list).sort((a, b) => b[1] - a[1]);
    });
  }

  sum(column, mask = this.mask) {
    const sums = new Float64Array(this.size);
    for (let row = 0; row < this.numberOf.length; row++) if (mask[row] !== 0) sums[this.numberOf[row]] += column[row];
    return sums;
  }

  // Of slots and of malloc apart, and what ages and lifetimes are worked out from.
  extras() {
    const { columns, rowCount } = this.sheet;
    const [malloc, birth, inuse] = ["malloc", "birth", "inuse_objects"].map((name) => columns.get(name));
    const mallocMask = Uint8Array.from(malloc, (is, row) => is & this.mask[row]);
    const births = new Float64Array(rowCount);
    const born = new Float64Array(rowCount);
    for (let row = 0; row < rowCount; row++) {
      if (birth[row] === 0 || malloc[row]) continue;
      births[row] = (birth[row] - 1) * inuse[row];
      born[row] = inuse[row];
    }
    const of = (name, mask) => this.sum(columns.get(name), mask);
    return {
      malloc: of("inuse_space", mallocMask), mallocAlloc: of("alloc_space", mallocMask),
      births: this.sum(births), born: this.sum(born),
      alloc: of("alloc_space"), dead: of("dead_space"), deadObjects: of("dead_objects"), deadGcs: of("dead_gcs"),
    };
  }
}

// Mean number of GCs since the birth of what is in use, or null.
export const age = (group, gcCount) => (gcCount !== null && group.born > 0 ? gcCount - group.births / group.born : null);

// Mean number of GCs that the dead had survived, or null.
export const lifetime = (group) => (group.deadObjects > 0 ? group.deadGcs / group.deadObjects : null);

// Share of the slots allocated that were found dead, or null.
export const deadShare = (group) => {
  const slots = group.alloc - group.mallocAlloc;
  return slots > 0 ? Math.min(group.dead / slots, 1) : null;
};

// What a group is called: its name, and where it is.
export const nameOf = (kind, key, { texts, frames }) => {
  if (kind === "line" || kind === "method" || kind === "file") {
    if (key === 0) return { name: NO_STACK, place: "" };
    const frame = key - 1;
    const short = texts[frames.get("short")[frame]];
    const line = kind === "line" && frames.get("line")[frame] > 0 ? `:${frames.get("line")[frame]}` : "";
    return { name: kind === "file" ? "" : texts[frames.get("method")[frame]], place: short + line };
  }
  if (key === -1) return { name: SLOTS, place: "" };
  return { name: texts[key] || (kind === "gem" ? NO_STACK : ""), place: "" };
};
