// The sentence above the graph: what there is of what is shown, and what one must know to read it.
import { el } from "./dom.js";
import { amount, count, duration, interval, percent, size, visible } from "./format.js";
import { isUntouched } from "./groups.js";

export const TITLES = {
  inuse: "Live",
  allocated: "Allocated since sampling started",
  young: "Young",
  freed: "Freed",
  growth: "Growth",
  kept: "Retained",
};
const NOTES = {
  inuse: "Objects that survived the last GC, and malloc blocks that are not freed.",
  allocated: "Everything allocated since sampling started.",
  young: "Allocated since the last GC, so it may be garbage.",
  freed: "Allocated since sampling started, and freed.",
  kept: "References from the roots of the heap to the objects that they retain, on one of the shortest paths.",
};

export class Summary {
  constructor(view) {
    this.view = view;
    this.data = view.data;
    this.state = view.state;
  }

  // The parts of the sentence; `wanted`: the frames that are searched for, or null.
  parts(wanted) {
    const { view, state } = this;
    const value = state.get("value");
    const total = view.sums().total;
    const parts = [el("span", { className: "strong" }, `${TITLES[value]}: ${this.figures(total)}`)];
    if (value === "inuse" && state.get("unit") === "bytes") parts.push(this.resident(total));
    if (this.filtered) parts.push(" (filtered)");
    if (wanted) parts.push(` · found: ${this.found(view.found(wanted), total)}`);
    parts.push(" ", el("span", { className: "note" }, this.note(value)));
    for (const warning of this.warnings()) parts.push(" ", el("span", { className: "warning" }, warning));
    return parts;
  }

  note(value) {
    if (value === "growth") return this.growthNote();
    const walked = value === "kept" && this.data.walked ? ` Heap walk of ${visible(this.data.walked)}.` : "";
    return NOTES[value] + walked;
  }

  get filtered() {
    const { view, state } = this;
    return [...view.filters, "age"].some((name) => state.get(name) !== "") || state.get("memory") !== "both";
  }

  found(found, total) {
    const unit = this.state.get("unit");
    const share = this.state.get("value") !== "growth" && total.value(unit) > 0;
    if (found.zero) return "nothing";
    return this.figures(found) + (share ? `, ${percent(found.value(unit) / total.value(unit))}` : "");
  }

  // What of it is resident, where that differs: memory that was never touched has no pages.
  resident(total) {
    const mask = this.view.mask();
    const sum = this.view
      .sheet()
      .columns.get("resident")
      .reduce((all, bytes, row) => all + bytes * mask[row], 0);
    return isUntouched(total.space, sum) ? `, ${amount(sum, "bytes")} of it resident` : "";
  }

  figures(estimate) {
    const unit = this.state.get("unit");
    const net = "gained" in estimate;
    if (estimate.zero) return net ? "nothing changed" : "nothing sampled";
    const within = interval(estimate, unit);
    const objects = unit === "bytes" ? ` in ${count(estimate.objects, net)} objects` : " objects";
    return `${size(estimate, unit)} ${within.startsWith("±") ? within : `(${within})`}${objects}, ${count(estimate.samples)} samples`;
  }

  growthNote() {
    const { seconds, gcs, since, matched, same_run: sameRun, dumps, deploys, lasted } = this.view.growth;
    if (deploys) {
      const [before, after] = deploys.map((name, i) => `${visible(name)} (${duration(lasted[i])} after its start)`);
      return `Deploy ${before} compared with deploy ${after}: totals of one process each.`;
    }
    const span = [
      seconds !== null && seconds >= 0 ? `${duration(seconds)} before` : "",
      gcs !== null ? `${count(gcs)} GCs` : "",
    ].filter((text) => text);
    const how = dumps
      ? "Totals of two heap dumps are compared."
      : matched
        ? "Only what was allocated or freed in between counts."
        : sameRun
          ? "The sampling interval changed in between: totals are compared."
          : "The profiles are not of one session of one process: totals are compared.";
    return `Since ${visible(since)}${span.length ? ` (${span.join(", ")})` : ""}. ${how}`;
  }

  warnings() {
    if (this.state.get("value") !== "growth") return [];
    const { malloc_left_out: leftOut, gcs } = this.view.growth;
    return [
      leftOut ? "Malloc memory is left out: only one of the two profiles sampled it." : null,
      gcs === 0 ? "No GC ran in between, so the set of live objects cannot have changed." : null,
    ].filter((warning) => warning);
  }
}
