// How a frame looks: its label, its colour, how it is spoken, and what its tooltip says.
import { changes } from "./estimate.js";
import { contents, described } from "./folding.js";
import { amount, count, cut, interval, percent, size, visible } from "./format.js";
import { FOLD } from "./trees.js";

// A growth is drawn strong from this share of the whole on.
const MUCH = 0.1;
const LABEL = 200;
const OWNERS = 12; // gems that a tooltip names
// Methods whose names say nothing without the file.
const NAMELESS = /^(?:(?:block(?: \(\d+ levels\))?|rescue|ensure) in )*<(?:main|top \(required\))>$/;
// What of a label is kept where there is little room: "#seat_plan:24" of "TicketsController#seat_plan:24", and
// "config.ru:1" of "<main> config.ru:1"; "/index.html.erb:3" of a template, "orders/index.html.erb:3".
const LAST = /(?<=> )\S+$|\/[^/\s]+\.\w+(?::\d+)?$|[#.][^#.\s]+$/;
const NAMESPACES = /(?:[A-Z]\w*::)+(?=[A-Z])/g;

export class FrameLook {
  // `tree`: the tree that is drawn; `wanted`: the frames that are searched for, or null.
  constructor(selection, tree, wanted) {
    this.selection = selection;
    this.state = selection.state;
    this.texts = selection.texts;
    this.frames = selection.frames;
    this.tree = tree;
    this.wanted = wanted;
    this.looks = new Map();
  }

  // Gets the nodes that are drawn: of a growth, they are tested together.
  prepare(nodes) {
    if (this.state.get("value") !== "growth") return;
    const directions = changes(
      nodes.map((node) => this.tree.estimate(node)),
      this.state.get("unit"),
    );
    this.directions = new Map(nodes.map((node, i) => [node, directions[i]]));
  }

  // The drawing asks for each several times.
  of(node) {
    let look = this.looks.get(node);
    if (!look) this.looks.set(node, (look = this.look(node)));
    return look;
  }

  look(node) {
    const unit = this.state.get("unit");
    const fold = node.group === FOLD ? this.contents(node) : null;
    const name = fold ? visible(described(fold)) : this.frameName(node);
    const label = fold ? name : this.label(node);
    const estimate = this.tree.estimate(node);
    const net = "gained" in estimate;
    const found = fold ? fold.found : this.wanted !== null && node.group >= 0 && this.matches(node.group);
    const classes = [net ? this.growthClass(estimate, node) : node.group >= 0 ? this.codeClass(node.group) : ""];
    if (fold) classes.push("fold");
    if (this.wanted) classes.push(found ? "matched" : "unmatched");
    const share = net ? "" : `${percent(node.width / this.tree.root.width)}, `;
    const spoken = `${name}, ${amount(estimate.value(unit), unit, net)}, ${share}${count(estimate.samples)} samples${estimate.weak ? ", weak" : ""}`;
    const path = this.state.get("detail") === "file" && node.group >= 0;
    const short = label.replace(NAMESPACES, "");
    const labels = [label, short, LAST.exec(short)?.[0] || short];
    return { name, labels, short, path, classes: classes.join(" "), spoken, found };
  }

  // What is in a fold.
  contents(node) {
    return contents(this.tree, node, this.selection, this.wanted);
  }

  // Does one of the frames that a node stands for match?
  matches(group) {
    if (!this.matching) {
      const groups = this.selection.groupOf(this.state.get("detail"));
      this.matching = new Set();
      this.wanted.forEach((on, frame) => on && this.matching.add(groups[frame]));
    }
    return this.matching.has(group);
  }

  codeClass(frame) {
    if (this.frames.get("native")[frame]) return "native";
    if (this.frames.get("application")[frame]) return "app";
    return this.texts[this.frames.get("owner")[frame]].startsWith("(") ? "ruby" : "gem";
  }

  growthClass(net, node) {
    const direction = this.directions.get(node) || 0;
    if (direction === 0) return "noise";
    const much = Math.abs(net.value(this.state.get("unit"))) > MUCH * this.tree.root.width;
    return `${direction > 0 ? "grown" : "shrunk"}${much ? " much" : ""}`;
  }

  // What stands in the frame: the method, since the path has no room.
  label(node) {
    const detail = this.state.get("detail");
    const [label, method, short, line, native] = this.fields(node.group);
    if (node.group < 0 || native || detail === "file") return this.frameName(node);
    const name = cut(visible(this.texts[detail === "line" ? label : method]), LABEL);
    const at = detail === "line" && line > 0 ? `:${line}` : "";
    if (!NAMELESS.test(name)) return name + at;
    return `${name} ${cut(visible(this.texts[short].split("/").pop()), LABEL)}${at}`;
  }

  fields(group) {
    return ["label", "method", "short", "line", "native"].map((name) => this.frames.get(name)[group]);
  }

  frameName(node) {
    if (node.group < 0) return "all";
    const detail = this.state.get("detail");
    const [label, method, short, line, native] = this.fields(node.group);
    if (native) return cut(visible(this.texts[label]), LABEL);
    if (detail === "file") return cut(visible(this.texts[short]), LABEL);
    const place = this.texts[short] + (detail === "line" && line > 0 ? `:${line}` : "");
    return `${cut(visible(this.texts[detail === "line" ? label : method]), LABEL)}${place ? ` ${cut(visible(place), LABEL)}` : ""}`;
  }

  // The lines of a tooltip.
  lines(node, rest) {
    const unit = this.state.get("unit");
    if (rest) return [`${count(rest)} small frames`, "A click shows them."];
    const estimate = this.tree.estimate(node);
    const root = this.tree.root;
    const lines = [];
    if (node.group === FOLD) {
      const fold = this.contents(node);
      lines.push(
        visible(described(fold, OWNERS)),
        node.open ? "A click folds them again." : "Folded: a click shows them.",
      );
    } else if (node.group < 0) {
      lines.push("all");
    } else {
      const [label, method, path, line] = ["label", "method", "path", "line"].map(
        (name) => this.frames.get(name)[node.group],
      );
      const detail = this.state.get("detail");
      const place = this.texts[path] + (detail === "line" && line > 0 ? `:${line}` : "");
      if (detail !== "file") lines.push(cut(visible(this.texts[detail === "line" ? label : method]), 500));
      if (place) lines.push(cut(visible(place), 500));
    }
    if (estimate.zero) return [...lines, "nothing"];
    if ("gained" in estimate) {
      lines.push(
        `${size(estimate, unit)} (${interval(estimate, unit)})${this.directions.get(node) ? "" : ", within noise"}`,
      );
      const [gained, lost] = this.selection.growth.matched ? ["allocated", "freed"] : ["later", "earlier"];
      lines.push(
        `${gained} ${amount(estimate.gained.value(unit), unit)}, ${lost} ${amount(estimate.lost.value(unit), unit)}`,
      );
    } else {
      const within = interval(estimate, unit);
      lines.push(
        `${size(estimate, unit)} ${within.startsWith("±") ? within : `(${within})`}, ${percent(node.width / root.width)}`,
      );
      if (unit === "bytes") lines.push(`${count(estimate.objects)} objects, ${interval(estimate, "objects")}`);
      const own = node.width - this.tree.children(node).reduce((sum, child) => sum + child.width, 0);
      if (node.group >= 0 && own > 1e-9 * node.width) lines.push(`itself ${amount(own, unit)}`);
    }
    lines.push(`${count(estimate.samples)} samples${estimate.weak ? ": weak" : ""}`);
    return lines;
  }
}
