// The table below the graph.
import { age, deadShare, holders, isMuch, isUntouched, lifetime, nameOf } from "./groups.js";
import { amount, bytes, count, cut, cutFront, interval, percent, size, visible } from "./format.js";
import { el, fill } from "./dom.js";
import { fitPlaces } from "./fit.js";
import { within } from "./scroll.js";

const STEP = 100;
const ROW = 26; // pixels
const WEAK = "fewer than 10 samples: weak";

const figure = (value, digits = 1) => (value === null ? "–" : value.toFixed(digits));
const orDash = (value) => (value > 0 ? bytes(value) : "–");

// The columns of a table: title, cell of a row, and what it is sorted by.
export const columnsFor = (view) => {
  const { unit, totals } = view;
  const of = (name, title, cell, key) => ({ name, title, cell, key });
  const value = (row) => row.estimate.value(unit);
  const objects = of(
    "objects",
    "objects",
    (row) => count(row.estimate.objects),
    (row) => row.estimate.objects,
  );
  const samples = of(
    "samples",
    "samples",
    (row) => count(row.estimate.samples),
    (row) => row.estimate.samples,
  );
  const within = of("interval", "95% interval", (row) => interval(row.estimate, unit));
  const name = of(
    "name",
    view.value === "kept" && view.code ? "kept by" : view.by.name,
    null,
    (row) => row.name + row.place,
  );
  if (view.value === "growth") {
    const [gained, lost] = view.matched ? ["gained", "lost"] : ["later", "earlier"];
    return [
      name,
      of(
        "value",
        "change",
        (row) => size(row.estimate, unit),
        (row) => Math.abs(value(row)),
      ),
      within,
      of(
        "gained",
        gained,
        (row) => amount(row.estimate.gained.value(unit), unit),
        (row) => row.estimate.gained.value(unit),
      ),
      of(
        "lost",
        lost,
        (row) => amount(row.estimate.lost.value(unit), unit),
        (row) => row.estimate.lost.value(unit),
      ),
      samples,
    ];
  }
  const share = of("share", "share", (row) => (totals.value > 0 ? percent(value(row) / totals.value) : ""), value);
  const columns = [name, of("value", unit, (row) => size(row.estimate, unit), value), within, share, samples];
  if (unit === "bytes") columns.push(objects);
  if (view.value === "inuse") {
    if (unit === "bytes" && view.groups.list.some((row) => isUntouched(row.estimate.space, row.resident))) {
      columns.push(
        of(
          "resident",
          "resident",
          (row) => bytes(row.resident),
          (row) => row.resident,
        ),
      );
    }
    // Free memory of heap pages, in equal parts to what lives on them; memory that a fork shared.
    if (unit === "bytes") {
      const shares = { holdsFree: "holds free", pinned: "of it pinned", unshared: "unshared" };
      for (const [field, title] of Object.entries(shares)) {
        if (!view.groups.list.some((row) => isMuch(row[field]))) continue;
        columns.push(
          of(
            field,
            title,
            (row) => orDash(row[field]),
            (row) => row[field],
          ),
        );
      }
    }
    if (view.code && view.memory !== "malloc")
      columns.push(of("class", "class", (row) => classText(row, view.names.texts)));
    if (view.groups.sheet.columns.has("holder"))
      columns.push(of("holder", "kept by", (row) => holderText(row, view.names.texts)));
    if (view.buffers)
      columns.push(
        of(
          "buffers",
          "with buffers",
          (row) => orDash(row.memsize),
          (row) => row.memsize,
        ),
      );
    columns.push(
      of(
        "age",
        "age",
        (row) => figure(age(row, view.gcCount)),
        (row) => age(row, view.gcCount) ?? -1,
      ),
    );
    if (view.sides) {
      columns.push(
        of(
          "slots",
          "slots",
          (row) => orDash(row.estimate.space - row.malloc),
          (row) => row.estimate.space - row.malloc,
        ),
      );
      columns.push(
        of(
          "malloc",
          "malloc",
          (row) => orDash(row.malloc),
          (row) => row.malloc,
        ),
      );
    }
  }
  if (view.value === "allocated") {
    columns.push(
      of(
        "dead",
        "dead",
        (row) => (deadShare(row) === null ? "–" : percent(deadShare(row))),
        (row) => deadShare(row) ?? -1,
      ),
    );
    columns.push(
      of(
        "lived",
        "lived",
        (row) => figure(lifetime(row)),
        (row) => lifetime(row) ?? -1,
      ),
    );
  }
  return columns;
};

const CLASS_LENGTH = 28;

// The largest class of a row, and how much there is beside it.
const classText = ({ classes }, texts) => {
  if (classes.length === 0) return "–";
  const [[text, space], ...others] = classes;
  const name = cut(visible(texts[text]), CLASS_LENGTH);
  if (others.length === 0) return name;
  return `${name} ${Math.round((space / classes.reduce((sum, [, bytes]) => sum + bytes, 0)) * 100)}% +${others.length}`;
};

