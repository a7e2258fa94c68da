// Live memory by age, and the memory of the process over time.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear, scaleUtc } from "d3-scale";
import { select } from "d3-selection";
import { area, line, stack } from "d3-shape";
import { Estimate } from "./estimate.js";
import { amount, bytes, count, cut, duration, interval, percent, size, visible } from "./format.js";
import { el, fill } from "./dom.js";

const BARS = 40;
export const HEIGHT = 150;
export const MARGIN = { top: 14, right: 28, bottom: 30, left: 70 };

export const svgIn = (element, label) => {
  const width = Math.max(260, element.clientWidth);
  const svg = select(element)
    .append("svg")
    .attr("width", width)
    .attr("height", HEIGHT)
    .attr("role", "img")
    .attr("aria-label", label);
  return { svg, width };
};

// From 0 to what is above `top`: a few steps, round in the unit that is shown.
const steps = (top, unit) => {
  const base = unit === "objects" ? 1 : 1024 ** Math.floor(Math.log(Math.max(top, 1)) / Math.log(1024));
  const raw = top / base / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = base * power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  return Array.from({ length: Math.ceil(top / step - 1e-9) + 1 }, (_, i) => i * step);
};

export const axes = (svg, x, y, width, { ticks, unit, format = null, amountOf = (value) => amount(value, unit) }) => {
  const most = Math.max(2, Math.min(8, Math.floor(width / 110)));
  const all = x.ticks(most);
  const some = all.filter((_, i) => i % Math.ceil(all.length / most) === 0);
  svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(0,${HEIGHT - MARGIN.bottom})`)
    .call(
      axisBottom(x)
        .tickValues(some)
        .tickFormat(format || x.tickFormat(most))
        .tickSizeOuter(0),
    );
  svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(${MARGIN.left},0)`)
    .call(axisLeft(y).tickValues(ticks).tickFormat(amountOf).tickSizeOuter(0));
};

export const clock = (time) => time.toISOString().slice(11, 19);
export const DAY = 24 * 3600;

// One, two or five times a power of ten GCs a bar.
const binWidth = (span) => {
  for (let power = 1; ; power *= 10) {
    for (const factor of [1, 2, 5]) if (span / (factor * power) <= BARS) return factor * power;
  }
};

const sumsOf = (column, rows, placeOf, count, size) => {
  const sums = new Float64Array(size);
  for (let i = 0; i < count; i++) sums[placeOf[i]] += column[rows[i]];
  return sums;
};

// Live memory of the rows that pass the filters, by age in GCs: bins of the same width.
export const generations = (sheet, mask, gcCount) => {
  const allocationGc = sheet.columns.get("allocation_gc");
  const columns = sheet.estimate("inuse");
  const samples = columns[0];
  const rows = new Int32Array(allocationGc.length);
  const binOf = new Int32Array(allocationGc.length); // the age, before the width of bins is known
  let passing = 0;
  let oldest = 0;
  for (let row = 0; row < allocationGc.length; row++) {
    if (mask[row] === 0) continue;
    const age = allocationGc[row] === 0 ? -1 : Math.max(0, gcCount + 1 - allocationGc[row]);
    if (age > oldest && samples[row] !== 0) oldest = age;
    binOf[passing] = age;
    rows[passing++] = row;
  }
  const width = binWidth(oldest + 1);
  const size = Math.floor(oldest / width) + 1;
  // The last place, behind the bins, has memory of unknown age.
  for (let i = 0; i < passing; i++) binOf[i] = binOf[i] < 0 ? size : Math.floor(binOf[i] / width);
  const sums = columns.map((column) => sumsOf(column, rows, binOf, passing, size + 1));
  const [unknown, ...bins] = [size, ...Array(size).keys()].map((i) => new Estimate(...sums.map((sum) => sum[i])));
  return { bins: bins.map((estimate, i) => ({ from: i * width, to: (i + 1) * width - 1, estimate })), width, unknown };
};

