// What the page opens with.
import { test } from "node:test";
import { rows, state } from "./browser.mjs";
import { assert, equal } from "./assertions.mjs";

const text = (page, selector) => page.$eval(selector, (element) => element.innerText.replace(/\s+/g, " ").trim());

// Contrast of a text to what is behind it, as WCAG 2 has it.
const contrasts = (page) =>
  page.evaluate(() => {
    const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = (colour) =>
      numbers(colour)
        .slice(0, 3)
        .map((part) => part / 255)
        .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
      for (let one = element; one; one = one.parentElement) {
        const colour = getComputedStyle(one).backgroundColor;
        if (numbers(colour)[3] !== 0) return colour;
      }
      return "rgb(255, 255, 255)";
    };
    return [...document.querySelectorAll("#diagnosis *, header *, #controls *, #summary *, #table *, #legend *")]
      .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
      .filter((one) => one.getBoundingClientRect().height > 0)
      .map((one) => {
        const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((x, y) => y - x);
        return [one.className || one.tagName, one.textContent.slice(0, 30), (a + 0.05) / (b + 0.05)];
      })
      .filter(([, , contrast]) => contrast < 4.5);
  });

export const diagnosis = async (on, hostile) => {
  await test("the page opens with the diagnosis: verdict, grade, line, keeper, rate, evidence, what to do, processes", () =>
    on("grown", async (page) => {
      const said = await text(page, "#diagnosis");
      for (const part of [
        "leak, likely Leak (likely): app/models/ticket/cache.rb:12 retains more.",
        "app/models/ticket/cache.rb:12 Ticket::Cache.store +9.5 GiB/hour (+8.5 – +10.5 GiB)",
        "retained by a Hash that grows, app/models/ticket/cache.rb:13",
        "allocated at activerecord-8.1.4/lib/active_record/result.rb:173 ActiveRecord::Result#columns",
        "mostly String",
        "grew by 80.0 MiB",
        "Of 48.0 MiB that came, 100% (92 – 100%) is still there after 3 major GCs.",
        "Give the Hash a limit.",
        "RSS rose by 90.0 MiB in 2 min. Next Look at the first line first.",
        "leak, unknown \u22125.0 MiB/hour (\u22129.0 – +3.0 MiB)",
      ])
        assert(said.includes(part), `no "${part}" in ${said}`);
      equal(1, said.split("allocated at").length - 1, "the same line, said twice");
      const table = await page.$$eval("#diagnosis .processes tr", (list) =>
        list.map((row) => [...row.cells].map((cell) => cell.innerText.trim())),
      );
      equal(
        [
          ["pid", "role", "RSS", "growth", "verdict"],
          ["4711", "worker 0", "250.0 MiB", "+90.0 MiB", "leak, likely Leak (likely)."],
          ["4700", "master", "80.0 MiB", "\u22122.0 MiB", "steady No leak found."],
        ],
        table,
      );
      const [top, controls] = await page.evaluate(() =>
        ["diagnosis", "controls"].map((id) => document.getElementById(id).getBoundingClientRect().top),
      );
      assert(top < controls && top < 100, `the diagnosis is at ${top}`);
      await page.click("#diagnosis details summary");
      assert((await text(page, "#diagnosis .stack")).includes("TicketsController#show"), "the stack");
    }));

  await test("at 390 pixels each process has its verdict in sight", () =>
    on(
      "grown",
      async (page) => {
        const cells = await page.$$eval("#diagnosis .processes td", (list) =>
          list.map((cell) => [cell.innerText.trim(), cell.getBoundingClientRect().right]),
        );
        equal(10, cells.length);
        for (const [said, right] of cells) assert(right <= 390, `"${said}" ends at ${right}`);
      },
      { width: 390 },
    ));

  for (const width of [1400, 390])
    await test(`at ${width} pixels memory over time stands in the diagnosis, and not twice`, () =>
      on(
        "grown",
        async (page) => {
          const box = (selector) =>
            page.$eval(selector, (element) => {
              const { left, right, top } = element.getBoundingClientRect();
              return { left, right, top };
            });
          const [chart, findings] = [await box("#over-time svg"), await box("#findings")];
          if (width > 1100) assert(chart.left >= findings.right && chart.top < 200, JSON.stringify([chart, findings]));
          assert(chart.right <= width, JSON.stringify(chart));
          equal([1, 0], [(await page.$$("#over-time path.rss")).length, (await page.$$("#memory svg")).length]);
        },
        { width },
      ));

  await test("without a diagnosis there is no section", () =>
    on("service", async (page) =>
      equal([true, ""], await page.$eval("#diagnosis", (element) => [element.hidden, element.textContent.trim()])),
    ));

  await test("a click on a finding shows its line in the graph and in the table", () =>
    on("grown", async (page) => {
      const shown = async (number) => {
        await page.evaluate((at) => document.querySelectorAll("#diagnosis button.where")[at].click(), number);
        await page.waitForFunction(() => window.heapView.state.get("zoom") !== "" && !window.heapView.frameAsked, {
          timeout: 5000,
        });
        await page.waitForFunction(() => document.querySelector("#details").textContent !== "");
        const box = await page.$eval("#graph-section", (element) => element.getBoundingClientRect().top);
        assert(box >= 0 && box < 900, `the graph is at ${box}`);
        return [await text(page, "#details bdi:nth-child(2)"), await text(page, "#table tr.marked .place")];
      };
      await page.evaluate(() => window.heapView.state.set({ direction: "callers", by: "class" }));
      // It did not grow: so what is in use is shown.
      equal(["/srv/app/app/models/ticket/cache.rb:12", "app/models/ticket/cache.rb:12"], await shown(0));
      equal(["callees", "inuse"], [await state(page, "direction"), await state(page, "value")]);
      await page.evaluate(() => window.heapView.state.set({ zoom: "" }));
      const [path, place] = await shown(1);
      assert(path.endsWith("rack-3.2.8/lib/rack/boot.rb:3"), `${path}: a line of a gem, in an open fold`);
      equal("rack-3.2.8/lib/rack/boot.rb:3", place);
      assert((await rows(page)).length >= 1, "rows");
    }));

  await test("a diagnosis of hostile names stays text", () =>
    on("hostile", async (page) => {
      equal([], page.troubles);
      const found = await page.evaluate(() => [
        window.pwned ?? null,
        document.querySelectorAll("#diagnosis b, #diagnosis img, #diagnosis script").length,
        document.querySelectorAll("#diagnosis .finding").length,
      ]);
      equal([null, 0, 5], found);
      const said = await page.$eval("#diagnosis", (element) => element.textContent);
      for (const name of hostile.slice(0, 5)) assert(said.includes(name), name);
      assert(!/[\u202e\u0000\u001b]/.test(said), "characters that turn or hide text");
      for (const button of await page.$$("#diagnosis button.where")) await button.evaluate((one) => one.click());
      assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1440, "wider than the window");
    }));

  for (const theme of ["light", "dark"])
    await test(`texts can be read by everyone (${theme}): contrast 4.5`, () =>
      on("grown", async (page) => equal([], await contrasts(page)), { theme }));
};
