// GCs over time, below the memory of the process: their CPU time as a part of the time, and what they cost.
import { scaleLinear, scaleUtc } from "d3-scale";
import { axes, DAY, HEIGHT, MARGIN, svgIn, clock } from "./charts.js";
import { el } from "./dom.js";
import { BARS, gcBins } from "./gc_bins.js";
import { count, duration, percent, visible } from "./format.js";

const ms = (seconds) => (seconds === null ? "not known" : `${(seconds * 1000).toFixed(1)} ms`);

// `accounts`: the chart has the same times, if there are several.
export const drawGcs = (element, { gcs, accounts }, on) => {
  if (!gcs || gcs.list.length < 2) return;
  const times = accounts.length > 2 ? accounts : gcs.list.map(([, at]) => ({ at }));
  const [from, to] = [times[0].at, times[times.length - 1].at];
  const bins = gcBins(gcs.list, from, to).filter((bin) => bin.gcs > 0);
  if (bins.length === 0) return;
  const box = el("div", { id: "gcs" }, el("p", { className: "note" }, "CPU time of GC, as a part of the time"));
  element.append(box);
  const { svg, width } = svgIn(box, "CPU time of GC over time");
  const x = scaleUtc([new Date(from * 1000), new Date(to * 1000)], [MARGIN.left, width - MARGIN.right]);
  const y = scaleLinear(
    [0, Math.max(...bins.map(({ took, step }) => took / step))],
    [HEIGHT - MARGIN.bottom, MARGIN.top],
  );
  const ticks = y.nice(3).ticks(3);
  axes(svg, x, y, width, { ticks, amountOf: percent, format: to - from < DAY ? clock : null });
  svg
    .selectAll("rect.gc")
    .data(bins)
    .join("rect")
    .attr("class", "gc")
    .attr("x", ({ at }) => x(new Date(at * 1000)))
    .attr("width", Math.max(1, (width - MARGIN.left - MARGIN.right) / BARS - 1))
    .attr("y", ({ took, step }) => y(took / step))
    .attr("height", ({ took, step }) => y(0) - y(took / step))
    .on("mousemove", (event, { at, step, gcs: number, took, pause, pages }) =>
      on.hover(
        [
          `${clock(new Date(at * 1000))} UTC, ${duration(step)}`,
          `about ${count(Math.ceil(number))} GCs, ${ms(took)} of CPU time`,
          `longest pause: ${ms(pause)}`,
          `heap pages: ${count(pages)}`,
        ],
        event,
      ),
    )
    .on("mouseleave", () => on.hover(null));
  if (gcs.cost) box.append(el("p", { className: "note" }, visible(gcs.cost.join(" "))));
};
