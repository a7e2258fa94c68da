// The two trees that a graph shows, made as far as they are looked at: what is
// called from the root on, and who calls the line that memory is put down to.
//
// A node has the group of its frame (`group`, -1: the root), its `width`, its
// depth and parent; frames are in one group if they look the same at the detail
// that was asked for.

const WIDEST_FIRST = (a, b) => b.width - a.width || a.group - b.group;

class Tree {
  constructor(sums, groupOf) {
    this.sums = sums;
    this.sheet = sums.sheet;
    this.groupOf = groupOf;
  }

  children(node) {
    if (!node.children) {
      node.children = this.expand(node)
        .filter((child) => child.width > 0)
        .sort(WIDEST_FIRST);
      for (const child of node.children) {
        child.parent = node;
        child.depth = node.depth + 1;
      }
    }
    return node.children;
  }

  // An Estimate or a Net.
  estimate(node) {
    return (node.estimate ||= this.sums.over(this.ranges(node)));
  }

  // The node that groups lead to from the root, or the last there is on the way.
  find(groups) {
    let node = this.root;
    for (const group of groups) {
      const next = this.children(node).find((child) => child.group === group);
      if (!next) break;
      node = next;
    }
    return node;
  }
}

export const pathOf = (node) => {
  const groups = [];
  for (; node.parent; node = node.parent) groups.unshift(node.group);
  return groups;
};

// From the root to what is called.
export class Callees extends Tree {
  get root() {
    return (this.first ||= { group: -1, nodes: [0], width: this.sums.widthOf(0), depth: 0, parent: null });
  }

  expand({ nodes }) {
    const { end, frame } = this.sheet;
    const children = new Map();
    for (const node of nodes) {
      for (let child = node + 1; child < end[node]; child = end[child]) {
        const width = this.sums.widthOf(child);
        if (!(width > 0)) continue;
        const group = this.groupOf[frame[child]];
        const known = children.get(group);
        if (known) {
          known.nodes.push(child);
          known.width += width;
        } else {
          children.set(group, { group, nodes: [child], width });
        }
      }
    }
    return [...children.values()];
  }

  ranges({ nodes }) {
    const { stackFrom, end } = this.sheet;
    return nodes.flatMap((node) => [stackFrom[node], stackFrom[end[node]]]);
  }
}

// From the lines that memory is put down to, to who calls them. A node has its
// stacks, and where in each it is.
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
      this.first = { group: -1, stacks, at: null, width, depth: 0, parent: null };
    }
    return this.first;
  }

  expand({ stacks, at }) {
    const { frame, parent, siteNode } = this.sheet;
    const children = new Map();
    for (let i = 0; i < stacks.length; i++) {
      const node = at === null ? siteNode[stacks[i]] : parent[at[i]];
      if (node <= 0) continue;
      const group = this.groupOf[frame[node]];
      let child = children.get(group);
      if (!child) children.set(group, (child = { group, stacks: [], at: [], width: 0 }));
      child.stacks.push(stacks[i]);
      child.at.push(node);
      child.width += this.sums.widthOfStack(stacks[i]);
    }
    return [...children.values()];
  }

  ranges({ stacks }) {
    const ranges = [];
    for (const stack of stacks) {
      if (ranges[ranges.length - 1] === stack) ranges[ranges.length - 1]++;
      else ranges.push(stack, stack + 1);
    }
    return ranges;
  }
}

// What can be seen of a tree from `focus` on: the way to it, and below it every
// node of at least `narrowest` of the focus's width, but no more than `most`.
// What is too narrow beside each other is one node, whose `rest` says how many
// they are.
export const visible = (tree, focus, narrowest, most) => {
  for (let share = narrowest; ; share *= 1.5) {
    const top = below(tree, focus, focus.width * share, most);
    if (top) return top;
  }
};

const below = (tree, focus, threshold, most) => {
  const top = shown(focus);
  const queue = [top];
  let size = 1;
  for (let at = 0; at < queue.length; at++) {
    const parent = queue[at];
    let rest = 0;
    let width = 0;
    for (const child of tree.children(parent.node)) {
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
    if (width >= threshold && rest > 0) {
      parent.children.push({ node: parent.node, rest, value: width, children: [] });
      if (++size > most) return null;
    }
  }
  return top;
};

const shown = (node) => ({ node, rest: 0, value: node.width, children: [] });
