// Estimates of objects and bytes, and the difference of two: estimate.rb and the
// module Net (growth/net.rb). Figures are of bytes or of objects, by `unit`.
import { EXACT_ERROR, difference, discoveries, interval, pValue } from "./statistics.js";

export const FIELDS = ["samples", "objects", "space", "variance", "objectsVariance"];
const WEAK_BELOW = 10;
const WEAK_ERROR = 0.1;

export class Estimate {
  constructor(samples = 0, objects = 0, space = 0, variance = 0, objectsVariance = 0) {
    this.samples = samples;
    this.objects = objects;
    this.space = space;
    this.variance = variance;
    this.objectsVariance = objectsVariance;
  }

  get zero() {
    return !(this.objects > 0 && this.space > 0);
  }

  get weak() {
    return this.samples < WEAK_BELOW && this.variance > (WEAK_ERROR * this.space) ** 2;
  }

  // Is there no error to speak of?
  get certain() {
    return this.variance <= (EXACT_ERROR * this.space) ** 2;
  }

  get exact() {
    return this.samples > 0 && this.certain;
  }

  get meanSize() {
    if (this.objects > 0) return this.space / this.objects;
    return this.samples > 0 ? this.space / this.samples : 0;
  }

  value(unit) {
    return unit === "objects" ? this.objects : this.space;
  }

  interval(unit, sample = 0) {
    if (unit === "objects") return interval(this.objects, this.objectsVariance, 1, sample);
    return interval(this.space, this.variance, this.meanSize, sample);
  }

  // What one sample of it stands for.
  sampleOf(unit) {
    return this.samples > 0 && this.variance > 0 ? this.value(unit) / this.samples : 0;
  }
}

export class Net {
  constructor(gained, lost) {
    this.gained = gained;
    this.lost = lost;
  }

  get samples() {
    return this.gained.samples + this.lost.samples;
  }

  get objects() {
    return this.gained.objects - this.lost.objects;
  }

  get space() {
    return this.gained.space - this.lost.space;
  }

  get zero() {
    return this.gained.zero && this.lost.zero;
  }

  get weak() {
    return this.samples < WEAK_BELOW && (this.gained.weak || this.lost.weak);
  }

  get exact() {
    return this.samples > 0 && this.gained.certain && this.lost.certain;
  }

  value(unit) {
    return unit === "objects" ? this.objects : this.space;
  }

  interval(unit) {
    const [gained, lost] = [this.gained, this.lost];
    return difference(
      gained.value(unit),
      gained.interval(unit, lost.sampleOf(unit)),
      lost.value(unit),
      lost.interval(unit, gained.sampleOf(unit)),
    );
  }
}

const ENOUGH = 5;

// Which way each of many Nets went: 1 grew, -1 shrank, 0 is no more than sampling
// explains in so many. As Growth#changes does it.
export const changes = (nets, unit) => {
  const tested = [...nets.keys()].filter((i) => nets[i].samples >= ENOUGH || nets[i].exact);
  const found = discoveries(tested.map((i) => pValue(nets[i].value(unit), nets[i].interval(unit))));
  const directions = nets.map(() => 0);
  tested.forEach((i, at) => {
    if (found[at]) directions[i] = nets[i].value(unit) > 0 ? 1 : -1;
  });
  return directions;
};
