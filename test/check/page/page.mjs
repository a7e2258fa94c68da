// The data of a page that pages.rb wrote, and what the page would show of it, without a browser.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { unpack } from "../../../viewer/src/data.js";
import { changes } from "../../../viewer/src/estimate.js";
import { Groups, nameOf } from "../../../viewer/src/groups.js";
import { ESTIMATES, Selection } from "../../../viewer/src/selection.js";
import { State } from "../../../viewer/src/state.js";

const folder = process.argv[2];
export const told = JSON.parse(readFileSync(join(folder, "told.json"), "utf8"));

// What State needs of a browser's window.
export const fakeWindow = (hash = "") => ({
  location: { hash },
  history: {
    replaceState(_data, _title, address) {
      this.address = address;
    },
  },
  addEventListener: () => {},
});

export const open = async (name) => {
  const data = await unpack(readFileSync(join(folder, `${name}.data`), "latin1"));
  const state = new State(fakeWindow(), () => {});
  const view = new Selection(data, state);
  for (const filter of view.filters) state.add(filter);
  state.begin({ value: data.opens || (data.growths.length ? "growth" : "inuse") });
  return { data, state, view };
};

// The rows of the table, with figures that are not rounded.
export const rows = ({ state, view }) => {
  const [value, unit] = [state.get("value"), state.get("unit")];
  const by = view.kinds.get(state.get("by"));
  const groups = new Groups(view.sheet(), view.mask(), ESTIMATES[value], by, (kind) => view.groupOf(kind));
  const list = groups.list.filter(({ estimate }) => !estimate.zero);
  const estimates = list.map(({ estimate }) => estimate);
  const directions = value === "growth" ? changes(estimates, unit) : [];
  return list.map(({ key, estimate }, i) => ({
    ...nameOf(by, key, view),
    value: estimate.value(unit),
    interval: estimate.interval(unit),
    samples: estimate.samples,
    weak: estimate.weak,
    direction: directions[i],
  }));
};

// What a row of the table has in its cells.
export const estimates = ({ state, view }) => {
  const by = view.kinds.get(state.get("by"));
  const groups = new Groups(view.sheet(), view.mask(), ESTIMATES[state.get("value")], by, (kind) => view.groupOf(kind));
  return groups.list.map(({ key, estimate }) => [nameOf(by, key, view), estimate]);
};
