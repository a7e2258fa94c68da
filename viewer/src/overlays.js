// What lies above the page: the tooltip, the help, and light or dark.
import { el, fill } from "./dom.js";

export class Tip {
  constructor(element) {
    this.element = element;
  }

  // Shows lines of text next to the mouse or an element; null: nothing.
  show(lines, where) {
    this.element.hidden = !lines;
    if (!lines) return;
    fill(this.element, ...lines.map((line, i) => el("div", { className: i === 0 ? "first" : "" }, line)));
    const { width, height } = this.element.getBoundingClientRect();
    const box = where instanceof Element ? where.getBoundingClientRect() : null;
    const frame = where.target?.closest?.(".frame")?.getBoundingClientRect();
    const [x, y] = box
      ? [Math.max(box.left, 8), box.bottom]
      : [where.clientX + 14, (frame?.bottom ?? where.clientY + 10) + 4];
    const left = Math.max(4, Math.min(x, window.innerWidth - width - 8));
    const below = y + height < window.innerHeight - 8;
    const top = below ? y + (box ? 4 : 0) : (box ? box.top : (frame?.top ?? where.clientY - 10)) - height - 4;
    this.element.style.left = `${left}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  }
}

const THEMES = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };

export class Theme {
  constructor(button) {
    this.button = button;
    button.addEventListener("click", () => this.next());
    this.set(this.kept());
  }

  next() {
    const names = Object.keys(THEMES);
    this.set(names[(names.indexOf(this.name) + 1) % names.length]);
  }

  set(name) {
    this.name = Object.hasOwn(THEMES, name) ? name : "";
    if (this.name) document.documentElement.dataset.theme = this.name;
    else delete document.documentElement.dataset.theme;
    this.button.textContent = THEMES[this.name];
    // A file that is opened from disk may have no storage.
    try {
      localStorage.setItem("heap-view-theme", this.name);
    } catch {
      // then it is asked for again next time
    }
  }

  kept() {
    try {
      return localStorage.getItem("heap-view-theme") || "";
    } catch {
      return "";
    }
  }
}

const KEYS = [
  ["/", "search; Enter zooms in on what is found"],
  ["1 … 6", "live, allocated, young, freed, growth, retained by"],
  ["c", "callees or callers"],
  ["s", "sandwich: callers above and callees below one function"],
  ["f", "frames of the application, or all"],
  ["i", "icicle or flame"],
  ["b", "bytes or objects"],
  ["g", "go to the graph"],
  ["← → ↑ ↓", "in the graph: to a frame at the side, the caller, the widest callee"],
  ["Home, End", "in the graph: to the root; in the chart over time: to its ends"],
  ["Enter", "zoom in; on what is zoomed in, out again; in a sandwich: choose the function"],
  ["Esc", "back: out of a field, what is found, the zoom"],
  ["t", "light or dark"],
  ["?", "this"],
];

const TEXTS = [
  "Figures are estimates from a sample; each has its 95% confidence interval. A ~ marks figures of fewer than 10 samples, which can be wrong by a factor of two.",
  "In the growth, red memory grew and blue memory shrank by more than sampling noise. On average, 5% of the coloured rows or frames are wrong. Grey ones may not have changed. A frame is as wide as the changes of its stacks, up or down, so unchanged memory takes no room.",
  "Memory is charged to the nearest line of Ruby code. Callers start there; callees start at the root. A click on a line in the table marks it in the graph; a click on a class, type or gem shows that alone. The table follows the zoom.",
  "Frames of gems, Ruby's library and native code between frames of the application are folded into one grey frame. A click on it shows them. Many small neighbouring frames are one frame: other.",
  "The address of the page contains the view: a link or a bookmark opens the same view of this file.",
];

export const help = (dialog) => {
  fill(
    dialog,
    el("h2", { id: "help-title" }, "How to read this"),
    ...TEXTS.map((text) => el("p", {}, text)),
    el("dl", {}, ...KEYS.flatMap(([keys, text]) => [el("dt", {}, el("kbd", {}, keys)), el("dd", {}, text)])),
    el("form", { method: "dialog" }, el("button", { type: "submit" }, "Close")),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
};
