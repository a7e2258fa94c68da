// What the page opens with: does a process leak, how certain is that, which lines and what retains their memory, as
// HeapSample::Diagnosis has it. All of it is text from elsewhere, and stays text.
import { el, fill } from "./dom.js";
import { bytes, count, cut, figureWithin, percent, visible } from "./format.js";
import { sameLine } from "./places.js";

// Each state has its style of a badge.
const STATES = ["confirmed", "likely", "grows", "ended", "none", "unknown"];
// Findings with a card in sight, each with such a part of what the samples found, and lines of each.
const CARDS = 3;
const PART = 0.05;
const LINES = 5;
const LENGTH = 1000; // characters of a text; of a badge WORD
const WORD = 40;
const NOTHING = "–";

const text = (given, most = LENGTH) => cut(visible(String(given)), most);
const some = (list) => (Array.isArray(list) ? list : []);
const isNumber = (value) => typeof value === "number";
const sum = (list, name) => list.reduce((total, one) => total + one[name], 0);
const figure = (value, sign = false) => (isNumber(value) ? bytes(value, sign) : NOTHING);
const styleOf = (state) => (STATES.includes(state) ? state : "unknown");

// `words`: what is written for a state, by state. `on.select(lines)`: shows one of the lines, the application's first;
// `on.short(line)`: the same with its path as the page has it.
export const drawDiagnosis = (element, diagnosis, words, on) => {
  if (!diagnosis) return;
  const processes = some(diagnosis.processes);
  const [worst] = processes;
  element.parentNode.className = styleOf(worst.state);
  fill(
    element,
    el("p", { className: "verdict" }, badge(worst, words), el("strong", {}, ...prose(worst.sentence))),
    ...some(diagnosis.warnings).map((warning) => el("p", { className: "warning" }, text(warning))),
    together(worst),
    ...some(worst.evidence).map((sentence) => el("p", {}, ...prose(sentence))),
    ...cards(worst, on),
    next(worst),
    processes.length > 1 ? processTable(processes, words) : null,
  );
};

const badge = ({ state }, words) =>
  el("span", { className: `badge ${styleOf(state)}` }, text(Object.hasOwn(words, state) ? words[state] : state, WORD));

