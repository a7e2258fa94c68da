// What src/lib/heapsample/html/view.rb put into the page: an object, and columns of
// numbers by reference; see html/columns.rb for their form.

// Known to Chromium 80, Firefox 113 and Safari 16.4.
const gunzip = async (bytes) => {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old to unpack the profile: Chromium 80, Firefox 113 or Safari 16.4 can.");
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
};

const fromBase64 = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

const ARRAYS = { C: Uint8Array, "S<": Uint16Array, "L<": Uint32Array, E: Float64Array };

// The object, with typed arrays in place of references to columns.
export const unpack = async (base64) => {
  const buffer = await gunzip(fromBase64(base64));
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const column = ([format, size, at]) =>
    format ? new ARRAYS[format](buffer, 4 + length + at, size) : new Uint8Array(size);
  const columns = (references) =>
    new Map(Object.entries(references).map(([name, reference]) => [name, column(reference)]));
  for (const process of [head, ...head.others]) {
    process.profile = columns(process.profile);
    if (process.kept) process.kept = columns(process.kept);
    for (const growth of process.growths) growth.columns = columns(growth.columns);
  }
  head.frames = columns(head.frames);
  return head;
};
