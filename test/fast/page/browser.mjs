// Pages in headless Chromium, opened from disk.
import puppeteer from "puppeteer-core";

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.process = await puppeteer.launch({
      executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
      headless: true,
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    });
    return browser;
  }

  // `troubles`: errors and requests that the page made for anything but the file itself.
  async open(
    file,
    { hash = "", width = 1440, height = 1000, theme = "light", ready = "window.heapView?.drawn > 0" } = {},
  ) {
    const page = await this.process.newPage();
    const session = await page.createCDPSession();
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    // Seconds that the page's main thread has run.
    page.busy = async () =>
      (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ThreadTime").value;
    page.troubles = [];
    page.on("pageerror", (error) => page.troubles.push(error.message));
    page.on("console", (message) => message.type() === "error" && page.troubles.push(message.text()));
    page.on("request", (request) => !request.url().startsWith("file:///") && page.troubles.push(request.url()));
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    const started = Date.now();
    await page.goto(`file://${file}${hash}`);
    await page.waitForFunction(ready, { timeout: 60_000, polling: 20 });
    page.opened = Date.now() - started;
    return page;
  }

  async with(file, options, body) {
    const page = await this.open(file, options);
    try {
      return await body(page);
    } finally {
      await page.close();
    }
  }

  stop() {
    return this.process.close();
  }
}

// Does something that draws anew, and waits until it is drawn.
export const redrawn = async (page, action) => {
  const before = await page.evaluate(() => window.heapView.drawn);
  await action();
  await page.waitForFunction((drawn) => window.heapView.drawn > drawn, { timeout: 60_000, polling: 10 }, before);
};

// Sets values of the state, as the address would.
export const show = (page, values) =>
  redrawn(page, () =>
    page.evaluate((given) => {
      window.heapView.state.set(given);
      window.heapView.changed([]); // also where nothing changed
    }, values),
  );

export const rows = (page) => page.evaluate(() => window.heapView.rows());
export const summary = (page) => page.$eval("#summary", (element) => element.textContent);
export const state = (page, name) => page.evaluate((given) => window.heapView.state.get(given), name);

// What the graph has drawn: label, where it is, and its classes.
export const frames = (page) =>
  page.$$eval("#graph g.frame", (list) =>
    list.map((frame) => {
      const box = frame.querySelector("rect").getBoundingClientRect();
      return {
        label: frame.getAttribute("aria-label"),
        classes: frame.getAttribute("class").split(" "),
        depth: frame.__data__.depth,
        left: box.left,
        top: box.top,
        width: box.width,
        height: box.height,
        group: frame.__data__.data.node.group,
        text: frame.querySelector("div").textContent,
      };
    }),
  );

export const frameNamed = async (page, text) => {
  for (const handle of await page.$$("#graph g.frame")) {
    if ((await handle.evaluate((frame) => frame.getAttribute("aria-label"))).includes(text)) return handle;
  }
  throw new Error(`there is no frame ${text}`);
};