// A sentence; what is between backticks in it is code.
const prose = (sentence) =>
  text(sentence ?? "")
    .split(/`([^`]+)`/)
    .map((part, i) => (i % 2 ? el("code", {}, part) : part));

const pidsOf = ({ pids }) => some(pids).map((pid) => text(pid ?? "?"));

// Processes that run the same code have one verdict.
const together = (process) => {
  const pids = pidsOf(process);
  if (pids.length < 2) return null;
  const judged = some(process.judged);
  const worst =
    judged.length < pids.length ? `, of which ${judged.map((pid) => text(pid)).join(", ")} is the worst` : "";
  return el("p", { className: "note" }, `${pids.length} processes (${pids.join(", ")})${worst}.`);
};

const more = (title, ...children) => el("details", {}, el("summary", {}, title), ...children);

// Counts decide whether bytes grow. If they do not, what the samples found is folded.
const cards = (process, on) => {
  const findings = some(process.findings);
  if (findings.length === 0) return [];
  const total = sum(findings, "bytes");
  const drawn = findings.map((finding) => card(finding, total, on));
  if (!(process.grew > 0))
    return [more(`Lines that grew most by samples (${figure(total, true)}); the counts do not confirm it`, ...drawn)];
  const shown = findings.filter((finding, i) => i < CARDS && finding.bytes >= PART * total).length;
  const rest = findings.slice(shown);
  const title = `${rest.length} smaller, ${figure(sum(rest, "bytes"), true)} together`;
  return [...drawn.slice(0, shown), rest.length ? more(title, ...drawn.slice(shown)) : null];
};

const card = (finding, total, on) => {
  const [largest] = some(finding.lines);
  return el(
    "article",
    { className: "finding" },
    el("h2", {}, subject(finding, on), size(finding, total)),
    lineTable(finding, on),
    some(largest?.stack).length ? stack(largest.stack) : null,
  );
};

const stack = (frames) =>
  more(
    "Stack of the largest line",
    el("ol", { className: "stack" }, ...frames.map((frame) => el("li", {}, text(frame)))),
  );

// What retains it, where that is known; else the line.
const subject = (finding, on) => {
  const { holder, lost } = finding;
  const [largest] = some(finding.lines);
  if (holder?.named) {
    const owner = holder.owner ? [" (by the ", el("code", {}, text(holder.owner)), "s that own the memory)"] : [];
    return el(
      "span",
      { className: "where" },
      "retained by ",
      el("code", {}, el("bdi", {}, nameOf(holder, on))),
      ...owner,
    );
  }
  if (lost) {
    const library = largest?.library ? [" of ", el("code", {}, text(largest.library))] : [];
    return el("span", { className: "where" }, "C code", ...library, ": no reference leads to its memory");
  }
  const root = holder ? el("span", { className: "note" }, `, retained by ${text(holder.root)}`) : null;
  return el("span", { className: "where" }, place(largest ?? {}, on), root);
};

const nameOf = ({ name, path, line }, on) => text([name, ...(path ? [on.short(`${path}:${line}`)] : [])].join(" "));

// The line that one can change. A click shows it in the graph.
const place = (line, on) => {
  const lines = [line.app_line, line.line].filter((one) => one);
  if (lines.length === 0) return "no line of Ruby";
  const properties = {
    type: "button",
    className: "where",
    title: "Show it in the graph",
    onclick: () => on.select(lines),
  };
  return el("button", properties, el("bdi", {}, text(on.short(lines[0]))));
};

// Bytes with their interval, a rate, and the part of all that the samples found.
const size = ({ bytes: grew, interval, bytes_per_hour: rate }, total) => {
  if (!isNumber(grew)) return null;
  const [value, between] = within(grew, interval);
  const part = total > 0 ? `, ${percent(grew / total)} of what the samples found` : "";
  const hourly = isNumber(rate) ? `, ${bytes(rate, true)}/hour` : "";
  return el("span", { className: "rate" }, value, el("span", { className: "note" }, ` (${between})${hourly}${part}`));
};

const within = (grew, interval) => {
  if (!Array.isArray(interval)) return [bytes(grew, true), "interval not known"];
  return interval[0] === interval[1] ? [bytes(grew, true), "exact"] : figureWithin(grew, interval);
};

const table = (titles, rows) => {
  const heads = titles.map(([title, style = "number"]) => el("th", { scope: "col", className: style }, title));
  return el("table", { className: "figures" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
};

// The largest lines; the others are the last row, so the rows make the sum.
const lineTable = (finding, on) => {
  const lines = some(finding.lines);
  if (lines.length === 0) return null;
  const native = lines.some(({ library }) => library);
  const titles = [
    ["line", "place"],
    ["grew"],
    ["95% interval", "number less"],
    ["per hour"],
    ["objects", "number less"],
  ];
  titles.push(["samples", "number less"], ["class", "less"]);
  if (native) titles.push(["library", "less"]);
  const cell = (child, i) => el("td", { className: titles[i][1] ?? "number" }, child);
  const row = (line) => {
    const [value, between] = within(line.bytes, line.interval);
    const names = [line.class ?? "(malloc)", ...(native ? [line.library ?? ""] : [])].map((name) => name && text(name));
    return el("tr", {}, ...[where(line, on), value, between, ...counted(line), ...names].map(cell));
  };
  const rest = lines.slice(LINES);
  const rows = lines.slice(0, LINES).map(row);
  if (rest.length) {
    const all = Object.fromEntries(
      ["bytes", "bytes_per_hour", "objects", "samples"].map((name) => [
        name,
        isNumber(rest[0][name]) ? sum(rest, name) : null,
      ]),
    );
    const cells = [
      rest.length === 1 ? "1 more line" : `${rest.length} more lines`,
      bytes(all.bytes, true),
      "",
      ...counted(all),
      "",
      ...(native ? [""] : []),
    ];
    rows.push(el("tr", { className: "rest" }, ...cells.map(cell)));
  }
  return el("div", { className: "lines" }, table(titles, rows));
};

const counted = (line) => [
  figure(line.bytes_per_hour, true),
  ...[line.objects, line.samples].map((value) => (isNumber(value) ? count(value) : NOTHING)),
];

const where = (line, on) => {
  const other = line.line && line.app_line && !sameLine(line.line, line.app_line);
  const allocated = other
    ? el("div", { className: "note" }, "allocated at ", el("bdi", {}, text(on.short(line.line))))
    : null;
  return el("div", {}, place(line, on), allocated);
};

const next = (process) => {
  const steps = some(process.next);
  if (steps.length === 0) return null;
  return el(
    "div",
    { className: "next" },
    el("span", { className: "name" }, "Next"),
    el("ul", {}, ...steps.map((step) => el("li", {}, ...prose(step)))),
  );
};

// Host and deploy are shown where processes differ in them.
const processTable = (processes, words) => {
  const origins = ["host", "deploy"].filter((name) => new Set(processes.map((process) => process[name])).size > 1);
  const titles = [["pid", "pids"], ["process", ""], ...origins.map((name) => [name, "less"]), ["RSS"], ["grew"]];
  titles.push(["per hour"], ["verdict", "says"]);
  const row = (process) => {
    const verdict = el("div", {}, badge(process, words), " ", ...prose(process.sentence));
    const about = [pidsOf(process).join(", "), ...["title", ...origins].map((name) => process[name])];
    const cells = about.map((said) => (said ? text(said) : ""));
    cells.push(figure(process.rss), figure(process.grew, true), figure(process.bytes_per_hour, true), verdict);
    return el("tr", {}, ...cells.map((child, i) => el("td", { className: titles[i][1] ?? "number" }, child)));
  };
  return el("div", { className: "processes" }, table(titles, processes.map(row)));
};
