// GCs over time: nothing of an entry is lost between the bars.
import test from "node:test";
import assert from "node:assert/strict";
import { gcBins } from "../../../viewer/src/gc_bins.js";

const sum = (bins, name) => bins.reduce((total, bin) => total + bin[name], 0);

test("an entry of several GCs is spread up to the next one, and a single GC is in one bar", () => {
  const list = [
    [8, 0, 0.8, 0.1, 5, 1],
    [1, 4, 0.2, 0.3, 6, 1],
    [1, 10, 0.1, null, 7, 1],
  ];
  const bins = gcBins(list, 0, 10, 10);
  assert.deepEqual(
    [2, 2, 2, 2, 1, 0, 0, 0, 0, 1],
    bins.map((bin) => bin.gcs),
  );
  assert.ok(Math.abs(sum(bins, "took") - 1.1) < 1e-9);
  assert.deepEqual([0.1, 0.3, null, 6], [bins[3].pause, bins[4].pause, bins[9].pause, bins[4].pages]);
});

test("a GC that takes longer than a bar is in several", () => {
  assert.deepEqual(
    [0, 1, 1, 1, 0],
    gcBins([[1, 1, 3, 0.1, 1, 1]], 0, 5, 5).map((bin) => bin.took),
  );
});

test("GCs outside of the time that is shown are left out, and all at one time make no bar wider", () => {
  assert.equal(
    1,
    sum(
      gcBins(
        [
          [1, 5, 0.1, 0.1, 1, 1],
          [1, 50, 0.1, 0.1, 1, 1],
        ],
        0,
        10,
        4,
      ),
      "gcs",
    ),
  );
  assert.equal(
    2,
    sum(
      gcBins(
        [
          [1, 5, 0.1, 0.1, 1, 1],
          [1, 5, 0.1, 0.1, 1, 1],
        ],
        5,
        5,
        4,
      ),
      "gcs",
    ),
  );
});