// `on.age(from, to)`; `chosen`: [from, to] or null.
export const drawGenerations = (element, { bins, width, unknown }, unit, chosen, on) => {
  fill(element);
  if (bins.every(({ estimate }) => estimate.zero)) {
    element.append(el("p", { className: "note" }, "No live memory has a known age."));
  } else {
    const { svg, width: room } = svgIn(element, "Live memory by age in GCs");
    const oldest = bins[bins.length - 1].to + 1;
    const shown = bins.filter(({ estimate }) => !estimate.zero);
    const top = Math.max(...shown.map(({ estimate }) => estimate.interval(unit)[1]));
    const x = scaleLinear([0, oldest], [MARGIN.left, room - MARGIN.right]);
    const ticks = steps(top, unit);
    const y = scaleLinear([0, ticks[ticks.length - 1]], [HEIGHT - MARGIN.bottom, MARGIN.top]);
    axes(svg, x, y, room, { ticks, unit });
    const bar = svg
      .selectAll("g.bar")
      .data(shown)
      .join("g")
      .attr("class", ({ from, to }) => (chosen && from <= chosen[1] && to >= chosen[0] ? "bar chosen" : "bar"))
      .attr("tabindex", 0)
      .attr("role", "button")
      .attr("aria-label", ({ from, to, estimate }) => `${ages(from, to)}: ${figures(estimate, unit)}`)
      .on("click", (_, { from, to }) => on.age(from, to))
      .on("keydown", (event, { from, to }) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        on.age(from, to);
      })
      .on("mousemove focus", function hover(event, { from, to, estimate }) {
        on.hover([ages(from, to), figures(estimate, unit)], event.type === "focus" ? this : event);
      })
      .on("mouseleave blur", () => on.hover(null));
    const left = ({ from }) => x(from) + 0.5;
    const wide = Math.max(1, x(width) - x(0) - 1);
    bar
      .append("rect")
      .attr("class", "reach")
      .attr("x", left)
      .attr("y", MARGIN.top)
      .attr("width", wide)
      .attr("height", HEIGHT - MARGIN.bottom - MARGIN.top);
    bar
      .append("rect")
      .attr("class", "value")
      .attr("x", left)
      .attr("width", wide)
      .attr("y", ({ estimate }) => y(estimate.value(unit)))
      .attr("height", ({ estimate }) => y(0) - y(estimate.value(unit)));
    bar
      .append("line")
      .attr("class", "interval")
      .attr("x1", (bin) => left(bin) + wide / 2)
      .attr("x2", (bin) => left(bin) + wide / 2)
      .attr("y1", ({ estimate }) => y(estimate.interval(unit)[0]))
      .attr("y2", ({ estimate }) => y(estimate.interval(unit)[1]));
    element.append(
      el(
        "p",
        { className: "note" },
        `age in GCs, ${width === 1 ? "one" : count(width)} a bar; lines are 95% intervals`,
      ),
    );
  }
  if (!unknown.zero) {
    element.append(
      el("p", { className: "note" }, `Not here: ${figures(unknown, unit)}, whose age is not known (malloc).`),
    );
  }
};

const ages = (from, to) =>
  from === to ? `${count(from)} GC${from === 1 ? "" : "s"} old` : `${count(from)} to ${count(to)} GCs old`;

const figures = (estimate, unit) =>
  `${size(estimate, unit)} (${interval(estimate, unit)}), ${count(estimate.samples)} samples`;

// The accounts of the process: a table of the last one with what changed since the first, and a chart if there are
// more than two: in `chart` or, where that is null, next to the table.
export const drawMemory = (element, data, on, chart = null) => {
  const { accounts, parts, account_growth: growth } = data;
  fill(element);
  if (chart) fill(chart);
  if (accounts.length === 0) {
    element.append(el("p", { className: "note" }, "The profile has no account of the process's memory."));
    return;
  }
  if (accounts.length > 2) {
    if (chart) fill(chart, el("figcaption", {}, "Memory of the process"));
    else element.append((chart = el("div")));
  }
  element.append(accountTable(accounts, parts));
  if (growth) element.append(el("p", {}, growth));
  // It takes the width that the rest leaves.
  if (accounts.length < 3) return;
  const marks = marksOf(data, accounts[0].at, accounts[accounts.length - 1].at);
  drawAccounts(chart, accounts, parts, marks, on);
  chart.append(chartLegend(accounts, parts, marks));
};

