// TAP, and what tests say.
let count = 0;
let failed = 0;

export const test = async (name, body) => {
  count++;
  try {
    await body();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${count} - ${name}`);
    for (const line of String(error.stack || error)
      .split("\n")
      .slice(0, 12))
      console.log(`# ${line}`);
  }
};

export const finish = () => {
  console.log(`1..${count}`);
  return failed === 0 && count > 0 ? 0 : 1;
};

export const note = (text) => console.log(`# ${text}`);

export const assert = (condition, message) => {
  if (!condition) throw new Error(message);
};

export const equal = (expected, actual, what = "") => {
  const [one, other] = [expected, actual].map((value) => JSON.stringify(value));
  assert(one === other, `${what}${what && ": "}expected ${one}, got ${other}`);
};

export const close = (expected, actual, what, tolerance = 1e-9) => {
  const scale = Math.max(Math.abs(expected), 1);
  assert(Math.abs(expected - actual) <= tolerance * scale, `${what}: expected ${expected}, got ${actual}`);
};
