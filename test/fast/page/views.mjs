// The table's columns, the sandwich, small frames, the list on a phone, and what the keyboard reaches.
import { test } from "node:test";
import { frameNamed, frames, redrawn, rows, show, state } from "./browser.mjs";
import { assert, close, equal } from "./assertions.mjs";

const heads = (page) => page.$$eval("#table th", (list) => list.map((cell) => cell.textContent));
const names = (drawn) => drawn.map(({ label }) => label.split(",")[0]);

// Frames of the callers' graph: name, how far from the function, and width.
const callers = (page) =>
  page.$$eval("#callers g.frame", (list) =>
    list.map((frame) => ({
      name: frame.getAttribute("aria-label").split(" ")[0],
      depth: frame.__data__.depth,
      top: frame.querySelector("rect").getBoundingClientRect().top,
      width: frame.querySelector("rect").getBoundingClientRect().width,
    })),
  );

export const views = async (on) => {
  await test("the table has seven columns; a button shows the others, and what sorts is seen", () =>
    on("crowded", async (page) => {
      const first = await heads(page);
      equal(["line", "bytes", "95% interval", "share", "samples", "objects", "class"], first);
      await redrawn(page, () => page.click("#columns"));
      const all = await heads(page);
      assert(all.length > 8 && first.every((title) => all.includes(title)), all.join(", "));
      assert(all.includes("age") && all.includes("malloc"), all.join(", "));
      await redrawn(page, () => page.click("#columns"));
      equal(first, await heads(page));
      await show(page, { sort: "age" });
      assert((await heads(page)).includes("age"), "the column that sorts is hidden");
    }));

  await test("no class, holder or line is cut without a way to see it", () =>
    on("crowded", async (page) => {
      const cut = () =>
        page.$$eval("#table td.class, #table td.holder", (list) =>
          list.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent),
        );
      equal([], await cut());
      const text = await page.$eval("#table td.class", (cell) => cell.innerText);
      assert(text.startsWith("Tickets::Archive") && text.includes("AttributesFromTheDatabaseWithDefaults"), text);
      await redrawn(page, () => page.click("#table tbody tr td.name button"));
      const marked = await page.$eval("#table tr.marked td.name button", (button) => ({
        text: button.innerText.replace(/\s+/g, ""),
        cut: button.scrollWidth > button.clientWidth + 1,
      }));
      equal(false, marked.cut);
      assert(
        marked.text.startsWith(
          "a_folder_with_a_long_name/another_folder_with_a_long_name/export.rb:12Tickets::Archive",
        ) && marked.text.endsWith("#export"),
        marked.text,
      );
    }));

  await test("many small frames beside each other are one, and a click shows them", () =>
    on("crowded", async (page) => {
      const drawn = await frames(page);
      assert(!names(drawn).some((name) => name.startsWith("Small#")), names(drawn).join(" | "));
      const other = drawn.find(({ label }) => label.startsWith("other: 60 small frames"));
      assert(other && other.width > 200, names(drawn).join(" | "));
      assert((await page.$eval("#legend", (element) => element.textContent)).includes("other: small frames"), "legend");
      await redrawn(page, () => page.mouse.click(other.left + 20, other.top + 5));
      equal(60, names(await frames(page)).filter((name) => name.startsWith("Small#")).length);
      await redrawn(page, () => page.keyboard.press("Escape"));
      assert(!names(await frames(page)).some((name) => name.startsWith("Small#")), "Escape makes them one again");
    }));

  await test("a sandwich has the callers of a function above it and its callees below, each with the whole of it", () =>
    on("crowded", async (page) => {
      const walk = await frameNamed(page, "Tree#walk");
      await redrawn(page, () => walk.click());
      await redrawn(page, () => page.click('[data-name="direction"][data-value="both"]'));
      const below = await frames(page);
      const above = await callers(page);
      const [root] = below.filter(({ depth }) => depth === 0);
      assert(root.label.startsWith("Tree#walk"), root.label);
      close(400 * 512, (await page.evaluate(() => window.heapView.shownTree.root.width)) / 1024, "400 samples", 0.02);
      const level = (list, depth) => list.filter((frame) => frame.depth === depth);
      equal(
        ["Tickets::Archive", "Tree#walk"],
        names(level(below, 1))
          .map((name) => name.split(" ")[0].split("::Exporters")[0])
          .sort(),
      );
      equal(
        ["Left#go", "Right#go"],
        level(above, 1)
          .map(({ name }) => name)
          .sort(),
      );
      const [left] = level(above, 1).filter(({ name }) => name === "Left#go");
      close(0.75, left.width / root.width, "the share of Left#go", 0.03);
      assert(left.top < root.top && level(below, 1)[0].top > root.top, "above and below");
      assert(
        (await page.$eval("#place", (place) => place.textContent)).includes("Callers above, callees below: Tree#walk"),
      );
      const right = await page.evaluateHandle(() =>
        [...document.querySelectorAll("#callers g.frame")].find((frame) => frame.ariaLabel.startsWith("Right#go")),
      );
      await redrawn(page, () => right.click());
      assert((await frames(page)).find(({ depth }) => depth === 0).label.startsWith("Right#go"), "a click chooses");
      await page.reload();
      await page.waitForFunction("window.heapView?.drawn > 0");
      assert((await frames(page)).find(({ depth }) => depth === 0).label.startsWith("Right#go"), "the address");
      await redrawn(page, () => page.keyboard.press("s"));
      equal(["callees", true], [await state(page, "direction"), await page.$eval("#callers", (one) => one.hidden)]);
    }));

  await test("on a phone a list of lines with bars comes before the graph, and no column is cut", () =>
    on(
      "crowded",
      async (page) => {
        const seen = await page.evaluate(() => {
          const top = (selector) => document.querySelector(selector).getBoundingClientRect().top;
          const lines = [...document.querySelectorAll("#table tbody tr")];
          const bar = (line) => parseFloat(getComputedStyle(line.querySelector("td.value"), "::after").width);
          return {
            before: top("#table") < top("#graph") && lines[0].getBoundingClientRect().bottom < 600,
            inOrder: !!(document.querySelector("#table").compareDocumentPosition(document.querySelector("#graph")) & 4),
            rows: lines.length,
            bars: lines.map(bar),
            wide: document.querySelector("#table").scrollWidth - document.querySelector("#table").clientWidth,
            cut: [...document.querySelectorAll("#table td, #table th")]
              .filter((cell) => cell.scrollWidth > cell.clientWidth + 1 || cell.getBoundingClientRect().right > 390)
              .map((cell) => cell.textContent),
            titles: [...lines[0].cells].map((cell) => cell.dataset.title ?? "line"),
          };
        });
        equal([true, true, 10, 0, []], [seen.before, seen.inOrder, seen.rows, seen.wide, seen.cut]);
        equal(7, seen.titles.length);
        const [first, second] = (await rows(page)).map(({ value }) => value);
        close(second / first, seen.bars[1] / seen.bars[0], "bars", 0.03);
        await page.setViewport({ width: 1200, height: 900 });
        await page.waitForFunction(
          () => document.querySelector("#graph").compareDocumentPosition(document.querySelector("#table")) & 4,
        );
      },
      { width: 390, height: 844 },
    ));

  await test("the tip lies over no row that was clicked, and is there for the keyboard", () =>
    on("crowded", async (page) => {
      const walk = (await frames(page)).find(({ label }) => label.startsWith("Tree#walk"));
      await page.mouse.move(walk.left + 30, walk.top + 3);
      const tip = await page.$eval("#tip", (element) => element.getBoundingClientRect().top);
      assert(tip >= walk.top + walk.height, `the tip begins at ${tip}, the frame ends at ${walk.top + walk.height}`);
      await redrawn(page, () => page.mouse.click(walk.left + 30, walk.top + 3));
      equal(true, await page.$eval("#tip", (element) => element.hidden));
      await page.keyboard.press("ArrowDown");
      equal(false, await page.$eval("#tip", (element) => element.hidden));
    }));

  await test("everything to press has a name for a screen reader, and the parts of the page have roles", () =>
    on("crowded", async (page) => {
      const nameless = await page.evaluate(() =>
        [...document.querySelectorAll("button, select, input, [tabindex], summary")]
          .filter((one) => one.checkVisibility() && one.tabIndex >= 0)
          .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.[0]?.textContent.trim()))
          .map((one) => one.outerHTML.slice(0, 80)),
      );
      equal([], nameless);
      const tree = await page.accessibility.snapshot({ interestingOnly: false });
      const roles = [];
      const walk = (node) => [roles.push(node.role), (node.children ?? []).forEach(walk)];
      walk(tree);
      for (const role of ["banner", "main", "toolbar", "tree", "treeitem", "table", "columnheader", "cell", "combobox"])
        assert(roles.includes(role), `no ${role}: ${[...new Set(roles)].join(", ")}`);
    }));

  for (const [name, value, word] of [
    ["kept", "kept", "Retained by"],
    ["blocks", "freed", "Freed"],
    ["blocks", "allocated", "freed"],
    ["grown", "growth", "allocated"],
  ])
    await test(`the page's words are those of the reports: ${value}`, () =>
      on(name, async (page) => {
        await show(page, { value });
        const said = await page.evaluate(() => document.body.innerText + document.querySelector("#help").textContent);
        assert(said.includes(word), `no "${word}"`);
        equal([], said.match(/\b(born|births?|deaths?|dead|kept by|keeps|keeper)\b/gi) || []);
      }));
};
