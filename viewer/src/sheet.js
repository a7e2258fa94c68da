// The rows of a profile or of a growth, and the tree of their stacks, in typed
// arrays.
//
// Nodes of the tree are numbered so that what is below a node follows it: the
// nodes from n to end[n] - 1. Node 0 is the root. Stacks are in the order of
// their nodes, rows in the order of their stacks; so a sum over what is below a node
// is the difference of two running sums, stackFrom[n] to stackFrom[end[n]].
import { Estimate, FIELDS, Net } from "./estimate.js";

const BASIC = ["samples", "objects", "space", "variance"];

export class Sheet {
  constructor(columns) {
    this.columns = columns;
    this.rowCount = columns.get("stack").length;
    this.growth = columns.has("gained_space");
    this.readTree();
    this.readRows();
  }

  readTree() {
    const keep = this.columns.get("keep");
    const fresh = this.columns.get("fresh");
    const frameOf = this.columns.get("frames");
    const nodeCount = frameOf.length + 1;
    const stackCount = keep.length + 1;
    const frame = new Int32Array(nodeCount).fill(-1);
    const parent = new Int32Array(nodeCount).fill(-1);
    const end = new Int32Array(nodeCount);
    const stackFrom = new Int32Array(nodeCount + 1);
    const stackNode = new Int32Array(stackCount);
    const path = [0];
    let node = 1;
    let depth = 0;
    stackFrom[0] = 0;
    for (let stack = 1; stack < stackCount; stack++) {
      for (; depth > keep[stack - 1]; depth--) end[path[depth]] = node;
      for (let i = fresh[stack - 1]; i > 0; i--) {
        frame[node] = frameOf[node - 1];
        parent[node] = path[depth];
        stackFrom[node] = stack;
        path[++depth] = node++;
      }
      stackNode[stack] = path[depth];
    }
    for (; depth >= 0; depth--) end[path[depth]] = node;
    stackFrom[nodeCount] = stackCount;
    Object.assign(this, { nodeCount, stackCount, frame, parent, end, stackFrom, stackNode });
  }

  readRows() {
    const stack = Int32Array.from(this.columns.get("stack"));
    for (let row = 1; row < stack.length; row++) stack[row] += stack[row - 1];
    this.stack = stack;
    this.site = this.columns.get("site");
    // The node of the frame that a stack is charged to; the leaf's if there is none.
    this.siteNode = Int32Array.from(this.stackNode);
    let last = -1;
    for (let row = 0; row < stack.length; row++) {
      if (stack[row] === last) continue;
      last = stack[row];
      const site = this.site[row] - 1;
      let node = this.stackNode[last];
      while (site >= 0 && node > 0 && this.frame[node] !== site) node = this.parent[node];
      if (node > 0) this.siteNode[last] = node;
    }
  }

  // The columns of an estimate, in the order of FIELDS. A file does not keep the
  // variance of objects: all of a row have one size, or are taken to have the mean.
  estimate(name) {
    const known = (this.estimates ||= new Map());
    if (known.has(name)) return known.get(name);
    // All of one type: a loop that meets several is many times slower.
    const columns = BASIC.map((field) => new Float64Array(this.columns.get(`${name}_${field}`)));
    const [samples, objects] = columns;
    // Samples of malloc are counted also where what they stand for is not known.
    for (let row = 0; row < samples.length; row++) if (!(objects[row] > 0)) samples[row] = 0;
    const given = this.columns.get(`${name}_objects_variance`);
    columns.push(given ? new Float64Array(given) : this.objectsVariance(...columns.slice(1)));
    known.set(name, columns);
    return columns;
  }

  objectsVariance(objects, space, variance) {
    const slotSize = this.columns.get("slot_size");
    const result = new Float64Array(this.rowCount);
    for (let row = 0; row < result.length; row++) {
      if (variance[row] === 0) continue;
      if (slotSize[row] > 0) result[row] = variance[row] / slotSize[row] ** 2;
      else if (space[row] > 0) result[row] = variance[row] * (objects[row] / space[row]) ** 2;
    }
    return result;
  }

