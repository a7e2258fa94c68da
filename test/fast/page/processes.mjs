// Several processes and deploys in one page, and what the chart over time has of them.
import { test } from "node:test";
import { redrawn, rows, show, state, summary } from "./browser.mjs";
import { assert, equal, sameRows } from "./assertions.mjs";

const text = (page, selector) => page.$eval(selector, (element) => element.innerText.replace(/\s+/g, " ").trim());
const options = (page, name) =>
  page.$$eval(`select[data-name="${name}"] option`, (list) => list.map(({ textContent }) => textContent));

export const processes = async (on, { deploys, majors, master }) => {
  await test("a choice of process changes the verdict, the title, the graph and the table, and is in the address", () =>
    on("cluster", async (page) => {
      equal(
        ["4711 puma: worker 0 deploy v42 – leak (likely)", "4700 puma: cluster deploy v42 – no leak found"],
        (await options(page, "process")).slice(0, 2),
      );
      await page.focus('select[data-name="process"]');
      await redrawn(page, () => page.select('select[data-name="process"]', "1"));
      assert((await text(page, "#verdict")).startsWith("no leak found One of "), await text(page, "#verdict"));
      equal("none", await page.$eval("#diagnosis", (element) => element.className));
      assert((await page.title()).includes("process 4700"), await page.title());
      equal("process", await page.evaluate(() => document.activeElement.dataset.name), "the focus stays");
      await show(page, { value: "inuse" });
      sameRows(master, await rows(page), "live in the other process");
      assert(page.url().includes("process=1"), page.url());
      await page.reload();
      await page.waitForFunction("window.heapView?.drawn > 0");
      equal("1", await page.$eval('select[data-name="process"]', (list) => list.value));
      await redrawn(page, () => page.select('select[data-name="process"]', "0"));
      assert((await text(page, "#verdict")).startsWith("leak (likely) "), await text(page, "#verdict"));
      equal(1, (await page.$$("#over-time svg")).length);
    }));

  await test("at 390 pixels the choices of a page that has everything wrap", () =>
    on(
      "cluster",
      async (page) => {
        equal(6, (await page.$$('[data-name="value"]')).length);
        const box = await page.$eval(
          '[data-name="value"][data-value="kept"]',
          (one) => one.getBoundingClientRect().right,
        );
        assert(box <= 390, `"Retained by" ends at ${box}`);
        assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "wider than the window");
      },
      { width: 390, height: 844 },
    ));

  await test("two deploys are compared: the figures are the library's, both are named", () =>
    on("cluster", async (page) => {
      const since = await options(page, "since");
      const at = since.findIndex((option) => option.startsWith("deploy v41, "));
      equal(since.length - 1, at, since.join(" | "));
      await show(page, { value: "growth", since: String(at) });
      sameRows(deploys, await rows(page), "growth since the other deploy");
      assert(
        /Deploy v41 \(1[12] min .* after its start\) compared with deploy v42 /.test(await summary(page)),
        await summary(page),
      );
      assert(
        /^Heap growth, deploy v41, process 4600 at .* → deploy v42, process 4711 at /.test(await page.title()),
        await page.title(),
      );
      await redrawn(page, () => page.select('select[data-name="process"]', "1"));
      equal("0", await state(page, "since"));
    }));

  await test("the chart over time marks major GCs, deploys and what was judged; all that is drawn is in the legend", () =>
    on("cluster", async (page) => {
      const drawn = await page.evaluate(() => {
        const box = (one) => one.getBoundingClientRect();
        const { accounts, parts } = window.heapView.data;
        const seen = Object.keys(parts).flatMap((name, i) =>
          accounts.some((one) => one.parts[name] > 0) ? [`part${i}`] : [],
        );
        const plot = box(document.querySelector("#over-time path.rss"));
        const judged = box(document.querySelector("#over-time rect.judged"));
        return {
          majors: document.querySelectorAll("#over-time line.major").length,
          deploys: [...document.querySelectorAll("#over-time text.deploy")].map(({ textContent }) => textContent),
          judged: (judged.right - judged.left) / plot.width,
          inPlot: judged.left >= plot.left - 1 && judged.right <= plot.right + 1,
          parts: seen,
          legend: [...document.querySelectorAll("#over-time .parts .swatch")].map((one) =>
            one.className.split(" ").pop(),
          ),
        };
      });
      // The first major GC is a second before the first profile, where the chart begins.
      equal([majors - 1, ["v42"]], [drawn.majors, drawn.deploys]);
      assert(drawn.inPlot && drawn.judged > 0.5 && drawn.judged < 0.9, JSON.stringify(drawn));
      assert(drawn.parts.length > 4, JSON.stringify(drawn.parts));
      for (const kind of [...drawn.parts, "rss", "major", "deploy", "judged"])
        assert(drawn.legend.includes(kind), `${kind} is not in the legend`);
      assert((await text(page, "#over-time .parts")).includes(`major GC (${majors - 1})`), "how many major GCs");
    }));

  await test("the keyboard and a screen reader get the figures of the chart over time", () =>
    on("cluster", async (page) => {
      await page.focus("#search-controls input");
      await page.$eval("#over-time svg", (element) => element.focus());
      await page.keyboard.press("Home");
      const first = await page.$eval("#over-time svg", (element) => element.getAttribute("aria-valuetext"));
      assert(/^0\.0 s after the first: RSS \d.* live slots: /.test(first), first);
      await page.keyboard.press("ArrowRight");
      const second = await page.$eval("#over-time svg", (element) => element.getAttribute("aria-valuetext"));
      assert(second.startsWith("1 min 0 s after the first"), second);
      assert(await page.$eval("#tip", (tip) => !tip.hidden && tip.textContent.includes("live slots")), "the tip");
      assert(
        /23 major GCs, deploys: v42/.test(await page.$eval("#over-time svg", (one) => one.ariaLabel)),
        "the label",
      );
    }));
};
