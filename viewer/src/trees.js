// The two trees that a graph shows, made as far as they are looked at: what is
// called from the root on, and who calls the line that memory is charged to.
//
// A node has the group of its frame (`group`, ROOT, or FOLD for frames of a
// framework in a row that are one node), its `width`, its depth and parent; frames
// are in one group if they look the same at the detail that was asked for.
//
// A fold is closed, and has below it what of the application its frames call, or
// open: then each of its frames is a node, down to the next of the application.

export const ROOT = -1;
export const FOLD = -2;

const WIDEST_FIRST = (a, b) => b.width - a.width || a.group - b.group;

class Tree {
  // `folded`: a byte for each frame, 1 where it is a framework's; null: nothing is folded.
  constructor(sums, groupOf, folded) {
    this.sums = sums;
    this.sheet = sums.sheet;
    this.groupOf = groupOf;
    this.folded = folded;
  }

  children(node) {
    return (node.children ||= this.adopt(node, this.expand(node)));
  }

  adopt(parent, children) {
    for (const child of children) {
      child.parent = parent;
      child.depth = parent.depth + 1;
      child.inside = parent.open || parent.inside ? child.group !== FOLD && this.isFolded(child.group) : false;
    }
    return children.filter((child) => child.width > 0).sort(WIDEST_FIRST);
  }

  isFolded(group) {
    return group >= 0 && this.folded !== null && this.folded[group] === 1;
  }

  // Does a framework frame below `node` become part of a fold?
  folds(node) {
    return this.folded !== null && !node.open && !node.inside;
  }

  // The same fold with each of its frames as a node.
  opened(fold) {
    return fold.open ? fold : (fold.opened ||= { ...fold, open: true, children: null, estimate: null });
  }

  // An Estimate or a Net.
  estimate(node) {
    return (node.estimate ||= this.sums.over(this.ranges(node)));
  }

  // The node that a path leads to from the root, or the last there is on the way.
  find(path) {
    let node = this.root;
    for (const step of path) {
      const next = this.step(node, step);
      if (!next) break;
      node = next;
    }
    return node;
  }

  step(node, step) {
    const open = step === OPEN;
    const child = this.children(node).find((child) => stepTo(child) === (open ? CLOSED : step));
    return child && open ? this.opened(child) : child;
  }

  // The node that groups of frames lead to from the root: through folds that stay
  // closed, as far as that goes.
  reach(groups) {
    let node = this.root;
    let at = 0;
    while (at < groups.length) {
      const children = this.children(node);
      const next = children.find(({ group }) => group === groups[at]);
      const fold = children.find(({ group }) => group === FOLD);
      if (!next && !fold) break;
      const past = next ? at + 1 : this.past(groups, at);
      if (next || past < groups.length) [node, at] = [next || fold, past];
      else node = this.opened(fold);
    }
    return node;
  }

  // Where frames of the application go on.
  past(groups, at) {
    while (at < groups.length && this.isFolded(groups[at])) at++;
    return at;
  }
}

const OPEN = "o";
const CLOSED = "f";
const stepTo = ({ group, open }) => (group === FOLD ? (open ? OPEN : CLOSED) : String(group));

// The way to a node, as the address has it: "17.f.4".
export const pathTo = (node) => {
  const steps = [];
  for (; node.parent; node = node.parent) steps.unshift(stepTo(node));
  return steps.join(".");
};

// Children of a node by their group.
class Children {
  constructor(make) {
    this.make = make;
    this.byGroup = new Map();
  }

  of(group) {
    let child = this.byGroup.get(group);
    if (!child) this.byGroup.set(group, (child = { group, width: 0, ...this.make() }));
    return child;
  }

  get all() {
    return [...this.byGroup.values()];
  }
}

// From the root to what is called. A node has the nodes of the sheet's tree that it
// stands for; a fold has the first of its frames.
export class Callees extends Tree {
  get root() {
    return (this.first ||= { group: ROOT, nodes: [0], width: this.sums.widthOf(0), depth: 0, parent: null });
  }

