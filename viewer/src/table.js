// The table below the graph.
import { age, freedShare, holders, isMuch, isUntouched, lifetime, nameOf } from "./groups.js";
import { amount, bytes, count, cut, cutFront, interval, percent, size, visible } from "./format.js";
import { el, fill } from "./dom.js";
import { fitPlaces } from "./fit.js";
import { within } from "./scroll.js";

const COLUMNS = 7;
// What is seen first, if the rows have it.
const FIRST = ["name", "value", "interval", "share", "samples", "class", "holder", "objects"];
const ROW = 26; // pixels
const WEAK = "fewer than 10 samples: weak";

const figure = (value, digits = 1) => (value === null ? "–" : value.toFixed(digits));
const orDash = (value) => (value > 0 ? bytes(value) : "–");

// The columns that are seen, and how many more there are: seven, unless all are wanted or one of the others sorts.
export const seenOf = (columns, all, sort) => {
  const place = ({ name }) => FIRST.indexOf(name) + 1 || FIRST.length + 1;
  const hidden = [...columns].sort((a, b) => place(a) - place(b)).slice(COLUMNS);
  const wanted = all || hidden.some(({ name }) => name === sort.replace("-", ""));
  return { seen: wanted ? columns : columns.filter((column) => !hidden.includes(column)), more: hidden.length };
};

// The columns of a table: title, cell of a row, and what it is sorted by.
export const columnsFor = (view) => {
  const { unit, totals } = view;
  const of = (name, title, cell, key) => ({ name, title, cell, key });
  const sized = (field, title) =>
    of(
      field,
      title,
      (row) => orDash(row[field]),
      (row) => row[field],
    );
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
    view.value === "kept" && view.code ? "retained by" : view.by.name,
    null,
    (row) => row.name + row.place,
  );
  if (view.value === "growth") {
    const [gained, lost] = view.matched ? ["allocated", "freed"] : ["later", "earlier"];
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
    if (unit === "bytes" && view.groups.list.some((row) => isUntouched(row.estimate.space, row.resident)))
      columns.push(sized("resident", "resident"));
    // Free memory of heap pages, in equal parts to what lives on them; memory that a fork shared.
    const shares = { holdsFree: "holds free", pinned: "of it pinned", unshared: "unshared" };
    for (const [field, title] of Object.entries(unit === "bytes" ? shares : {}))
      if (view.groups.list.some((row) => isMuch(row[field]))) columns.push(sized(field, title));
    if (view.code && view.memory !== "malloc")
      columns.push(of("class", "class", (row) => classText(row, view.names.texts)));
    if (view.groups.sheet.columns.has("holder"))
      columns.push(of("holder", "retained by", (row) => holderText(row, view.names.texts)));
    if (view.buffers) columns.push(sized("memsize", "with buffers"));
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
      columns.push(sized("malloc", "malloc"));
    }
  }
  if (view.value === "allocated") {
    columns.push(
      of(
        "freed",
        "freed",
        (row) => (freedShare(row) === null ? "–" : percent(freedShare(row))),
        (row) => freedShare(row) ?? -1,
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

const NAME = 300; // characters

// The largest class of a row, and how many others it has.
const classText = ({ classes }, texts) => {
  if (classes.length === 0) return "–";
  const [[text, space], ...others] = classes;
  const name = cut(visible(texts[text]), NAME);
  if (others.length === 0) return name;
  return `${name} ${Math.round((space / classes.reduce((sum, [, bytes]) => sum + bytes, 0)) * 100)}% +${others.length}`;
};

// What retains most of a row.
const holderText = ({ holder }, texts) => (holder ? visible(texts[holder]) : "–");

export class Table {
  // `button`: for more columns; `on`: sort(text), columns(all), select(row).
  constructor(element, button, on) {
    this.element = element;
    this.button = button;
    this.on = on;
    this.shown = 0;
  }

  // `view`: the groups, what they are of, and how they are sorted.
  draw(view) {
    if (view.key !== this.key) {
      this.shown = view.step;
      this.element.scrollTop = 0;
    }
    this.key = view.key;
    this.view = view;
    const every = columnsFor(view);
    const { seen: columns, more } = seenOf(every, view.all, view.sort);
    const rows = view.groups.list.filter((row) => !row.estimate.zero);
    for (const row of rows) Object.assign(row, nameOf(view.by, row.key, view.names));
    if (view.value === "growth") view.changes(rows).forEach((direction, i) => (rows[i].direction = direction));
    this.sort(rows, columns, view.sort);
    this.rows = rows;
    this.columnsButton(columns.length < every.length, more);
    this.largest = Math.max(...rows.map(({ estimate }) => Math.abs(estimate.value(view.unit))), 1);
    const head = el("tr", { role: "row" }, ...columns.map((column) => this.header(column, view.sort)));
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
      el(
        "table",
        { className: "figures", role: "table" },
        el("thead", { role: "rowgroup" }, head),
        el("tbody", { role: "rowgroup" }, ...body),
      ),
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

  // Above the table, where there are more columns than are seen first.
  columnsButton(some, more) {
    this.button.hidden = more === 0;
    this.button.textContent = some ? `${more} more columns` : "Fewer columns";
    this.button.setAttribute("aria-pressed", !some);
    this.button.onclick = () => this.on.columns(some);
  }

  more(view) {
    this.shown += view.step * 5;
    this.draw(view);
  }

  // Scrolls to the first row that is found or marked, if it has to show more rows first.
  showFound() {
    const at = this.rows.findIndex((row) => this.view.found(row) || this.view.marked(row));
    if (at < 0) return;
    if (at >= this.shown) {
      this.shown = at + this.view.step;
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
    const cell = el("th", {
      scope: "col",
      role: "columnheader",
      className: column.name === "name" ? "name" : `number ${column.name}`,
    });
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
      const mark =
        column.name === "value" && weak
          ? el("span", { className: "few", role: "img", title: WEAK, "aria-label": WEAK }, "~")
          : null;
      return el("td", { className: `number ${column.name}`, role: "cell", "data-title": column.title }, mark, text);
    });
    const line = el("tr", { className: classes.filter((name) => name).join(" "), role: "row" }, ...cells);
    line.style.setProperty("--bar", `${(100 * Math.abs(row.estimate.value(view.unit))) / this.largest}%`);
    return line;
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
    return el("td", { className: "name", role: "cell" }, button);
  }
}
