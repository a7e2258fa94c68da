// What the colours of the graph mean.
import { el, fill } from "./dom.js";

const CODE = { app: "application", gem: "gem", ruby: "Ruby's library", native: "native code" };
const KEPT = { app: "reference", ruby: "of a collection" };
const GROWTH = { grown: "grew", shrunk: "shrank", noise: "within noise" };
const FOLDED = "folded: gems, Ruby's library, native code";

export const drawLegend = (element, { growth, kept, folds, found }) => {
  const kinds = { ...(growth ? GROWTH : kept ? KEPT : CODE), rest: "narrower" };
  if (folds && !growth) kinds.fold = kept ? "folded: collections" : FOLDED;
  if (found) kinds.found = "found";
  const swatches = Object.entries(kinds).map(([kind, text]) =>
    el("span", {}, el("span", { className: `swatch ${kind}` }), text),
  );
  const notes = growth ? [el("span", {}, "width: how much stacks changed")] : [];
  if (folds && growth) notes.push(el("span", { className: "italic" }, FOLDED));
  fill(element, ...swatches, ...notes);
};