  expand(node) {
    const children = new Children(() => ({ nodes: [] }));
    const add = (sheetNode, group) => {
      const child = children.of(group);
      child.nodes.push(sheetNode);
      child.width += this.sums.widthOf(sheetNode);
    };
    const group = (sheetNode) => this.groupOf[this.sheet.frame[sheetNode]];
    if (node.group === FOLD) {
      if (node.open) for (const entry of node.nodes) add(entry, group(entry));
      else this.walk(node, null, (sheetNode) => add(sheetNode, group(sheetNode)));
    } else {
      const folds = this.folds(node);
      this.below(node.nodes, (sheetNode) => {
        const own = group(sheetNode);
        add(sheetNode, folds && this.isFolded(own) ? FOLD : own);
      });
    }
    return children.all.map((child) => this.single(child) || child);
  }

  below(nodes, each) {
    const { end } = this.sheet;
    for (const node of nodes) {
      for (let child = node + 1; child < end[node]; child = end[child]) if (this.sums.widthOf(child) > 0) each(child);
    }
  }

  // A fold of one frame is that frame.
  single(fold) {
    if (fold.group !== FOLD) return null;
    const group = this.groupOf[this.sheet.frame[fold.nodes[0]]];
    let one = fold.nodes.every((node) => this.groupOf[this.sheet.frame[node]] === group);
    if (one) this.below(fold.nodes, (node) => (one &&= !this.isFolded(this.groupOf[this.sheet.frame[node]])));
    return one ? { ...fold, group } : null;
  }

  // The frames of a fold, each with how deep in it it is, and those that it leads to.
  walk({ nodes }, inside, beyond) {
    const { end, frame } = this.sheet;
    const { sums, groupOf } = this;
    for (const entry of nodes) {
      const ends = [];
      for (let node = entry; node < end[entry]; ) {
        while (ends[ends.length - 1] <= node) ends.pop();
        const folded = this.isFolded(groupOf[frame[node]]);
        const seen = sums.widthOf(node) > 0;
        if (seen && !folded) beyond?.(node);
        if (seen && folded) {
          ends.push(end[node]);
          inside?.(frame[node], ends.length, sums.widthOf(node));
          node++;
        } else {
          node = end[node];
        }
      }
    }
  }

  // Calls back with each frame of a fold, how deep in it it is, and how wide.
  frames(fold, each) {
    this.walk(fold, each, null);
  }

  ranges({ nodes }) {
    const { stackFrom, end } = this.sheet;
    return nodes.flatMap((node) => [stackFrom[node], stackFrom[end[node]]]);
  }

  // Where most of what some frames stand for is: groups from the root on, or null.
  widest(wanted) {
    const { frame, parent, nodeCount } = this.sheet;
    let best = -1;
    let width = 0;
    for (let node = 1; node < nodeCount; node++) {
      if (wanted[frame[node]] === 0) continue;
      const own = this.sums.widthOf(node);
      if (own > width) [best, width] = [node, own];
    }
    if (best < 0) return null;
    const groups = [];
    for (let node = best; node > 0; node = parent[node]) groups.unshift(this.groupOf[frame[node]]);
    return groups;
  }
}

// From the lines that memory is charged to, to who calls them; the lines themselves
// are never folded. A node has its stacks, and where in each it is (`at`); a fold,
// where it is called from there.
export class Callers extends Tree {
  get root() {
    if (!this.first) {
      const stacks = [];
      let width = 0;
      for (let stack = 0; stack < this.sheet.stackCount; stack++) {
        const own = this.sums.widthOfStack(stack);
        if (!(own > 0)) continue;
        stacks.push(stack);
        width += own;
      }
      this.first = { group: ROOT, stacks, at: null, width, depth: 0, parent: null };
    }
    return this.first;
  }

  expand(node) {
    const { stacks, at } = node;
    const { frame, parent, siteNode } = this.sheet;
    const children = new Children(() => ({ stacks: [], at: [] }));
    const folds = node.group !== ROOT && node.group !== FOLD && this.folds(node);
    const passes = node.group === FOLD && !node.open;
    for (let i = 0; i < stacks.length; i++) {
      let caller = at === null ? siteNode[stacks[i]] : parent[at[i]];
      if (passes) while (caller > 0 && this.isFolded(this.groupOf[frame[caller]])) caller = parent[caller];
      if (caller <= 0) continue;
      const group = this.groupOf[frame[caller]];
      const fold = folds && this.isFolded(group);
      const child = children.of(fold ? FOLD : group);
      child.stacks.push(stacks[i]);
      child.at.push(fold ? at[i] : caller);
      child.width += this.sums.widthOfStack(stacks[i]);
    }
    return children.all.map((child) => this.single(child) || child);
  }

