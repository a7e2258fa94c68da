// Lines, figures and words are seen: nothing that one looks for is cut, below the fold, or called by two names.
import { test } from "node:test";
import { frames, redrawn, rows, show, state, summary } from "./browser.mjs";
import { assert, equal } from "./assertions.mjs";

// The end of each place in the table, and whether it is within what is seen of its cell.
const ends = (page) =>
  page.$$eval("#table td.name .place", (list) =>
    list.map((place) => {
      const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
      const node = walker.nextNode();
      const range = document.createRange();
      range.setStart(node, Math.max(0, node.length - 10));
      range.setEnd(node, node.length);
      const [end, cell] = [range.getBoundingClientRect(), place.closest("td").getBoundingClientRect()];
      const box = place.getBoundingClientRect();
      const within = (outer) => end.left >= outer.left - 1 && end.right <= outer.right + 1;
      return { text: node.data, seen: within(cell) && within(box) };
    }),
  );

// Is an element within what its scroller and the window show of it?
const seenIn = (page, scroller, element) =>
  page.evaluate(
    (outer, inner) => {
      const [a, b] = [inner, document.querySelector(outer)].map((one) => one.getBoundingClientRect());
      return (
        a.top >= b.top - 1 &&
        a.bottom <= b.bottom + 1 &&
        a.top >= -1 &&
        a.bottom <= window.innerHeight + 1 &&
        a.height > 0
      );
    },
    scroller,
    element,
  );

const widestFound = (page) =>
  page.evaluateHandle(
    () =>
      [...document.querySelectorAll("#graph g.frame.matched")].sort((a, b) => b.__data__.value - a.__data__.value)[0],
  );