// What is drawn over the areas: the time that the diagnosis judged, major GCs and deploys.
const marksOf = ({ majors, deploys, diagnosis, process }, from, to) => {
  const inside = (at) => at >= from && at <= to;
  const judged = diagnosis?.processes?.[process]?.window;
  return {
    judged: Array.isArray(judged) ? judged.map((at) => Math.min(Math.max(at, from), to)) : null,
    majors: majors.filter(inside),
    // The deploy that ran already is at the left edge.
    deploys: deploys
      .filter(([at], i) => at <= to && !(deploys[i + 1]?.[0] <= from))
      .map(([at, name]) => [Math.max(at, from), cut(visible(String(name)), 24)]),
  };
};

// Everything that is drawn.
const chartLegend = (accounts, parts, { judged, majors, deploys }) => {
  const drawn = [...Object.keys(parts).entries()].filter(([, name]) => accounts.some((account) => account.parts[name]));
  const kinds = drawn.map(([i, name]) => [`part${i}`, parts[name].replace(/[(,].*$/, "")]);
  if (hasRss(accounts)) kinds.push(["line rss", "RSS"]);
  if (majors.length) kinds.push(["line major", `major GC (${count(majors.length)})`]);
  if (deploys.length) kinds.push(["line deploy", "deploy"]);
  if (judged) kinds.push(["judged", "judged by the diagnosis"]);
  const entry = ([kind, title]) => el("span", {}, el("span", { className: `swatch ${kind}` }), title);
  return el("p", { className: "note parts" }, ...kinds.map(entry));
};

const hasRss = (accounts) => accounts.every(({ rss }) => rss !== null);

const drawMarks = (svg, x, { judged, majors, deploys }) => {
  const place = (at) => x(new Date(at * 1000));
  const lines = (kind, list, from, to) =>
    svg
      .selectAll(`line.${kind}`)
      .data(list)
      .join("line")
      .attr("class", kind)
      .attr("x1", place)
      .attr("x2", place)
      .attr("y1", from)
      .attr("y2", to);
  const bottom = HEIGHT - MARGIN.bottom;
  if (judged) {
    svg
      .insert("rect", ".axis")
      .attr("class", "judged")
      .attr("x", place(judged[0]))
      .attr("width", Math.max(1, place(judged[1]) - place(judged[0])))
      .attr("y", MARGIN.top)
      .attr("height", bottom - MARGIN.top);
  }
  lines("major", majors, MARGIN.top - 6, MARGIN.top);
  lines(
    "deploy",
    deploys.map(([at]) => at),
    2,
    bottom,
  );
  svg
    .selectAll("text.deploy")
    .data(deploys)
    .join("text")
    .attr("class", "deploy")
    .attr("x", ([at]) => place(at) + 4)
    .attr("y", MARGIN.top + 10)
    .text(([, name]) => name);
};

const drawAccounts = (element, accounts, parts, marks, on) => {
  const deploys = marks.deploys.map(([, name]) => name).join(", ") || "none";
  const said = `Memory of the process over time; ${count(marks.majors.length)} major GCs, deploys: ${deploys}`;
  const { svg, width } = svgIn(element, said);
  const names = Object.keys(parts);
  const times = accounts.map(({ at }) => new Date(at * 1000));
  const sum = (account) => Object.values(account.parts).reduce((total, value) => total + value, 0);
  const x = scaleUtc([times[0], times[times.length - 1]], [MARGIN.left, width - MARGIN.right]);
  const ticks = steps(Math.max(...accounts.map((account) => Math.max(sum(account), account.rss || 0))), "bytes");
  const y = scaleLinear([0, ticks[ticks.length - 1]], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const layers = stack()
    .keys(names)
    .value((account, name) => account.parts[name] || 0)(accounts);
  const shape = area()
    .x((_, i) => x(times[i]))
    .y0(([low]) => y(low))
    .y1(([, high]) => y(high));
  svg
    .selectAll("path.part")
    .data(layers)
    .join("path")
    .attr("class", (_, i) => `part part${i}`)
    .attr("d", shape);
  if (hasRss(accounts)) {
    svg
      .append("path")
      .attr("class", "rss")
      .attr(
        "d",
        line()
          .x((_, i) => x(times[i]))
          .y(({ rss }) => y(rss))(accounts),
      );
  }
  const format = times[times.length - 1] - times[0] < DAY * 1000 ? clock : null;
  axes(svg, x, y, width, { ticks, unit: "bytes", format });
  drawMarks(svg, x, marks);
  const cursor = svg
    .append("line")
    .attr("class", "cursor")
    .attr("y1", MARGIN.top)
    .attr("y2", HEIGHT - MARGIN.bottom)
    .attr("visibility", "hidden");
  const last = accounts.length - 1;
  let current = last;
  const show = (i, where) => {
    current = i;
    const { rss, parts: sizes } = accounts[i];
    cursor.attr("visibility", "visible").attr("x1", x(times[i])).attr("x2", x(times[i]));
    const after = `${duration((times[i] - times[0]) / 1000)} after the first: ${rss === null ? "" : `RSS ${bytes(rss)}`}`;
    const lines = names.filter((name) => sizes[name]).map((name) => `${parts[name]}: ${bytes(sizes[name])}`);
    svg.attr("aria-valuenow", i).attr("aria-valuetext", [after, ...lines].join("; "));
    on.hover([after, ...lines], where);
  };
  const hide = () => {
    cursor.attr("visibility", "hidden");
    on.hover(null);
  };
  const strides = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  svg
    .attr("role", "slider")
    .attr("tabindex", 0)
    .attr("aria-valuemin", 0)
    .attr("aria-valuemax", last)
    .attr("aria-valuenow", last)
    .on("mousemove", (event) => {
      const at = x.invert(event.clientX - svg.node().getBoundingClientRect().left);
      show(
        times.reduce((best, time, i) => (Math.abs(time - at) < Math.abs(times[best] - at) ? i : best), 0),
        event,
      );
    })
    .on("focus", () => svg.node().matches(":focus-visible") && show(current, svg.node()))
    .on("keydown", (event) => {
      if (!Object.hasOwn(strides, event.key)) return;
      event.preventDefault();
      show(Math.min(last, Math.max(0, current + strides[event.key])), svg.node());
    })
    .on("mouseleave blur", hide);
};

const accountTable = (accounts, parts) => {
  const last = accounts[accounts.length - 1];
  const first = accounts.length > 1 ? accounts[0] : null;
  const row = (key, swatch, title, value, before) =>
    el(
      "tr",
      { className: key },
      el("td", { className: "number" }, bytes(value)),
      el("td", { className: "number share" }, last.rss ? percent(value / last.rss) : ""),
      first
        ? el("td", { className: "number" }, before === undefined || before === null ? "?" : bytes(value - before, true))
        : null,
      el("td", {}, swatch === null ? null : el("span", { className: `swatch part${swatch}` }), title),
    );
  const names = Object.keys(parts);
  const shown = names.filter((name) => last.parts[name] || (first && first.parts[name]));
  const rows = shown.map((name) =>
    row("part", names.indexOf(name), parts[name], last.parts[name] || 0, first && first.parts[name]),
  );
  if (last.rss !== null) rows.push(row("sum", null, "RSS", last.rss, first && first.rss));
  const titles = ["bytes", "share", ...(first ? ["change"] : []), "where"];
  return el(
    "table",
    { className: "figures account" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ...titles.map((title) =>
          el("th", { scope: "col", className: title === "where" ? "" : `number ${title}` }, title),
        ),
      ),
    ),
    el("tbody", {}, ...rows),
  );
};
