// What the page opens with: what grows, how certain a leak is, where the memory is
// allocated and what retains it, as HeapSample::Diagnosis says. All of it is text of others, and stays text.
import { el, fill } from "./dom.js";
import { bytes, cut, figureWithin, visible } from "./format.js";
import { sameLine } from "./places.js";

// How certain a leak is: each grade has its style of a badge.
const GRADES = ["confirmed", "likely", "unknown", "none"];
const SHOWN = 3;
const LENGTH = 1000; // characters of a text; of a badge WORD
const WORD = 40;

const text = (given, most = LENGTH) => cut(visible(String(given)), most);
const some = (list) => (Array.isArray(list) ? list : []);

const styleOf = ({ grade }) => (GRADES.includes(grade) ? grade : "none");

// The kind and the grade; where there is no leak the kind alone, and of too few profiles there is no kind.
const badge = ({ kind, grade }) => {
  const said = (grade === "none" ? [kind] : [kind, grade]).filter((part) => part);
  return el("span", { className: `badge ${styleOf({ grade })}` }, text(said.join(", "), WORD));
};

// `on.select(lines)`: shows one of the lines of a finding, that of the application first; `on.short(line)`: the
// same with its path as the page has it.
export const drawDiagnosis = (element, diagnosis, on) => {
  if (!diagnosis) return;
  const findings = some(diagnosis.findings);
  const processes = some(diagnosis.processes);
  const rest = findings.slice(SHOWN);
  element.parentNode.className = styleOf(diagnosis.verdict);
  fill(
    element,
    el("p", { className: "verdict" }, badge(diagnosis.verdict), el("strong", {}, ...prose(diagnosis.verdict.sentence))),
    ...some(diagnosis.warnings).map((warning) => el("p", { className: "warning" }, text(warning))),
    ...sentences(diagnosis),
    ...findings.slice(0, SHOWN).map((finding) => draw(finding, diagnosis.verdict, on)),
    rest.length ? more(`${rest.length} more`, ...rest.map((finding) => draw(finding, diagnosis.verdict, on))) : null,
    processes.length > 1 ? processTable(processes) : null,
  );
};

// A sentence; what is between backticks in it is code.
const prose = (sentence) =>
  text(sentence)
    .split(/`([^`]+)`/)
    .map((part, i) => (i % 2 ? el("code", {}, part) : part));

// Of the whole or of a finding: the evidence, and what to do next.
const sentences = (given) => [...some(given.evidence).map((sentence) => el("p", {}, ...prose(sentence))), next(given)];

const more = (title, ...children) => el("details", {}, el("summary", {}, title), ...children);

const draw = (finding, verdict, on) =>
  el(
    "article",
    { className: "finding" },
    head(finding, verdict, on),
    el("div", { className: "row" }, facts(finding, on), stack(finding)),
    ...sentences(finding),
  );

const stack = ({ stack: frames }) =>
  some(frames).length
    ? more("Stack", el("ol", { className: "stack" }, ...frames.map((frame) => el("li", {}, text(frame)))))
    : null;

// The line that one can change, and how much it is; its kind and grade, where the verdict has others.
const head = (finding, verdict, on) => {
  const lines = [finding.app_line, finding.line].filter((line) => line);
  const where = lines.length ? text(on.short(lines[0])) : "no line of Ruby";
  const show = { type: "button", className: "where", title: "Show it in the graph", onclick: () => on.select(lines) };
  return el(
    "h2",
    {},
    lines.length ? el("button", show, el("bdi", {}, where)) : el("span", { className: "where" }, where),
    finding.grade === verdict.grade && finding.kind === verdict.kind ? null : badge(finding),
    rate(finding),
  );
};

const rate = ({ bytes_per_hour: perHour, interval_per_hour: limits }) => {
  if (typeof perHour !== "number") return null;
  const [figure, between] = Array.isArray(limits) ? figureWithin(perHour, limits) : [bytes(perHour, true), ""];
  const note = between ? el("span", { className: "note" }, ` (${between})`) : null;
  return el("span", { className: "rate" }, `${figure}/hour`, note);
};

const facts = (finding, on) => {
  const list = [];
  const add = (name, value) => list.push(el("div", {}, el("dt", {}, name), " ", el("dd", {}, el("bdi", {}, value))));
  const { line, app_line: own, keeper } = finding;
  const keeps = keeper ? [keeper.what, keeper.line && on.short(keeper.line)].filter((part) => part) : [];
  if (keeps.length) add("retained by", keeps.map((part) => text(part)).join(", "));
  if (line && own && !sameLine(line, own)) add("allocated at", text(on.short(line)));
  if (finding.class) add("mostly", text(finding.class));
  if (typeof finding.bytes === "number") add("grew by", bytes(finding.bytes));
  return list.length ? el("dl", { className: "facts" }, ...list) : null;
};

const next = (given) => {
  const steps = some(given.next);
  if (steps.length === 0) return null;
  return el(
    "div",
    { className: "next" },
    el("span", { className: "name" }, "Next"),
    el("ul", {}, ...steps.map((step) => el("li", {}, ...prose(step)))),
  );
};

const figure = (value, sign = false) => (typeof value === "number" ? bytes(value, sign) : "–");

const processTable = (processes) => {
  const cell = (value, number = true) => el("td", number ? { className: "number" } : {}, value);
  const row = ({ pid, role, rss, growth, verdict }) =>
    el(
      "tr",
      {},
      cell(text(pid ?? "?")),
      cell(role ? text(role) : "", false),
      cell(figure(rss)),
      cell(figure(growth, true)),
      el("td", {}, ...(verdict ? [badge(verdict), " ", ...prose(verdict.sentence ?? "")] : ["–"])),
    );
  const titles = [["pid"], ["role", false], ["RSS"], ["growth"], ["verdict", false]];
  const heads = titles.map(([title, number = true]) =>
    el("th", { scope: "col", className: number ? "number" : "" }, title),
  );
  return el(
    "div",
    { className: "processes" },
    el(
      "table",
      { className: "figures" },
      el("thead", {}, el("tr", {}, ...heads)),
      el("tbody", {}, ...processes.map(row)),
    ),
  );
};
