// What the colours of the graph mean.
import { el, fill } from "./dom.js";

const CODE = { app: "application", gem: "gem", ruby: "Ruby's library", native: "native code" };
const KEPT = { app: "reference", ruby: "of a collection" };
const GROWTH = {
  "grown much": "grew by a tenth of all or more",
  grown: "grew",
  "shrunk much": "shrank by a tenth or more",
  shrunk: "shrank",
  noise: "within noise",
};
const FOLDED = "folded: gems, Ruby's library, native code";

export const drawLegend = (element, { growth, kept, folds, found, zoomed }) => {
  const kinds = { ...(growth ? GROWTH : kept ? KEPT : CODE), rest: "other: small frames (a click shows them)" };
  if (folds && !growth) kinds.fold = kept ? "folded: collections" : FOLDED;
  if (found) Object.assign(kinds, { found: "found", faded: "paler: not found" });
  else if (zoomed) kinds.faded = "paler: the path to it";
  const swatches = Object.entries(kinds).map(([kind, text]) =>
    el("span", {}, el("span", { className: `swatch ${kind}` }), text),
  );
  const notes = growth ? [el("span", {}, "width: how much stacks changed")] : [];
  if (folds && growth) notes.push(el("span", { className: "italic" }, FOLDED));
  fill(element, ...swatches, ...notes);
};
