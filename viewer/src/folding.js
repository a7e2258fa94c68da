// Frames of frameworks (gems, Ruby's library, native code) between those of the
// application: which they are, and what a fold of them is called.

// A byte for each frame: 1 where it is folded. Null if nothing would be left, or
// nothing is there to fold.
export const foldedFrames = (frames) => {
  const folded = Uint8Array.from(frames.get("application"), (own) => 1 - own);
  return folded.includes(0) && folded.includes(1) ? folded : null;
};

const NATIVE = "native code";
const RUBY = "ruby";
const SHOWN = 2;
const VERSION = /-(?:\d[^-]*(?:-[^-]+)*|[0-9a-f]{7,})$/;

// "puma" of "puma-8.0.2".
const nameOf = (gem) => gem.replace(VERSION, "");

// What is in a fold: how many frames its deepest and its shallowest stack have, whose they are, and
// whether one of them is wanted (a byte for each frame, or null).
export const contents = (tree, fold, selection, wanted) => {
  const { frames, texts } = selection;
  const [native, gem] = [frames.get("native"), frames.get("gem")];
  const widths = new Map();
  const seen = new Set();
  let deepest = 0;
  let found = false;
  tree.frames(fold, (frame, deep, width) => {
    seen.add(tree.groupOf[frame]);
    deepest = Math.max(deepest, deep);
    found ||= wanted !== null && wanted[frame] === 1;
    const key = native[frame] ? -1 : gem[frame];
    widths.set(key, (widths.get(key) || 0) + width);
  });
  const owner = (key) => (key < 0 ? NATIVE : texts[key].startsWith("(") ? RUBY : nameOf(texts[key]));
  const owners = new Set([...widths].sort((a, b) => b[1] - a[1]).map(([key]) => owner(key)));
  return { deepest, linear: seen.size === deepest, owners: [...owners], found };
};

// "12 frames of puma, rack", "up to 31 frames of puma, rack and 9 more".
export const told = ({ deepest, linear, owners }, most = SHOWN) => {
  const more = owners.length - most;
  const names = more > 1 ? `${owners.slice(0, most).join(", ")} and ${more} more` : owners.join(", ");
  return `${linear ? "" : "up to "}${deepest} frame${deepest === 1 ? "" : "s"} of ${names}`;
};