export const legible = async (on) => {
  for (const width of [1400, 390]) {
    await test(`at ${width} pixels the table cuts paths in front: the file and the line of every row are seen`, () =>
      on(
        "service",
        async (page) => {
          const places = await ends(page);
          assert(places.length >= 8, `${places.length} places`);
          equal(
            [],
            places.filter(({ seen }) => !seen),
          );
          for (let i = 0; i < 4; i++)
            assert(
              places.some(({ text }) => new RegExp(`^….*quoting_${i}\\.rb:${100 + i}$`).test(text)),
              `quoting_${i}.rb is not cut in front: ${JSON.stringify(places)}`,
            );
        },
        { width, height: 844 },
      ));
  }

  await test("frames say methods; the path is in the tooltip, and next to the graph of what is zoomed in on", () =>
    on("service", async (page) => {
      const drawn = (await frames(page)).filter(({ classes }) => !classes.includes("rest"));
      equal(
        [],
        drawn.map(({ text }) => text).filter((text) => text.includes("/")),
      );
      const frame = drawn.find(({ text }) => text.startsWith("Ticket::Cache.store"));
      assert(/^Ticket::Cache\.store:12$/.test(frame.text), frame.text);
      await page.mouse.move(frame.left + 5, frame.top + 5);
      const tip = await page.$eval("#tip", (element) => element.textContent);
      assert(tip.includes("/srv/app/app/models/ticket/cache.rb:12"), tip);
      await redrawn(page, () => page.mouse.click(frame.left + 5, frame.top + 5));
      const details = await page.$eval("#details", (element) => element.textContent);
      assert(details.includes("/srv/app/app/models/ticket/cache.rb:12"), details);
    }));

  await test("a frame with little room keeps the beginning of its class", () =>
    on(
      "service",
      async (page) => {
        const latest = (await frames(page)).find(({ label }) => label.startsWith("Ticket.latest"));
        assert(latest.width > 70 && latest.width < 105, `it is ${latest.width} wide`);
        assert(/^Tic[ket]*(…\.latest:40|\.latest:40)$/.test(latest.text), latest.text);
        const methods = (await frames(page)).filter(({ text }) => /^[.#]/.test(text));
        equal(
          [],
          methods.map(({ text }) => text),
        );
      },
      { width: 390 },
    ));

  await test("frames by file are cut in front, too", () =>
    on("service", async (page) => {
      await show(page, { detail: "file", frames: "all", search: "quoting_3" });
      const cut = (await frames(page)).filter(({ text, width }) => text.includes("…") && width > 120);
      assert(cut.length > 0, "no frame is cut: the test is of no use");
      for (const { text } of cut) assert(/^….*\.rb$/.test(text), text);
    }));

  await test("the graph has the whole width of the page", () =>
    on(
      "service",
      async (page) => {
        const width = await page.$eval("#graph", (element) => element.clientWidth);
        assert(width > 1300, `${width} of 1400`);
      },
      { width: 1400 },
    ));

  for (const [name, from, to] of [
    ["grown", "process 4711, 2026-01-01 00:01:00 → 00:03:00 UTC", "process 4711 at 2026-01-01 00:01:00 UTC"],
    ["processes", "process 4711 at 2026-01-01 00:01:00 → process 4712 at 2026-01-01 00:02:00 UTC", "process 4711 at"],
  ]) {
    await test(`${name}: the page opens with the growth, and its title names both sides`, () =>
      on(name, async (page) => {
        equal("growth", await state(page, "value"));
        assert((await summary(page)).startsWith("Growth: "), await summary(page));
        for (const title of [await page.title(), await page.$eval("#title", (element) => element.textContent)])
          assert(/^Heap growth(,| of) /.test(title) && title.endsWith(from), title);
        assert((await summary(page)).includes(`Since ${to}`), await summary(page));
        await show(page, { value: "inuse" });
        assert(/^Heap profile of process 471[12], /.test(await page.title()), await page.title());
      }));
  }

  await test("another base is in the title as well", () =>
    on("grown", async (page) => {
      await show(page, { since: "1" });
      assert((await page.title()).endsWith("2026-01-01 00:02:00 → 00:03:00 UTC"), await page.title());
    }));

  await test("a few samples of what shrank are marked apart from the sign: ~ −520.0 KiB", () =>
    on("grown", async (page) => {
      const row = (await rows(page)).findIndex(({ place }) => place.includes("noise.rb"));
      const cell = (await page.$$("#table tbody tr"))[row];
      const text = await cell.$eval("td.value", (element) => element.innerText);
      assert((await rows(page))[row].value < 0, "noise.rb has not shrunk");
      assert(/^~\s?\u2212\d+\.\d [KM]iB$/.test(text), text);
      equal(text.replace(/^~\s*/, ""), await cell.$eval("td.value", (element) => element.lastChild.data), "the figure");
      assert(
        await cell.$eval("td.value", (element) => {
          const [mark, figure] = [...element.childNodes].map((node) => {
            const range = document.createRange();
            range.selectNode(node);
            return range.getBoundingClientRect();
          });
          return figure.left - mark.right >= 3;
        }),
        "the mark touches the sign",
      );
    }));

  await test("live memory is called Live, and nothing else", () =>
    on("grown", async (page) => {
      const said = await page.evaluate(() =>
        ["header", "#controls", "main", "#memory-card", "#cards section:nth-child(2)", "#help"]
          .map((part) => document.querySelector(part)?.textContent)
          .join(" "),
      );
      assert(said.includes("Live"), said);
      equal([], said.match(/\bin use\b|inuse/gi) || []);
    }));

  // --- search and click ---

  await test("a search scrolls the graph and the table to what it finds", () =>
    on("deep", async (page) => {
      await page.focus('[data-name="search"]');
      await page.keyboard.type("deep_89.rb");
      await page.waitForFunction(
        () => window.heapView.state.get("search") === "deep_89.rb" && !window.heapView.frameAsked,
      );
      assert(await seenIn(page, "#graph", await widestFound(page)), "the frame is not seen");
      await page.focus('[data-name="search"]');
      await show(page, { search: "many_140.rb" });
      const row = await page.evaluateHandle(() =>
        [...document.querySelectorAll("#table tbody tr")].find((one) => one.textContent.includes("many_140.rb")),
      );
      assert((await row.evaluate((element) => element?.className)) === "found", "the row is not marked, or not there");
      const within = await page.evaluate((element) => {
        const [a, b] = [element, document.querySelector("#table")].map((one) => one.getBoundingClientRect());
        return a.top >= b.top && a.bottom <= b.bottom;
      }, row);
      assert(within, "the row is not seen");
    }));

  await test("a click on a row scrolls to its frame, and zooms in where it would be too narrow", () =>
    on("deep", async (page) => {
      const click = (text) =>
        redrawn(page, () =>
          page.evaluate((wanted) => {
            [...document.querySelectorAll("#table td.name button")]
              .find((one) => one.textContent.includes(wanted))
              .click();
          }, text),
        );
      await click("deep_89.rb");
      assert(await seenIn(page, "#graph", await widestFound(page)), "the frame is not seen");
      await redrawn(page, () => page.keyboard.press("Escape"));
      await show(page, { search: "tiny.rb" });
      await show(page, { search: "" });
      await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
      await click("tiny.rb");
      await page.waitForFunction(() => window.heapView.state.get("zoom") !== "" && !window.heapView.frameAsked, {
        timeout: 60_000,
      });
      const found = await widestFound(page);
      assert(
        (await found.evaluate((frame) => frame?.getAttribute("aria-label"))).includes("tiny.rb:8"),
        "nothing found",
      );
      assert(await seenIn(page, "#graph", found), "the frame is not seen");
    }));

  await test("Enter in the search zooms in on the most of what it finds", () =>
    on("deep", async (page) => {
      await page.focus('[data-name="search"]');
      await page.keyboard.type("Tiny#");
      await page.waitForFunction(() => window.heapView.state.get("search") === "Tiny#" && !window.heapView.frameAsked);
      await redrawn(page, () => page.keyboard.press("Enter"));
      const details = await page.$eval("#details", (element) => element.textContent);
      assert(details.includes("tiny.rb:8"), details);
    }));

  await test("what is zoomed in on is seen, however deep it is", () =>
    on("deep", async (page) => {
      const deepest = await page.evaluateHandle(() =>
        [...document.querySelectorAll("#graph g.frame:not(.rest)")].reduce((a, b) =>
          b.__data__.depth > a.__data__.depth ? b : a,
        ),
      );
      await redrawn(page, () =>
        deepest.evaluate((frame) => frame.dispatchEvent(new MouseEvent("click", { bubbles: true }))),
      );
      const focus = await page.evaluateHandle(() => window.heapView.flame.byNode.get(window.heapView.focus));
      const [top, bottom] = await page.evaluate((frame) => {
        const [a, b] = [frame, document.querySelector("#graph")].map((one) => one.getBoundingClientRect());
        return [a.top - b.top, b.bottom - a.bottom];
      }, focus);
      assert(top >= -1 && bottom >= -1, `${top}, ${bottom}`);
    }));

  // --- phones ---

  await test("on a phone the title can be read, and filters are behind a button", () =>
    on(
      "grown",
      async (page) => {
        const [wide, seen] = await page.$eval("#title", (title) => [title.scrollWidth, title.clientWidth]);
        assert(wide <= seen, `the title is ${wide} wide, ${seen} are seen`);
        const height = () => page.$eval("#controls", (element) => element.getBoundingClientRect().height);
        assert((await height()) < 844 / 5, `the controls take ${await height()} pixels`);
        const hidden = () => page.$eval('[data-name="gem"]', (element) => element.getBoundingClientRect().height === 0);
        assert(await hidden(), "the filters are there");
        assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "wider than the phone");
        await page.click("#filters-button");
        equal([false, "true"], [await hidden(), await page.$eval("#filters-button", (one) => one.ariaExpanded)]);
        assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "wider than the phone");
        await page.click("#filters-button");
        assert(await hidden(), "the button closes, too");
        await show(page, { class: "String" });
        equal("Filters (1)", await page.$eval("#filters-button", (one) => one.textContent));
      },
      { width: 390, height: 844 },
    ));
};
