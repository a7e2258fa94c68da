// Frames of frameworks (gems, Ruby's library, native code) between frames of the
// application: which they are, and the name of a fold of them.

// A byte for each frame: 1 where it is folded. Null if nothing would be left, or
// nothing is there to fold.
export const foldedFrames = (frames) => {
  const folded = Uint8Array.from(frames.get("application"), (own) => 1 - own);
  return folded.includes(0) && folded.includes(1) ? folded : null;
};

const SHOWN = 2;
const APPLICATION = "(app)";
const VERSION = /-(?:\d[^-]*(?:-[^-]+)*|[0-9a-f]{7,})$/;

// Whose code it is: "puma" of "puma-8.0.2", "libxml2.so.2" of "(libxml2.so.2)".
const ownerOf = (text) => {
  if (text === APPLICATION) return "native code";
  return text.replace(text.startsWith("(") ? /[()]/g : VERSION, "");
};

// What is in a fold: how many frames its deepest and its shallowest stack have, whose they are, and
// whether one of them is wanted (a byte for each frame, or null).
export const contents = (tree, fold, selection, wanted) => {
  const { frames, texts } = selection;
  const owner = frames.get("owner");
  const widths = new Map();
  const seen = new Set();
  let deepest = 0;
  let found = false;
  tree.frames(fold, (frame, deep, width) => {
    seen.add(tree.groupOf[frame]);
    deepest = Math.max(deepest, deep);
    found ||= wanted !== null && wanted[frame] === 1;
    widths.set(owner[frame], (widths.get(owner[frame]) || 0) + width);
  });
  const owners = new Set([...widths].sort((a, b) => b[1] - a[1]).map(([text]) => ownerOf(texts[text])));
  return { deepest, linear: seen.size === deepest, owners: [...owners], found };
};

// "12 frames of puma, rack", "up to 31 frames of puma, rack and 9 more".
export const described = ({ deepest, linear, owners }, most = SHOWN) => {
  const more = owners.length - most;
  const names = more > 1 ? `${owners.slice(0, most).join(", ")} and ${more} more` : owners.join(", ");
  return `${linear ? "" : "up to "}${deepest} frame${deepest === 1 ? "" : "s"} of ${names}`;
};
