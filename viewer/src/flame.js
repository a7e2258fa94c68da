// The graph, drawn by d3-flame-graph from what trees.js finds visible. The
// library lays out all it is given, so it is given little: zooming, search and
// the keyboard are here, and each draws anew.
import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";
import { timerFlush } from "d3-timer";
import { cutClass, cutFront } from "./format.js";
import { within } from "./scroll.js";
import { FOLD, visible } from "./trees.js";

const NARROWEST = 2; // pixels
const SMALL = 24; // pixels that have no room for a name
const MOST = 1000; // frames at a time
const HEIGHT = 20; // pixels of a frame
const CONTEXT = 2 * HEIGHT; // what is seen around a frame that is scrolled to
const CHARACTER = 6.7; // pixels, more or less

// The library would make a <title> for each frame, and wants this in place of it.
const noTooltip = Object.assign(() => {}, { show() {}, hide() {} });

const nodesOf = (data) => (data.rest ? [] : [data.node, ...data.children.flatMap(nodesOf)]);

export class Flame {
  // `on`: draw(nodes), zoom(node), other(node), hover(node or null, rest, event or element).
  // `look(node)`: name, short name, classes and spoken text of a frame.
  constructor(element, title, on, look) {
    this.element = element;
    this.title = title;
    this.on = on;
    this.look = look;
    this.chart = null;
    this.current = null;
    element.addEventListener("click", (event) => this.clicked(event), true);
    element.addEventListener("mousemove", (event) => this.hovered(event));
    element.addEventListener("mouseleave", () => on.hover(null));
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("focusin", (event) => {
      const frame = event.target.closest(".frame");
      this.current = frame;
      // A tip after a click would lie over what is below.
      if (!frame?.matches(":focus-visible")) return;
      const { data } = frame.__data__;
      on.hover(data.node, data.rest, frame);
    });
    element.addEventListener("focusout", () => on.hover(null));
  }

  draw(tree, focus, { flame, keepFocus, all }) {
    const width = Math.max(200, Math.floor(this.element.clientWidth));
    const top = visible(tree, focus, NARROWEST / width, MOST, all ? 0 : SMALL / width);
    let data = top;
    for (let node = focus.parent; node; node = node.parent) {
      data = { node, rest: 0, value: focus.width, children: [data], fade: true };
    }
    this.on.draw(nodesOf(data));
    this.tree = tree;
    this.focus = focus;
    this.flame = flame;
    this.width = width;
    if (!this.chart) {
      this.chart = flamegraph()
        .cellHeight(HEIGHT)
        .transitionDuration(0)
        .resetHeightOnZoom(true)
        .tooltip(noTooltip)
        .getName((d) => (d.data.rest ? `other (${d.data.rest})` : this.look(d.data.node).labels[0]))
        .setColorMapper(() => "");
      this.chart.inverted(!flame);
      this.chart.width(width);
      select(this.element).datum(data).call(this.chart);
    } else {
      this.chart.inverted(!flame);
      this.chart.width(width);
      this.chart.update(data);
    }
    // Its transitions would begin in the next frame, and the transition of new rectangles
    // takes time whatever the setting.
    timerFlush();
    select(this.element)
      .selectAll("rect")
      .interrupt()
      .attr("width", (d) => (d.x1 - d.x0) * width);
    this.element.classList.toggle("flame", flame);
    this.dress(keepFocus);
  }

  // What the library does not know of: kinds of frames, and how they are spoken.
  dress(keepFocus) {
    const frames = [...this.element.querySelectorAll("g.frame")];
    this.byNode = new Map();
    for (const frame of frames) {
      const { data, depth, x0, x1 } = frame.__data__;
      const look = this.look(data.node);
      const text = data.rest ? `other: ${data.rest} small frames` : look.spoken;
      frame.setAttribute("class", ["frame", data.fade ? "fade" : "", data.rest ? "rest" : look.classes].join(" "));
      frame.setAttribute("role", "treeitem");
      frame.setAttribute("aria-level", depth + 1);
      frame.setAttribute("aria-label", text);
      frame.setAttribute("tabindex", -1);
      if (!data.rest) this.byNode.set(data.node, frame);
      if (!data.rest) this.write(frame.querySelector("div"), look, ((x1 - x0) * this.width) / CHARACTER);
      if (look.found) frame.parentNode.append(frame); // its outline above its neighbours
    }
    const first = this.byNode.get(this.focus);
    if (first) first.setAttribute("tabindex", 0);
    if (keepFocus && first) first.focus({ preventScroll: true });
    this.fit();
  }

