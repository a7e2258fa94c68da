// What the page's tests assert, with what was compared in the message.
import assert from "node:assert/strict";

const explained = (what, compare) => {
  try {
    compare();
  } catch (error) {
    if (what) error.message = `${what}: ${error.message}`;
    throw error;
  }
};

export { assert };

export const equal = (expected, actual, what = "") => explained(what, () => assert.deepEqual(actual, expected));

// Within a tolerance that is relative above 1, and absolute below.
export const close = (expected, actual, what, tolerance = 1e-9) => {
  const most = tolerance * Math.max(Math.abs(expected), 1);
  assert(Math.abs(expected - actual) <= most, `${what}: expected ${expected}, got ${actual}`);
};

const byName = (list, name) => new Map(list.map((row) => [JSON.stringify(name(row)), row]));

// The rows of the page against the library's, with the direction of growth if there is one.
export const sameRows = (expected, actual, what) => {
  const known = byName(expected, (row) => row.name);
  const shown = byName(actual, (row) => [row.place, row.name || (row.place ? "" : "(unknown)")]);
  equal([...known.keys()].sort(), [...shown.keys()].sort(), `${what}, names`);
  for (const [name, row] of known) {
    const other = shown.get(name);
    equal([row.samples, row.weak], [other.samples, other.weak], `${what} ${name}, samples and weak`);
    if ("direction" in row) equal(row.direction, other.direction, `${what} ${name}, direction`);
    close(row.value, other.value, `${what} ${name}`, 1e-9);
    const width = Math.max(Math.abs(row.interval[1]), 1);
    for (const i of [0, 1])
      close(row.interval[i] / width, other.interval[i] / width, `${what} ${name}, interval`, 1e-6);
  }
};
