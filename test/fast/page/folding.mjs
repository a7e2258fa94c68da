// Frames of gems, Ruby's library and native code are folded between frames of the application.
import { test } from "node:test";
import { frameNamed, frames, redrawn, rows, show, state } from "./browser.mjs";
import { assert, close, equal } from "./assertions.mjs";

const labels = (drawn) => drawn.map(({ text }) => text);
const widthAt = (drawn, depth) =>
  drawn.filter((frame) => frame.depth === depth).reduce((sum, { width }) => sum + width, 0);

export const folding = async (on) => {
  await test("the first screen of the graph has the application's frames; what is folded is said", () =>
    on("service", async (page) => {
      const drawn = await frames(page);
      const cache = drawn.find(({ text }) => text.startsWith("Ticket::Cache.store"));
      assert(cache && cache.depth <= 3, JSON.stringify(labels(drawn)));
      assert(!labels(drawn).some((text) => text.startsWith("Rack::Middleware")), "frames of rack");
      const [fold] = drawn.filter(({ classes, depth }) => classes.includes("fold") && depth === 1);
      equal("up to 18 frames of rack, puma, a-gem-with-a-long-name", fold.text);
      const query = drawn.find(({ label }) => label.startsWith("2 frames of activerecord"));
      assert(query && query.depth === 4, "two frames of activerecord below Ticket.latest");
      assert(labels(drawn).includes("Job#perform:5"), "the application's other line");
    }));

  await test("a control and a key show all frames, and the table stays as it is", () =>
    on("service", async (page) => {
      const before = await rows(page);
      const folded = await frames(page);
      await redrawn(page, () => page.click('[data-name="frames"][data-value="all"]'));
      const all = await frames(page);
      assert(
        labels(all).some((text) => text.startsWith("Rack::Middleware0#call")),
        JSON.stringify(labels(all)),
      );
      assert(!all.some(({ classes }) => classes.includes("fold")), "still folded");
      equal(before, await rows(page));
      close(widthAt(folded, 1), widthAt(all, 1), "the width below the root", 0.01);
      await redrawn(page, () => page.keyboard.press("f"));
      equal("app", await state(page, "frames"));
      equal(labels(folded).sort(), labels(await frames(page)).sort());
    }));

  await test("a click on a fold shows its frames, in an address that can be opened; another click folds them", () =>
    on("service", async (page) => {
      const fold = await frameNamed(page, "up to 18 frames");
      await redrawn(page, () => fold.click());
      const open = await frames(page);
      assert(
        labels(open).some((text) => text.startsWith("Puma::Server#step_0")),
        JSON.stringify(labels(open)),
      );
      assert(
        labels(open).some((text) => text.startsWith("Ticket::Cache.store")),
        "and what they call",
      );
      equal("o", await state(page, "zoom"));
      const shown = (await rows(page)).map(({ place }) => place);
      assert(shown.length > 4 && shown.some((place) => place.includes("cache.rb:12")), JSON.stringify(shown));
      const rack = await frameNamed(page, "Rack::Middleware3#call");
      await redrawn(page, () => rack.click());
      const zoom = await state(page, "zoom");
      const here = labels(await frames(page)).sort();
      await page.reload();
      await page.waitForFunction("window.heapView?.drawn > 0");
      equal([zoom, here], [await state(page, "zoom"), labels(await frames(page)).sort()]);
      await show(page, { zoom: "o" });
      const top = await frameNamed(page, "up to 18 frames");
      await redrawn(page, () => top.click());
      equal("", await state(page, "zoom"));
    }));

  await test("callers are folded too, but never the line that memory is charged to", () =>
    on("service", async (page) => {
      await show(page, { direction: "callers" });
      const drawn = await frames(page);
      const query = drawn.find(({ text }) => text.startsWith("ActiveRecord::Result#columns"));
      equal(1, query?.depth, "the line of activerecord");
      const store = drawn.find(({ text, depth }) => text.startsWith("Ticket::Cache.store") && depth === 1);
      const show_ = drawn.find(
        ({ text, left, depth }) => depth === 2 && text.startsWith("Tickets") && left >= store.left - 1,
      );
      assert(show_, JSON.stringify(labels(drawn)));
      assert(
        drawn.some(({ text, depth }) => depth === 3 && /^18 frames of (rack, puma|puma, rack)$/.test(text)),
        JSON.stringify(labels(drawn)),
      );
    }));

  await test("a search finds what is folded: the fold is marked", () =>
    on("service", async (page) => {
      await show(page, { search: "middleware_7" });
      const found = (await frames(page)).filter(({ classes }) => classes.includes("matched"));
      equal(
        ["fold"],
        found.flatMap(({ classes }) => classes.filter((name) => name === "fold")),
      );
    }));

  await test("where all is the application's, or nothing is, there is nothing to fold", () =>
    on("deep", async (page) => equal(null, await page.$('[data-name="frames"]'))));
};