// Who keeps most of a row; the whole of it is in the cell's title.
const holderText = ({ holder }, texts) => (holder ? visible(texts[holder]) : "–");

export class Table {
  // `on`: sort(text), select(row).
  constructor(element, on) {
    this.element = element;
    this.on = on;
    this.shown = STEP;
  }

  // `view`: the groups, what they are of, and how they are sorted.
  draw(view) {
    if (view.key !== this.key) {
      this.shown = STEP;
      this.element.scrollTop = 0;
    }
    this.key = view.key;
    this.view = view;
    const columns = columnsFor(view);
    const rows = view.groups.list.filter((row) => !row.estimate.zero);
    for (const row of rows) Object.assign(row, nameOf(view.by, row.key, view.names));
    if (view.value === "growth") view.changes(rows).forEach((direction, i) => (rows[i].direction = direction));
    this.sort(rows, columns, view.sort);
    this.rows = rows;
    const head = el("tr", {}, ...columns.map((column) => this.header(column, view.sort)));
    const shown = rows.slice(0, this.shown);
    if (columns.some((column) => column.name === "class")) {
      view.groups.classes(shown).forEach((classes, i) => (shown[i].classes = classes));
    }
    if (columns.some((column) => column.name === "holder")) {
      holders(shown, view.groups).forEach((holder, i) => (shown[i].holder = holder));
    }
    const body = shown.map((row) => this.row(row, columns, view));
    fill(
      this.element,
      el("table", { className: "figures" }, el("thead", {}, head), el("tbody", {}, ...body)),
      rows.length === 0 ? el("p", { className: "note" }, "Nothing matches.") : null,
      rows.length > this.shown
        ? el(
            "button",
            { type: "button", className: "more", onclick: () => this.more(view) },
            `${count(rows.length - this.shown)} more`,
          )
        : null,
    );
    fitPlaces(this.element);
  }

  more(view) {
    this.shown += STEP * 5;
    this.draw(view);
  }

  // Scrolls to the first row that is found or marked, if it has to show more rows first.
  showFound() {
    const at = this.rows.findIndex((row) => this.view.found(row) || this.view.marked(row));
    if (at < 0) return;
    if (at >= this.shown) {
      this.shown = at + STEP;
      this.draw(this.view);
    }
    const row = this.element.querySelectorAll("tbody tr")[at];
    within(this.element, row, ROW, ROW);
  }

  sort(rows, columns, order) {
    const up = order.startsWith("-");
    const column = columns.find(({ name, key }) => name === order.replace("-", "") && key) || columns[1];
    const text = column.name === "name";
    const compare = (a, b) => {
      const [one, other] = [column.key(a), column.key(b)];
      return text ? (one < other ? -1 : one > other ? 1 : 0) : other - one;
    };
    rows.sort((a, b) => (up ? compare(b, a) : compare(a, b)));
  }

  header(column, order) {
    const sorted = order.replace("-", "") === column.name;
    const ascending = order.startsWith("-") !== (column.name === "name");
    const cell = el("th", { scope: "col", className: column.name === "name" ? "name" : `number ${column.name}` });
    if (!column.key) {
      cell.append(column.title);
      return cell;
    }
    if (sorted) cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const next = sorted && !order.startsWith("-") ? `-${column.name}` : column.name;
    cell.append(el("button", { type: "button", onclick: () => this.on.sort(next) }, column.title));
    return cell;
  }

  row(row, columns, view) {
    const weak = row.estimate.weak;
    const classes = [weak ? "weak" : "", view.marked(row) ? "marked" : "", view.found(row) ? "found" : ""];
    if (view.value === "growth") classes.push(["shrunk", "noise", "grown"][row.direction + 1]);
    const cells = columns.map((column) => {
      if (column.name === "name") return this.nameCell(row, view);
      const text = column.cell(row);
      const mark = column.name === "value" && weak ? el("span", { className: "few", title: WEAK }, "~") : null;
      const title = column.name === "holder" ? { title: text } : {};
      return el("td", { className: `number ${column.name}`, ...title }, mark, text);
    });
    return el("tr", { className: classes.filter((name) => name).join(" ") }, ...cells);
  }

  nameCell(row, view) {
    const parts = [];
    // Its box runs from right to left, so that what has no room is cut in front.
    if (row.place)
      parts.push(el("span", { className: "place" }, el("bdi", { dir: "ltr" }, cutFront(visible(row.place), 300))));
    if (row.name || !row.place) parts.push(el("bdi", { className: "label" }, cut(visible(row.name), 300)));
    const title = cut(
      [row.place, row.name]
        .filter((text) => text)
        .map(visible)
        .join(" ") || visible(""),
      1000,
    );
    const button = el("button", { type: "button", title, onclick: () => this.on.select(row) }, ...parts);
    button.setAttribute("aria-pressed", view.marked(row));
    return el("td", { className: "name" }, button);
  }
}
