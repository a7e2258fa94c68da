// What the page opens with: does a process leak, how certain is that, which lines and what retains their memory, as
// HeapSample::Diagnosis has it. All of it is text from elsewhere, and stays text.
import { el, fill } from "./dom.js";
import { bytes, count, cut, duration, figureWithin, percent, visible } from "./format.js";
import { sameLine } from "./places.js";

// Each state has its style of a badge.
const STATES = ["confirmed", "likely", "grows", "ended", "none", "unknown"];
const KINDS = { objects: "Ruby objects", native: "native memory" };
// Findings with a card in sight, each with such a part of what the samples found; lines of each; steps in sight.
const CARDS = 3;
const PART = 0.05;
const LINES = 5;
const STEPS = 2;
const RESIDENT = 0.95; // below this part it is worth a word
const LENGTH = 1000; // characters of a text; of a badge WORD
const WORD = 40;
const NOTHING = "–";

const text = (given, most = LENGTH) => cut(visible(String(given)), most);
const some = (list) => (Array.isArray(list) ? list : []);
const isNumber = (value) => typeof value === "number";
const sum = (list, name) => list.reduce((total, one) => total + one[name], 0);
const figure = (value, sign = false) => (isNumber(value) ? bytes(value, sign) : NOTHING);
const styleOf = ({ state, unused }) =>
  state === "none" && unused ? "bloat" : STATES.includes(state) ? state : "unknown";

// The process of number `at` in full, and all of them behind a fold. `words`: what is written for a state, by state.
// `on.select(lines)`: shows one of the lines, the application's first; `on.short(line)`: the same with its path as the
// page has it.
export const drawDiagnosis = (verdict, element, diagnosis, at, words, on) => {
  if (!diagnosis) return;
  const processes = some(diagnosis.processes);
  const process = processes[at];
  const shown = cards(process, on);
  element.parentNode.className = styleOf(process);
  fill(
    verdict,
    el("p", { className: "verdict" }, badge(process, words), el("strong", {}, ...prose(withoutWord(process, words)))),
    ...some(diagnosis.warnings).map((warning) => el("p", { className: "warning" }, text(warning))),
    about(process),
  );
  fill(
    element,
    ...shown,
    next(process),
    evidence(process, shown.length === 0),
    processes.length > 1 ? more(`All ${processes.length} verdicts`, processTable(processes, words)) : null,
  );
};

const wordOf = ({ state }, words) => text(Object.hasOwn(words, state) ? words[state] : state, WORD);
const badge = (process, words) => el("span", { className: `badge ${styleOf(process)}` }, wordOf(process, words));

// The sentence without the words of the badge, with which it begins.
const withoutWord = (process, words) => {
  const sentence = String(process.sentence ?? "");
  const word = wordOf(process, words);
  if (![": ", ". "].some((end) => sentence.toLowerCase().startsWith(word + end))) return sentence;
  const rest = sentence.slice(word.length + 2);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
};