  single(fold) {
    if (fold.group !== FOLD) return null;
    const { frame, parent } = this.sheet;
    const callers = fold.at.map((node) => parent[node]);
    const group = this.groupOf[frame[callers[0]]];
    const one = callers.every(
      (node) => this.groupOf[frame[node]] === group && !this.isFolded(this.groupOf[frame[parent[node]]]),
    );
    return one ? { ...fold, group, at: callers } : null;
  }

  frames({ stacks, at }, each) {
    const { frame, parent } = this.sheet;
    for (let i = 0; i < stacks.length; i++) {
      const width = this.sums.widthOfStack(stacks[i]);
      let deep = 0;
      for (let node = parent[at[i]]; node > 0; node = parent[node]) {
        if (!this.isFolded(this.groupOf[frame[node]])) break;
        each(frame[node], ++deep, width);
      }
    }
  }

  ranges({ stacks }) {
    const ranges = [];
    for (const stack of stacks) {
      if (ranges[ranges.length - 1] === stack) ranges[ranges.length - 1]++;
      else ranges.push(stack, stack + 1);
    }
    return ranges;
  }

  // The line of most memory among some frames: one group, or null.
  widest(wanted) {
    const { frame, siteNode } = this.sheet;
    const widths = new Map();
    for (const stack of this.root.stacks) {
      const site = siteNode[stack];
      if (site <= 0 || wanted[frame[site]] === 0) continue;
      const group = this.groupOf[frame[site]];
      widths.set(group, (widths.get(group) || 0) + this.sums.widthOfStack(stack));
    }
    const [best] = [...widths].sort((a, b) => b[1] - a[1]);
    return best ? [best[0]] : null;
  }
}

// Both sides of the frames that are chosen (a byte for each), named as `group`: what they call, and, as its `callers`,
// what calls them. Of a frame that calls itself, the outermost counts.
export const sandwich = (sums, groupOf, folded, chosen, group) => {
  const { frame, end, nodeCount, stackFrom } = sums.sheet;
  const [nodes, stacks, at] = [[], [], []];
  for (let node = 1; node < nodeCount; ) {
    if (chosen[frame[node]] === 0) {
      node++;
      continue;
    }
    nodes.push(node);
    for (let stack = stackFrom[node]; stack < stackFrom[end[node]]; stack++)
      if (sums.widthOfStack(stack) > 0) [stacks[at.length], at[at.length]] = [stack, node];
    node = end[node];
  }
  const width = nodes.reduce((sum, node) => sum + sums.widthOf(node), 0);
  const [callees, callers] = [Callees, Callers].map((Side) => new Side(sums, groupOf, folded));
  callees.first = { group, nodes, width, depth: 0, parent: null };
  callers.first = { group, stacks, at, width, depth: 0, parent: null };
  return Object.assign(callees, { callers });
};

// What can be seen of a tree from `focus` on: the path to it, and below it every
// node of at least `narrowest` of the focus's width, but no more than `most`.
// Neighbours that are too narrow are one node, whose `rest` is their number;
// so are many nodes narrower than `small`.
export const visible = (tree, focus, narrowest, most, small = 0) => {
  for (let share = narrowest; ; share *= 1.5) {
    const top = below(tree, focus, focus.width * share, most, focus.width * small);
    if (top) return top;
  }
};

const MANY = 8;

const below = (tree, focus, narrowest, most, small) => {
  const top = shown(focus);
  const queue = [top];
  let size = 1;
  for (let at = 0; at < queue.length; at++) {
    const parent = queue[at];
    let rest = 0;
    let width = 0;
    const children = tree.children(parent.node);
    const many = children.reduce((count, child) => count + (child.width < small ? 1 : 0), 0) >= MANY;
    const threshold = many ? Math.max(narrowest, small) : narrowest;
    for (const child of children) {
      if (child.width < threshold) {
        rest++;
        width += child.width;
      } else {
        const seen = shown(child);
        parent.children.push(seen);
        queue.push(seen);
        if (++size > most) return null;
      }
    }
    if (width >= narrowest && rest > 0) {
      parent.children.push({ node: parent.node, rest, value: width, children: [] });
      if (++size > most) return null;
    }
  }
  return top;
};

const shown = (node) => ({ node, rest: 0, value: node.width, children: [] });
