// Frames by what others call them: "app/models/ticket.rb:12 Ticket#close", or the same with its whole path.

const PLACE = /^(.*?):(\d+)([\s:].*)?$/s;

// Are two places one line, whatever the method is called?
export const sameLine = (one, other) => {
  const [a, b] = [one, other].map((place) => PLACE.exec(String(place)));
  return a && b ? a[1] === b[1] && a[2] === b[2] : one === other;
};

// A byte for each frame at that line, or null if there is none.
export const framesAt = (place, { texts, frames }) => {
  const found = PLACE.exec(String(place));
  if (!found) return null;
  const [, path, line] = found;
  const [paths, shorts, lines] = ["path", "short", "line"].map((name) => frames.get(name));
  const same = new Map();
  const isHere = (text) => {
    if (!same.has(text)) same.set(text, texts[text] === path || texts[text].endsWith(`/${path}`));
    return same.get(text);
  };
  const at = Uint8Array.from(lines, (number, i) =>
    number === Number(line) && (isHere(shorts[i]) || isHere(paths[i])) ? 1 : 0,
  );
  return at.includes(1) ? at : null;
};

// The same place with its path as the table has it.
export const shortened = (place, view) => {
  const at = framesAt(place, view);
  if (!at) return place;
  const [, , line, rest = ""] = PLACE.exec(String(place));
  return `${view.texts[view.frames.get("short")[at.indexOf(1)]]}:${line}${rest}`;
};