// A sentence; what is between backticks in it is code, and so is a command at its end.
const prose = (sentence) =>
  text(sentence ?? "")
    .split(/`([^`]+)`| ((?:heapsample|bpftrace) .+)$/)
    .flatMap((part, i) =>
      i % 3 === 0 ? part : part === undefined ? [] : [i % 3 === 2 ? " " : "", el("code", {}, part)],
    );

const pidsOf = ({ pids }) => some(pids).map((pid) => text(pid ?? "?"));

// Processes that run the same code have one verdict. When the limit is reached; the part of RSS that grew, where that memory is not live.
const about = (process) => {
  const pids = pidsOf(process);
  const judged = some(process.judged);
  const worst = judged.length < pids.length ? `; the worst is ${judged.map((pid) => text(pid)).join(", ")}` : "";
  const said = [
    pids.length > 1 ? `${pids.length} processes (${pids.join(", ")})${worst}.` : "",
    isNumber(process.seconds_to_limit)
      ? `The memory limit is reached in ${duration(process.seconds_to_limit)} at the growth rate of RSS.`
      : "",
    process.unused ? `Bloat: ${text(process.unused[0])} ${figure(process.unused[1], true)}, which no object uses.` : "",
  ].filter((sentence) => sentence);
  return said.length ? el("p", { className: "note" }, said.join(" ")) : null;
};

const more = (title, ...children) => el("details", {}, el("summary", {}, title), ...children);

const evidence = (process, open) => {
  const sentences = some(process.evidence).map((sentence) => el("p", {}, ...prose(sentence)));
  return sentences.length ? Object.assign(more("Exact counts", ...sentences), { open }) : null;
};

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
  return [...drawn.slice(0, shown), ...(rest.length ? [more(title, ...drawn.slice(shown))] : [])];
};

// The facts of one finding, and nothing that is inferred without saying so.
const card = (finding, total, on) => {
  const lines = some(finding.lines);
  const stack = some(lines[0]?.stack);
  const title = `${lines.length === 1 ? "Line" : `${lines.length} lines`}${stack.length ? " and stack" : ""}`;
  return el(
    "article",
    { className: "finding" },
    el("h2", {}, subject(finding, on), size(finding)),
    el("ul", { className: "facts" }, ...facts(finding, total, on).map((fact) => el("li", {}, ...[fact].flat()))),
    lines.length ? more(title, lineTable(lines, on), stack.length ? stackList(stack) : null) : null,
  );
};

const stackList = (frames) =>
  el(
    "div",
    {},
    "Stack of the largest line",
    el("ol", { className: "stack" }, ...frames.map((frame) => el("li", {}, text(frame)))),
  );

// What retains it, where that is known; else the line.
const subject = ({ holder, lost, lines }, on) => {
  const [largest = {}] = some(lines);
  const library = largest.library ? [" of ", el("code", {}, text(largest.library))] : [];
  if (holder?.named)
    return el("span", { className: "where" }, "retained by ", el("code", {}, el("bdi", {}, nameOf(holder, on))));
  if (lost) return el("span", { className: "where" }, "C code", ...library, ": no reference to its memory found");
  return el("span", { className: "where" }, place(largest, on));
};

const facts = ({ kind, holder, entries, lost, bytes: grew, resident_bytes: resident, objects, lines }, total, on) => {
  const [largest] = some(lines);
  const list = [Object.hasOwn(KINDS, kind) ? KINDS[kind] : text(kind ?? "memory", WORD)];
  if (total > 0 && isNumber(grew)) list.push(`${percent(grew / total)} of the sampled growth`);
  if (isNumber(objects)) list.push(`${count(objects)} objects`);
  if (resident < RESIDENT * grew) list.push(`${bytes(resident)} of it resident`);
  if (holder?.named) {
    if (isNumber(holder.share)) list.push(`retains ${percent(holder.share)} of it`);
    const { before, now, bound, removed } = entries ?? { now: holder.entries, bound: holder.bound };
    const change = `${isNumber(before) ? `${count(before)} → ` : ""}${isNumber(now) ? count(now) : ""} entries`;
    if (isNumber(now))
      list.push(
        `${change}${isNumber(removed) ? (removed > 0 ? `, about ${count(removed)} removed` : ", none removed") : ""}`,
      );
    if (bound) list.push(["may be limited by ", el("code", {}, text(bound))]);
    if (holder.owner) list.push(["inferred from the ", el("code", {}, text(holder.owner)), "s that own the memory"]);
  } else if (!lost) {
    list.push(holder ? ["retained by ", el("bdi", {}, text(holder.root))] : "no heap walk names what retains it");
  }
  if (largest && (holder?.named || lost)) list.push(["allocated at ", place(largest, on)]);
  if (largest) list.push(text(largest.class ?? "(malloc)"));
  return list;
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

// Bytes with their interval, and a rate.
const size = ({ bytes: grew, interval, bytes_per_hour: rate }) => {
  if (!isNumber(grew)) return null;
  const [value, between] = within(grew, interval);
  const hourly = isNumber(rate) ? `, ${bytes(rate, true)}/hour` : "";
  return el("span", { className: "rate" }, value, el("span", { className: "note" }, ` (${between})${hourly}`));
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
const lineTable = (lines, on) => {
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
  const item = (step) => el("li", {}, ...prose(step));
  return el(
    "div",
    { className: "next" },
    el("span", { className: "name" }, "Next"),
    el("ul", {}, ...steps.slice(0, STEPS).map(item)),
    steps.length > STEPS ? more(`${steps.length - STEPS} more`, el("ul", {}, ...steps.slice(STEPS).map(item))) : null,
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
