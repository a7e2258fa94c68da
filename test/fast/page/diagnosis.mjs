// What the page opens with.
import { test } from "node:test";
import { rows, state } from "./browser.mjs";
import { assert, close, equal } from "./assertions.mjs";

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

const openAll = (page) => page.$$eval("#diagnosis details", (list) => list.forEach((one) => (one.open = true)));

// The sentence of a verdict without the word that its badge has, and without backticks.
const withoutWord = (sentence, word) => {
  const rest = sentence.toLowerCase().startsWith(`${word}: `) ? sentence.slice(word.length + 2) : sentence;
  return (rest.charAt(0).toUpperCase() + rest.slice(1)).replace(/`/g, "");
};

const cells = (page, selector) =>
  page.$$eval(selector, (list) => list.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));

export const diagnosis = async (on, { cards, processes, words, hostile }) => {
  await test("the page opens with the diagnosis: verdict, counts, what to do, and all processes", () =>
    on("grown", async (page) => {
      const plain = (sentence) => sentence.replace(/`/g, "");
      const [worst, other] = processes;
      equal("leak (likely)", words[1]);
      equal(`${words[1]} ${withoutWord(worst.sentence, words[1])}`, await text(page, "#diagnosis .verdict"));
      equal(false, await page.$eval("#diagnosis .processes", (element) => element.checkVisibility()));
      await openAll(page);
      const said = await text(page, "#diagnosis");
      for (const sentence of [...worst.evidence, `Next ${worst.next[0]}`, worst.next[1]])
        assert(said.includes(plain(sentence)), `no "${sentence}" in ${said}`);
      assert(/3 smaller, \+7\.\d MiB together/.test(said), said);
      const table = await cells(page, "#diagnosis .processes tr");
      equal(["pid", "process", "RSS", "grew", "per hour", "verdict"], table[0]);
      const verdicts = [`${words[1]} ${plain(worst.sentence)}`, `${words[5]} ${plain(other.sentence)}`];
      equal(["4711", "puma: worker 0", ...worst.written, verdicts[0]], table[1]);
      equal(["4700", "puma: cluster", other.written[0], "–", "–", verdicts[1]], table[2]);
      const [top, controls] = await page.evaluate(() =>
        ["diagnosis", "controls"].map((id) => document.getElementById(id).getBoundingClientRect().top),
      );
      assert(top < controls && top < 100, `the diagnosis is at ${top}`);
    }));

  await test("a card has what retains the memory, and the figures of the finding and of its lines", () =>
    on("grown", async (page) => {
      equal(5, cards.length);
      await openAll(page);
      const heads = await page.$$eval("#diagnosis .finding h2", (list) =>
        list.map((head) => head.innerText.replace(/\s+/g, " ").trim()),
      );
      const subjects = [
        "retained by Ticket::CACHE",
        "C code of libz.so.1: no reference to its memory found",
        "rack-3.2.8/lib/rack/boot.rb:3 Rack.boot",
      ];
      for (const [i, { figures, rate }] of cards.entries()) {
        const written = `${figures[0]} (${figures[1]}), ${rate}/hour`;
        assert(heads[i].endsWith(written), `${heads[i]}: not ${written}`);
        if (subjects[i]) equal(`${subjects[i]} ${written}`, heads[i]);
      }
      const facts = await page.$$eval("#diagnosis .finding", (list) =>
        list.map((card) => [...card.querySelectorAll(".facts li")].map((fact) => fact.textContent.trim())),
      );
      const said = (i) => `${cards[i].share} of the sampled growth`;
      equal(["Ruby objects", said(0), `${cards[0].figures[3]} objects`, "retains 100.0% of it"], facts[0].slice(0, 4));
      equal(["allocated at app/models/ticket/cache.rb:12 Ticket::Cache.store", "String"], facts[0].slice(4));
      equal(["native memory", said(1)], facts[1].slice(0, 2));
      for (const i of [2, 3, 4])
        equal(["Ruby objects", said(i), "no heap walk names what retains it"], facts[i].toSpliced(2, 1).slice(0, 3));
      const sections = await page.$$eval("#diagnosis .finding", (list) =>
        list.map((card) =>
          [...card.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.innerText.trim())),
        ),
      );
      for (const [i, { lines }] of cards.entries())
        for (const [at, line] of lines.slice(0, 5).entries())
          equal([line.written, line.class ?? "(malloc)"], [sections[i][at + 1].slice(1, 6), sections[i][at + 1][6]]);
      equal(["line", "grew", "95% interval", "per hour", "objects", "samples", "class"], sections[0][0]);
      equal(
        ["library", "libz.so.1"],
        sections[1].map((row) => row[7]),
      );
      const gem = "allocated at activerecord-8.1.4/lib/active_record/result.rb:173 ActiveRecord::Result#columns";
      equal(["app/models/ticket/cache.rb:12 Ticket::Cache.store", gem], sections[0][2][0].split(/\n+/));
      equal(1, sections.flat(2).filter((cell) => cell.includes("allocated at")).length, "the same line, written twice");
    }));

  await test("the lines of a card add up: those that are left out are its last row", () =>
    on("grown", async (page) => {
      const sum = (list, name) => list.reduce((total, one) => total + one[name], 0);
      for (const { bytes, lines } of cards) close(bytes, sum(lines, "bytes"), "the lines' bytes", 1e-9);
      const rest = cards[0].lines.slice(5);
      equal(3, rest.length);
      const mebibytes = (name) => `+${(sum(rest, name) / 1024 ** 2).toFixed(1)} MiB`;
      const count = (name) => Math.round(sum(rest, name)).toLocaleString("en-US");
      await openAll(page);
      const row = (await cells(page, "#diagnosis .finding:first-of-type tr.rest"))[0];
      const figures = [mebibytes("bytes"), "", mebibytes("bytes_per_hour"), count("objects"), count("samples")];
      equal(["3 more lines", ...figures, ""], row);
    }));

  await test("a walk's facts are in the card: entries, what bounds them, and what is inferred is said to be", () =>
    on("walked", async (page) => {
      const facts = await page.$$eval("#diagnosis .finding", (list) =>
        list.map((card) => [...card.querySelectorAll(".facts li")].map((fact) => fact.textContent.trim())),
      );
      const [bounded, inferred, root] = facts;
      equal(
        ["retains 91.0% of it", "412 → 1,204 entries, none removed", "may be limited by @max_size of LruRedux::Cache"],
        bounded.slice(3, 6),
      );
      assert(inferred.includes("2.0 MiB of it resident"), inferred.join(" | "));
      assert(inferred.includes("inferred from the Zlib::Deflates that own the memory"), inferred.join(" | "));
      assert(root.includes("retained by (machine stack of main thread)"), root.join(" | "));
      assert(!facts.flat().some((fact) => fact.includes("no heap walk")), "a walk is said to be missing");
    }));

  await test("at 1440 × 900 the graph begins in the upper two thirds of the window, whatever is found", async () => {
    for (const name of ["grown", "states", "walked", "level"])
      await on(
        name,
        async (page) => {
          const [top, verdict] = await page.evaluate(() => [
            document.querySelector("#graph").getBoundingClientRect().top,
            document.querySelector("#diagnosis .verdict").getBoundingClientRect().height,
          ]);
          assert(top <= 600, `${name}: the graph begins at ${top}`);
          assert(verdict < 50, `${name}: the verdict is ${verdict} pixels high`);
        },
        { width: 1440, height: 900 },
      );
  });

  await test("memory that no object uses has another colour than no leak, and is named", () =>
    on("bloat", async (page) => {
      equal(
        ["no leak found", "bloat"],
        [
          await text(page, "#diagnosis .verdict .badge"),
          await page.$eval("#diagnosis", (element) => element.className),
        ],
      );
      assert((await text(page, "#verdict")).includes("Bloat: malloc: waste +40.0 MiB, which no object uses."), "named");
      const colours = await page.evaluate(() =>
        ["bloat", "none"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)),
      );
      equal(2, new Set(colours).size);
    }));

  await test("the stack of the largest line is in its card", () =>
    on("grown", async (page) => {
      await page.click("#diagnosis .finding details summary");
      assert((await text(page, "#diagnosis .stack")).includes("TicketsController#show"), "the stack");
    }));

  await test("growth by samples is folded where the exact counts are level", () =>
    on("level", async (page) => {
      const seen = () => page.$eval("#diagnosis .finding", (element) => element.checkVisibility());
      equal("no leak found", await text(page, "#diagnosis .verdict .badge"));
      equal(false, await seen());
      const title = await text(page, "#diagnosis summary");
      assert(/^Lines that grew most by samples \(\+\d\.\d MiB\); the counts do not confirm it$/.test(title), title);
      await page.click("#diagnosis summary");
      equal(true, await seen());
    }));

  await test("each state has its badge with the report's words; processes of one verdict, hosts and warnings are named", () =>
    on("states", async (page) => {
      const badges = await page.$$eval("#diagnosis .processes .badge", (list) =>
        list.map((badge) => [badge.textContent, getComputedStyle(badge).backgroundColor]),
      );
      equal(
        words,
        badges.map(([word]) => word),
      );
      equal(6, new Set(badges.map(([, colour]) => colour)).size, "colours of badges");
      equal(
        [words[0], "confirmed"],
        [await text(page, "#diagnosis .verdict .badge"), await page.$eval("#diagnosis", (one) => one.className)],
      );
      await openAll(page);
      const said = await text(page, "#diagnosis");
      assert(said.includes("one file is left out 2 processes (0, 100); the worst is 0."), said);
      const table = await cells(page, "#diagnosis .processes tr");
      equal(["pid", "process", "host", "RSS", "grew", "per hour", "verdict"], table[0]);
      equal(["5, 105", "worker", "h5", "–", "–", "–", `${words[5]} It is none.`], table[6]);
    }));

  await test("at 390 pixels each process has its verdict in sight, and each line its growth", () =>
    on(
      "grown",
      async (page) => {
        await openAll(page);
        const shown = await page.$$eval("#diagnosis .processes td, #diagnosis .finding > * > .lines td", (list) =>
          list
            .filter((cell) => cell.checkVisibility())
            .map((cell) => [cell.innerText.trim(), cell.getBoundingClientRect().right]),
        );
        assert(shown.length >= 2 * 6 + (6 + 1) * 3, `${shown.length} cells`);
        for (const [said, right] of shown) assert(right <= 390, `"${said}" ends at ${right}`);
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
          timeout: 60_000,
        });
        await page.waitForFunction(() => document.querySelector("#details").textContent !== "");
        const box = await page.$eval("#graph-section", (element) => element.getBoundingClientRect().top);
        assert(box >= 0 && box < 900, `the graph is at ${box}`);
        return [await text(page, "#details bdi:nth-child(2)"), await text(page, "#table tr.marked .place")];
      };
      await page.evaluate(() => window.heapView.state.set({ direction: "callers", by: "class" }));
      // It did not grow: so live memory is shown.
      equal(["/srv/app/app/models/ticket/cache.rb:12", "app/models/ticket/cache.rb:12"], await shown(0));
      equal(["callees", "inuse"], [await state(page, "direction"), await state(page, "value")]);
      await page.evaluate(() => window.heapView.state.set({ zoom: "" }));
      const boot = await page.$$eval("#diagnosis button.where", (list) =>
        list.findIndex((button) => button.textContent.includes("boot.rb:3")),
      );
      const [path, place] = await shown(boot);
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
      equal([null, 0, 6], found);
      const said = await page.$eval("#diagnosis", (element) => element.textContent);
      for (const name of hostile.slice(0, 5)) assert(said.includes(name), name);
      assert(!/[\u202e\u0000\u001b]/.test(said), "characters that turn or hide text");
      for (const button of await page.$$("#diagnosis button.where")) await button.evaluate((one) => one.click());
      assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1440, "wider than the window");
    }));

  for (const theme of ["light", "dark"])
    for (const name of ["grown", "states"])
      await test(`texts can be read by everyone (${name}, ${theme}): contrast 4.5`, () =>
        on(name, async (page) => equal([], await contrasts(page)), { theme }));
};