  // More than any of the keys of rows, and one for -1.
  keyLimit(keys) {
    let most = 0;
    for (let row = 0; row < keys.length; row++) if (keys[row] > most) most = keys[row];
    return most + 2;
  }

  // A byte a row: 1 where it passes. `filter`: memory is slots, malloc or both;
  // texts has Sets of texts by column; ages [from, to] in GCs before
  // gcCount, or null.
  mask({ memory, texts, ages }, gcCount) {
    const [malloc, allocationGc] = ["malloc", "allocation_gc"].map((name) => this.columns.get(name));
    const mask = new Uint8Array(this.rowCount).fill(1);
    const wanted = { slots: 0, malloc: 1 }[memory];
    for (const [name, some] of texts) {
      const column = this.columns.get(name);
      for (let row = 0; row < mask.length; row++) if (!some.has(column[row])) mask[row] = 0;
    }
    for (let row = 0; row < mask.length; row++) {
      if (wanted !== undefined && malloc[row] !== wanted) mask[row] = 0;
      else if (ages) {
        const age = allocationGc[row] === 0 ? -1 : gcCount - (allocationGc[row] - 1);
        if (age < 0 || age < ages[0] || age > ages[1]) mask[row] = 0;
      }
    }
    return mask;
  }

  // The rows of a mask that are of some stacks: from, to, from, to…
  within(mask, ranges) {
    const wanted = new Uint8Array(this.stackCount);
    for (let i = 0; i < ranges.length; i += 2) wanted.fill(1, ranges[i], ranges[i + 1]);
    return mask.map((passes, row) => passes & wanted[this.stack[row]]);
  }

  // The sums by stack of the rows that pass: `names` is one estimate, or gained
  // and lost.
  sums(mask, names, unit) {
    return new StackSums(
      this,
      mask,
      names.map((name) => this.estimate(name)),
      unit,
    );
  }
}

// The sum of a column over the stacks before each.
const runningSums = (column, rows, stack, stackCount) => {
  const sums = new Float64Array(stackCount + 1);
  for (let i = 0; i < rows.length; i++) sums[stack[rows[i]] + 1] += column[rows[i]];
  for (let i = 1; i <= stackCount; i++) sums[i] += sums[i - 1];
  return sums;
};

// Running sums over stacks. Of one estimate, the width of a stack is its figure;
// of two, the change, whichever way it goes.
class StackSums {
  constructor(sheet, mask, estimates, unit) {
    const { stack, stackCount, rowCount } = sheet;
    this.sheet = sheet;
    this.unit = unit;
    const passing = mask.reduce((count, passes) => count + passes, 0);
    const rows = new Int32Array(passing);
    for (let row = 0, i = 0; row < rowCount; row++) if (mask[row] !== 0) rows[i++] = row;
    this.running = estimates.map((columns) => columns.map((column) => runningSums(column, rows, stack, stackCount)));
    const [one, other] = this.running.map((sums) => sums[FIELDS.indexOf(unit === "objects" ? "objects" : "space")]);
    const width = (this.width = new Float64Array(stackCount + 1));
    for (let i = 1; i <= stackCount; i++) {
      let change = one[i] - one[i - 1];
      if (other) change -= other[i] - other[i - 1];
      width[i] = width[i - 1] + Math.abs(change);
    }
  }

  widthOf(node) {
    const { stackFrom, end } = this.sheet;
    return this.width[stackFrom[end[node]]] - this.width[stackFrom[node]];
  }

  widthOfStack(stack) {
    return this.width[stack + 1] - this.width[stack];
  }

  // An Estimate or a Net of ranges of stacks: from, to, from, to…
  over(ranges) {
    const parts = this.running.map((fields) => {
      const sums = fields.map((sum) => {
        let total = 0;
        for (let i = 0; i < ranges.length; i += 2) total += sum[ranges[i + 1]] - sum[ranges[i]];
        return total;
      });
      return new Estimate(...sums);
    });
    return parts.length === 1 ? parts[0] : new Net(...parts);
  }

  get total() {
    return this.over([0, this.sheet.stackCount]);
  }
}
