// The page's figures are the library's.
import { test } from "node:test";
import { discoveries, interval } from "../../../viewer/src/statistics.js";
import { interval as written, size } from "../../../viewer/src/format.js";
import { assert, close, equal, sameRows } from "./assertions.mjs";
import { estimates, open, rows, told } from "./page.mjs";

const every = (page, expected) => {
  let checked = 0;
  for (const [value, kinds] of Object.entries(expected))
    for (const [by, memories] of Object.entries(kinds))
      for (const [memory, units] of Object.entries(memories))
        for (const [unit, list] of Object.entries(units)) {
          page.state.set({ value, by, memory, unit });
          sameRows(list, rows(page), `${value} by ${by}, ${memory}, ${unit}`);
          checked += list.length;
        }
  return checked;
};

test("rows are grouped by what the library groups by", async () => {
  const { data } = await open("mixed");
  equal(
    told.kinds,
    data.groups.map(({ name }) => name),
  );
});

test("every value, kind, memory and unit of a profile has the library's figures", async () => {
  assert(every(await open("mixed"), told.mixed) > 300);
});

test("so have blocks of malloc", async () => {
  assert(every(await open("blocks"), told.blocks) > 30);
});

test("growth has the library's figures and directions, since each of the earlier profiles", async () => {
  const page = await open("series");
  equal("growth", page.state.get("value"));
  for (const [since, kinds] of told.growths.entries())
    for (const [by, expected] of Object.entries(kinds)) {
      page.state.set({ since: String(since), by });
      sameRows(expected, rows(page), `since ${since} by ${by}`);
    }
});

test("what seems to grow by chance, as some of many lines do, is noise", async () => {
  const page = await open("many");
  const actual = rows(page);
  sameRows(told.many, actual, "many lines");
  const chance = actual.filter(({ interval: [low, high], direction }) => (low > 0 || high < 0) && direction === 0);
  assert(chance.length > 0, "no line seems to have changed by chance: the test is of no use");
  assert(actual.filter(({ direction }) => direction === 1).length >= 5, "what grew");
});

test("a filter leaves what the library counts", async () => {
  const page = await open("mixed");
  const filters = {
    class: { class: "String" },
    part: { class: "a" },
    type: { type: "T_OBJECT" },
    gem: { gem: "model-7.1.2" },
    age: { age: "10-90" },
  };
  for (const [name, filter] of Object.entries(filters)) {
    page.state.set({ class: "", type: "", gem: "", age: "", ...filter });
    const { total } = page.view.sums();
    const [space, samples, limits] = told.filters[name];
    close(space, total.space, name);
    equal(samples, total.samples, name);
    for (const i of [0, 1]) close(limits[i], total.interval("bytes")[i], `${name}, interval`, 1e-6);
  }
  page.state.set({ class: "NoSuchClass", age: "" });
  equal(0, page.view.sums().total.samples);
});

test("a search finds what is in stacks that have such a frame", async () => {
  const page = await open("mixed");
  page.state.set({ search: "load.rb" });
  const { space, samples } = page.view.found(page.view.wanted());
  close(told.filters.search[0], space, "bytes found");
  equal(told.filters.search[1], samples);
});

test("what is retained has the library's sum; by line a row is the reference that retains most", async () => {
  const page = await open("kept");
  equal("kept", page.state.get("value"));
  const list = rows(page).sort((a, b) => b.value - a.value);
  const sum = (name) => list.reduce((total, row) => total + row[name], 0);
  close(told.kept.space, sum("value"), "bytes");
  equal(told.kept.samples, sum("samples"));
  equal(["Session::STORE", "Ticket::ALL"], list.map(({ name }) => name).slice(0, 2));
});

test("hostile names are texts like others", async () => {
  const page = await open("hostile");
  page.state.set({ by: "class" });
  const names = rows(page).map(({ name }) => name);
  assert(names.includes("__proto__") && names.includes("constructor"), JSON.stringify(names));
  equal(told.hostile.length + 1, names.length); // and (malloc)
  for (const name of ["__proto__", "constructor"]) {
    page.state.set({ class: name });
    equal(
      [name],
      rows(page).map((row) => row.name),
    );
  }
});

test("a profile without rows has no sum and no row", async () => {
  const page = await open("empty");
  equal([0, []], [page.view.sums().total.samples, rows(page)]);
});

test("figures and intervals are written as the library writes them", async () => {
  const page = await open("mixed");
  const shown = new Map(estimates(page).map(([{ name, place }, one]) => [JSON.stringify([place, name]), one]));
  assert(told.written.length > 5);
  for (const [name, figure, within] of told.written) {
    const one = shown.get(JSON.stringify(name));
    equal([figure, within], [size(one, "bytes"), written(one, "bytes")], name.join(" "));
  }
});

test("intervals are the library's, for few samples and many, small weights and large", () => {
  assert(told.intervals.length > 50);
  for (const [[total, variance, unit], limits] of told.intervals) {
    const actual = interval(total, variance, unit);
    for (const i of [0, 1]) close(limits[i] / limits[1], actual[i] / limits[1], `${total} ± ${variance}`, 1e-6);
  }
});

test("of many p-values those are discoveries that leave 5% of them wrong", () => {
  equal([true, false, true, false], discoveries([0.001, 0.9, 0.02, 0.04]));
  equal([true, true, true, true], discoveries([0.05, 0.04, 0.03, 0.02]));
  equal([], discoveries([]));
});
