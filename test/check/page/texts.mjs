// Figures and names as text, and what an address may say.
import { test } from "node:test";
import {
  bytes,
  count,
  cut,
  cutClass,
  cutFront,
  duration,
  percent,
  range,
  visible,
} from "../../../viewer/src/format.js";
import { DEFAULTS, State } from "../../../viewer/src/state.js";
import { equal } from "./assertions.mjs";
import { fakeWindow } from "./page.mjs";

test("bytes have a unit, one decimal, and a real minus", () => {
  equal(
    ["0 B", "1023 B", "1.0 KiB", "1.0 MiB", "2.5 GiB"],
    [0, 1023, 1024, 1023.99 * 1024, 2.5 * 2 ** 30].map((size) => bytes(size)),
  );
  equal(["+1.0 KiB", "\u22121.0 KiB"], [bytes(1024, true), bytes(-1024, true)]);
});

test("both ends of a range have one unit", () => {
  equal("0.5 – 2.0 MiB", range(2 ** 19, 2 ** 21, "bytes"));
  equal("1 – 1,000", range(1, 1000, "objects"));
});

test("counts have commas, shares a decimal, durations two units", () => {
  equal(["1,000", "\u22121,000", "12.5%"], [count(1000), count(-1000), percent(0.125)]);
  equal(["59.9 s", "1 min 0 s", "1 h 1 min", "2 d 0 h"], [59.9, 60, 3660, 48 * 3600].map(duration));
});

test("characters that cannot be seen or turn the text are shown as what they are", () => {
  equal(
    ["\\u202egnp.exe", "a\\u0000b\\u001b", "(unknown)", "café 💩"],
    ["\u202egnp.exe", "a\u0000b\u001b", "", "café 💩"].map(visible),
  );
});

test("of a method the beginning of its class is kept, not that it is a block; what has no class is its last part", () => {
  const ticket = [15, 14, 13].map((room) => cutClass("Ticket.latest:40", ".latest:40", room));
  equal(["Tick….latest:40", "Tic….latest:40", "Ticket.latest:40"], ticket);
  const block = [17, 16, 9].map((room) => cutClass("block (2 levels) in Shop#catalogue:41", "#catalogue:41", room));
  equal(["Shop#catalogue:41", "Shop#catalogue:41", "Shop#catalogue:41"], block);
  equal("Sho…#cut:1", cutClass("block in Shopping#cut:1", "#cut:1", 10));
  equal("config.ru:1", cutClass("<main> config.ru:1", "config.ru:1", 12));
});

test("paths are cut in front, at a folder, and names at the end", () => {
  equal("…/models/ticket.rb", cutFront("/srv/app/app/models/ticket.rb", 21));
  equal(["abc…", "abc"], [cut("abcdef", 4), cut("abc", 4)]);
});

const hash = "#value=growth&zoom=9.x.-1&age=z&by=class&sort=__proto__&detail=7&__proto__=1&direction=up&unit=objects";

test("an address sets what it may, and nonsense in it is left out", () => {
  const state = new State(fakeWindow(hash), () => {});
  equal({ ...DEFAULTS, value: "growth", by: "class", unit: "objects" }, state.values);
});

test("the address has what differs from the first view, and names what changed", () => {
  const window = fakeWindow();
  const changed = [];
  const state = new State(window, (names) => changed.push(names));
  state.set({ by: "class", unit: "bytes" });
  state.set({ by: "class" });
  equal([[["by"]], "#by=class"], [changed, window.history.address]);
  state.set({ by: "line" });
  equal("#", window.history.address);
});
