// 95% intervals of what was estimated from a sample: src/lib/heapsample/estimate/statistics.rb
// in JavaScript, where the theory is. test/check/page compares the two.

const Z = 1.959963984540054;
const TAIL = 0.025;
const EXACT_BELOW = 100;
export const EXACT_ERROR = 1e-4;
const OBSERVED = 0.7;

// Stirling's series; small arguments are raised to where it holds.
const logGamma = (x) => {
  let shift = 0;
  while (x < 12) shift -= Math.log(x++);
  const y = 1 / (x * x);
  const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - (y * 691) / 360360))))) / x;
  return shift + (x - 0.5) * Math.log(x) - x + 0.9189385332046728 + series;
};

// log of x^a (1-x)^b / B(a, b)
const logBetaFront = (x, a, b) => logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x);

// Lentz's method.
const betaFraction = (x, a, b) => {
  const some = (value) => (value === 0 ? 1e-300 : value);
  let c = 1;
  let d = 1 / some(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= 2000; m++) {
    const before = result;
    const terms = [
      (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
    ];
    for (const term of terms) {
      d = 1 / some(1 + term * d);
      c = some(1 + term / c);
      result *= d * c;
    }
    if (Math.abs(result - before) < 1e-12 * Math.abs(result)) break;
  }
  return result;
};

const incompleteBeta = (x, a, b) => {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  return (Math.exp(logBetaFront(x, a, b)) * betaFraction(x, a, b)) / a;
};

// P(X > count) + share * P(X = count), X binomial (objects, p).
const beyond = (objects, count, p, share) => {
  const rest = objects - count;
  if (rest <= 0) return 0;
  const equal = Math.exp(logBetaFront(p, count, rest + 1)) / (1 - p) / count;
  return incompleteBeta(p, count, rest + 1) - (1 - share) * equal;
};

// Where a growing function reaches the target: the Illinois method.
const solve = (target, low, high, f) => {
  let atLow = f(low) - target;
  let atHigh = f(high) - target;
  if (atLow >= 0) return low;
  if (atHigh <= 0) return high;
  let moved = 0;
  for (let step = 0; step < 100; step++) {
    const middle = (low * atHigh - high * atLow) / (atHigh - atLow);
    const value = f(middle) - target;
    if (Math.abs(value) < 1e-9) return middle;
    if (value < 0) {
      [low, atLow] = [middle, value];
      if (moved < 0) atHigh /= 2;
      moved = -1;
    } else {
      [high, atHigh] = [middle, value];
      if (moved > 0) atLow /= 2;
      moved = 1;
    }
  }
  return (low + high) / 2;
};

const exact = (count, weight) => {
  const p = 1 / weight;
  const mean = count * weight;
  const spread = Math.sqrt(mean * (weight - 1)) + weight;
  return [
    solve(TAIL, count, mean, (objects) => beyond(objects, count, p, OBSERVED)),
    solve(1 - TAIL, mean, mean + 12 * spread, (objects) => beyond(objects, count, p, 1 - OBSERVED)),
  ];
};

const score = (total, step) => {
  const centre = total + (Z * Z * step) / 2;
  const spread = Z * Math.sqrt(total * step + (Z * Z * step * step) / 4);
  return [centre - spread, centre + spread];
};

const noneSeen = (unit, size) => {
  if (!(unit > 0)) return 0;
  const p = size / unit;
  if (p >= 1) return 0;
  return p < 1e-9 ? -Math.log(TAIL / OBSERVED) * unit : (Math.log(TAIL / OBSERVED) / Math.log(1 - p)) * size;
};

export const interval = (total, variance, size, unit = 0) => {
  if (!(total > 0)) return [0, noneSeen(unit, size)];
  if (variance <= (EXACT_ERROR * total) ** 2 || !(size > 0)) return [total, total];
  const weight = 1 + variance / (total * size);
  const count = total / (weight * size);
  return count < EXACT_BELOW ? exact(count, weight).map((objects) => objects * size) : score(total, variance / total);
};

// The interval of gain - loss, from the intervals of both.
export const difference = (gain, [gainLow, gainHigh], loss, [lossLow, lossHigh]) => [
  gain - loss - Math.hypot(gain - gainLow, lossHigh - loss),
  gain - loss + Math.hypot(gainHigh - gain, loss - lossLow),
];

// erf by its series, erfc by its continued fraction, from the far end.
const erfc = (x) => {
  if (x > 2) {
    let fraction = 1;
    for (let i = 80; i > 0; i--) fraction = 1 + i / (2 * x * x) / fraction;
    return Math.exp(-x * x) / (x * Math.sqrt(Math.PI) * fraction);
  }
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return 1 - (2 / Math.sqrt(Math.PI)) * sum;
};

// How often noise alone would be as far from 0 as the value.
export const pValue = (value, [low, high]) => {
  const distance = value > 0 ? value - low : high - value;
  if (!(distance > 0)) return value === 0 ? 1 : 0;
  return erfc((Z * Math.abs(value)) / distance / Math.SQRT2);
};

// Which of many are no noise: of those called so, 5% are wrong on average.
export const discoveries = (pValues) => {
  const order = [...pValues.keys()].sort((a, b) => pValues[a] - pValues[b]);
  const last = order.findLastIndex((index, rank) => pValues[index] <= (2 * TAIL * (rank + 1)) / order.length);
  const found = Array(pValues.length).fill(false);
  for (const index of order.slice(0, last + 1)) found[index] = true;
  return found;
};
