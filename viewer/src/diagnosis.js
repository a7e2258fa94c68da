// What the page opens with: what grows, how sure that is, where it is made and what keeps it, as
// HeapSample::Diagnosis says. All of it is text of others, and stays text.
import { el, fill } from "./dom.js";
import { bytes, range, visible } from "./format.js";

// How sure it is; the style of a badge by it.
const GRADES = { proved: "proved", "very likely": "likely", growing: "growing", steady: "steady" };
const SETTLED = { growing: "growing, not settled" };
const SHOWN = 3;

const words = (text) => String(text ?? "").replaceAll("_", " ");
const text = (given) => visible(String(given));
const some = (list) => (Array.isArray(list) ? list : []);

export const badge = (grade) => {
  const name = words(grade);
  const known = Object.keys(GRADES).find((start) => name.startsWith(start));
  return el("span", { className: `badge ${GRADES[known] || "steady"}` }, text(SETTLED[name] || name));
};

// `on.select(lines)`: the lines of a finding, that of the application first.
export const drawDiagnosis = (element, diagnosis, on) => {
  element.hidden = !diagnosis;
  if (!diagnosis) return;
  const findings = some(diagnosis.findings);
  const processes = some(diagnosis.processes);
  const rest = findings.slice(SHOWN);
  element.classList.add(badge(diagnosis.verdict.grade).classList[1]);
  fill(
    element,
    el(
      "p",
      { className: "verdict" },
      badge(diagnosis.verdict.grade),
      el("strong", {}, text(diagnosis.verdict.sentence)),
    ),
    ...findings.slice(0, SHOWN).map((finding) => draw(finding, on)),
    rest.length ? more(`${rest.length} more`, ...rest.map((finding) => draw(finding, on))) : null,
    processes.length > 1 ? processTable(processes) : null,
  );
};

const more = (title, ...children) => el("details", {}, el("summary", {}, title), ...children);

const draw = (finding, on) =>
  el(
    "article",
    { className: "finding" },
    head(finding, on),
    facts(finding),
    ...some(finding.evidence).map((sentence) => el("p", {}, text(sentence))),
    next(finding),
    some(finding.stack).length
      ? more("Stack", el("ol", { className: "stack" }, ...finding.stack.map((frame) => el("li", {}, text(frame)))))
      : null,
  );

// The line that one can change, and how much it is.
const head = (finding, on) => {
  const lines = [finding.app_line, finding.line].filter((line) => line);
  const where = lines.length ? text(lines[0]) : "no line of Ruby";
  const show = { type: "button", className: "where", title: "Show it in the graph", onclick: () => on.select(lines) };
  return el(
    "h2",
    {},
    lines.length ? el("button", show, el("bdi", {}, where)) : el("span", { className: "where" }, where),
    el("span", { className: "kind" }, badge(finding.grade), text(words(finding.kind))),
    rate(finding),
  );
};

const rate = ({ bytes_per_hour: perHour, interval_per_hour: limits }) => {
  if (typeof perHour !== "number") return null;
  const between = Array.isArray(limits) ? ` (${range(...limits, "bytes", true)})` : "";
  return el(
    "span",
    { className: "rate" },
    `${bytes(perHour, true)} an hour`,
    el("span", { className: "note" }, between),
  );
};

const facts = (finding) => {
  const list = [];
  const add = (name, value) => list.push(el("dt", {}, name), el("dd", {}, el("bdi", {}, value)));
  const { line, app_line: own, keeper } = finding;
  if (keeper)
    add(
      "kept by",
      [keeper.what, keeper.line]
        .filter((part) => part)
        .map(text)
        .join(", "),
    );
  if (line && own && line !== own) add("allocated at", text(line));
  if (finding.class) add("mostly", text(finding.class));
  if (typeof finding.bytes === "number") add("in use", bytes(finding.bytes));
  return list.length ? el("dl", { className: "facts" }, ...list) : null;
};

const next = (finding) => {
  const steps = some(finding.next);
  if (steps.length === 0) return null;
  return el(
    "div",
    { className: "next" },
    el("span", { className: "name" }, "Next"),
    el("ul", {}, ...steps.map((step) => el("li", {}, text(step)))),
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
      el("td", {}, ...(verdict ? [badge(verdict.grade), " ", text(verdict.sentence ?? "")] : ["–"])),
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
