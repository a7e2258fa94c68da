// Keys that mean the same everywhere; the graph handles keys of a frame.
import { ESTIMATES } from "./selection.js";

export class Keys {
  // `on`: search(), help(), theme(), graph(), zoomOut(), hide(); `busy()`: is something above the page?
  constructor(state, on) {
    this.state = state;
    this.on = on;
    document.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey || this.on.busy()) return;
    if (event.key === "Escape") return this.escape(typing, event.target);
    if (typing) return;
    const keys = this.meanings();
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  }

  meanings() {
    const { on } = this;
    const keys = {
      "/": on.search,
      "?": on.help,
      c: this.other("direction", "callees", "callers"),
      s: this.other("direction", "callees", "both"),
      f: this.other("frames", "app", "all"),
      i: this.other("graph", "icicle", "flame"),
      b: this.other("unit", "bytes", "objects"),
      t: on.theme,
      g: on.graph,
      Backspace: on.zoomOut,
    };
    for (const button of document.querySelectorAll('[data-name="value"]')) {
      keys[String(Object.keys(ESTIMATES).indexOf(button.dataset.value) + 1)] = () => button.click();
    }
    return keys;
  }

  // Of two values the value that is not chosen; in another tree, the zoom leads nowhere.
  other(name, one, two) {
    return () =>
      this.state.set({
        [name]: this.state.get(name) === one ? two : one,
        ...(name === "direction" || name === "frames" ? { zoom: "" } : {}),
      });
  }

  // One step back: the field, what is marked, the zoom.
  escape(typing, target) {
    this.on.hide();
    if (typing) {
      if (target.dataset.name === "search") this.state.set({ search: "" });
      target.blur();
    } else if (this.state.get("mark") || this.state.get("search")) {
      this.state.set({ mark: "", search: "" });
    } else {
      this.on.zoomOut();
    }
  }
}
