// What retains memory: a graph of references, and "retained by" in each row.
import { test } from "node:test";
import { frames, redrawn, rows, show, state, summary } from "./browser.mjs";
import { assert, equal } from "./assertions.mjs";

const cells = (page, name) => page.$$eval(`#table td.${name}`, (list) => list.map((cell) => cell.innerText.trim()));

export const kept = async (on) => {
  for (const theme of ["light", "dark"])
    for (const width of [1400, 390])
      await test(`who keeps what is a graph of references, ${theme}, at ${width} pixels`, () =>
        on(
          "kept",
          async (page) => {
            await redrawn(page, () =>
              page
                .click('input[value="kept"], [data-name="value"] [value="kept"]')
                .catch(() => show(page, { value: "kept" })),
            );
            equal("kept", await state(page, "value"));
            assert(/^Retained: 7\.7 MiB ±3\.5 MiB/.test(await summary(page)), await summary(page));
            const drawn = (await frames(page)).map(({ label }) => label.split(",")[0]);
            for (const name of ["(constants)", "Session::STORE", "Ticket::ALL", "@data of Session"])
              assert(
                drawn.some((label) => label.startsWith(name)),
                `${name} is not in ${drawn.join(" | ")}`,
              );
            assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, "wider than the window");
            equal([], page.troubles);
          },
          { theme, width, height: 844 },
        ));

  await test("the page that `heapsample why -o` writes opens there", () =>
    on("why", async (page) => {
      equal("kept", await state(page, "value"));
      assert(/^Retained: 7\.7 MiB ±3\.5 MiB/.test(await summary(page)), await summary(page));
    }));

  await test("by line a row is the reference that keeps most, and all frames show collections", () =>
    on("kept", async (page) => {
      await show(page, { value: "kept" });
      equal(["Session::STORE", "Ticket::ALL"], (await rows(page)).map(({ name }) => name).slice(0, 2));
      await show(page, { frames: "all" });
      assert(
        (await frames(page)).some(({ label }) => label.startsWith("{} value of Hash")),
        "all frames show collections",
      );
      await show(page, { by: "class", class: "Ticket" });
      equal(
        ["Ticket"],
        (await rows(page)).map(({ name }) => name),
      );
    }));

  await test("beside each row stands who keeps most of it", () =>
    on("kept", async (page) => {
      await show(page, { value: "inuse", by: "line" });
      const places = await page.$$eval("#table td.name", (list) => list.map((cell) => cell.innerText));
      const holders = await cells(page, "holder");
      equal("Ticket::ALL", holders[places.findIndex((place) => place.includes("shop.rb:12"))]);
      equal("Session::STORE", holders[places.findIndex((place) => place.includes("shop.rb:30"))]);
      await show(page, { by: "class" });
      assert((await cells(page, "holder")).includes("Session::STORE"), "by class");
      await show(page, { value: "allocated" });
      equal([], await cells(page, "holder"));
    }));

  await test("a page of a profile that does not tell has neither", () =>
    on("mixed", async (page) => {
      equal([], await cells(page, "holder"));
      equal(null, await page.$('[value="kept"]'));
    }));
};
