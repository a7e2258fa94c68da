// GCs over time, summed for the bars of a chart.
export const BARS = 100;

// Equal parts of the time: GCs, CPU time, the longest pause, heap pages. An entry of several GCs is spread over the time up
// to the next entry, and a GC over the time that it took.
export const gcBins = (list, from, to, size = BARS) => {
  const step = (to - from) / size || 1;
  const bins = Array.from({ length: size }, (_, i) => ({
    at: from + i * step,
    step,
    gcs: 0,
    took: 0,
    pause: null,
    pages: null,
  }));
  list.forEach(([gcs, at, took, pause, pages], i) => {
    const end = gcs > 1 && i + 1 < list.length ? list[i + 1][1] : at + took;
    const first = Math.min(Math.floor((at - from) / step), at <= to ? size - 1 : size);
    const last = Math.max(first, Math.min(Math.ceil((end - from) / step), size) - 1);
    for (let bin = Math.max(first, 0); bin <= Math.min(last, size - 1); bin++) {
      const here = bins[bin];
      here.gcs += gcs / (last - first + 1);
      here.took += took / (last - first + 1);
      if (pause !== null) here.pause = Math.max(here.pause || 0, pause);
      here.pages = pages;
    }
  });
  return bins;
};