  // The longest of the labels that has room, which is given in characters.
  write(element, { labels, path }, room) {
    const text =
      labels.slice(0, 2).find((label) => label.length <= room) || cutClass(labels[1], labels[2], Math.floor(room));
    element.textContent = path ? cutFront(labels[0], Math.max(1, Math.floor(room))) : text;
  }

  // Scrolls to what is zoomed in on, or to the widest frame that is found. Is there one?
  showFocus() {
    const frame = this.byNode.get(this.focus);
    if (frame) within(this.element, frame, CONTEXT);
  }

  showFound() {
    const found = [...this.byNode.values()].filter((frame) => frame.classList.contains("matched"));
    const [widest] = found.sort((a, b) => b.__data__.value - a.__data__.value);
    if (widest) within(this.element, widest, CONTEXT);
    return widest || null;
  }

  // The library leaves room for a title, which there is none of.
  fit() {
    const frames = [...this.element.querySelectorAll("g.frame")];
    const depth = Math.max(...frames.map((frame) => frame.__data__.depth)) + 1;
    const height = (depth + 2) * HEIGHT;
    const svg = this.element.querySelector("svg");
    svg.setAttribute("viewBox", `0 ${this.flame ? 2 * HEIGHT : 0} ${svg.getAttribute("width")} ${height - 2 * HEIGHT}`);
    svg.setAttribute("height", height - 2 * HEIGHT);
    svg.setAttribute("role", "tree");
    svg.setAttribute("aria-label", this.title);
  }

  clicked(event) {
    const frame = event.target.closest(".frame");
    if (!frame) return;
    event.stopPropagation();
    this.zoom(frame.__data__.data);
  }

  // On what is zoomed already: back. A fold opens.
  zoom({ node, rest }) {
    if (rest) this.on.other(node);
    else if (node === this.focus && node.parent) this.on.zoom(node.parent);
    else this.on.zoom(node.group === FOLD ? this.tree.opened(node) : node);
  }

  hovered(event) {
    const frame = event.target.closest?.(".frame");
    if (frame) this.on.hover(frame.__data__.data.node, frame.__data__.data.rest, event);
    else this.on.hover(null);
  }

  key(event) {
    const frame = event.target.closest(".frame");
    if (!frame || event.ctrlKey || event.metaKey || event.altKey) return;
    const d = frame.__data__;
    const moves = {
      [this.flame ? "ArrowUp" : "ArrowDown"]: () => d.children?.[0],
      [this.flame ? "ArrowDown" : "ArrowUp"]: () => d.parent,
      ArrowLeft: () => this.sibling(d, -1),
      ArrowRight: () => this.sibling(d, 1),
      Home: () => this.root(d),
    };
    if (event.key === "Enter" || event.key === " ") this.zoom(d.data);
    else if (moves[event.key]) this.moveTo(moves[event.key]());
    else return;
    event.preventDefault();
  }

  // The frame before or behind it at the same depth.
  sibling(d, step) {
    const level = this.root(d)
      .descendants()
      .filter((other) => other.depth === d.depth)
      .sort((a, b) => a.x0 - b.x0);
    return level[level.indexOf(d) + step];
  }

  root(d) {
    while (d.parent) d = d.parent;
    return d;
  }

  moveTo(d) {
    if (!d) return;
    const frame = [...this.element.querySelectorAll(".frame")].find((candidate) => candidate.__data__ === d);
    if (!frame) return;
    this.element.querySelector('.frame[tabindex="0"]')?.setAttribute("tabindex", -1);
    frame.setAttribute("tabindex", 0);
    frame.focus();
  }
}
