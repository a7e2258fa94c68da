// Builds the template of the HTML view: node build.mjs OUTPUT. One file; script
// and style are in it, and the policy lets nothing else in or out.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const output = process.argv[2] || "viewer.html";

const { outputFiles } = await build({
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome113", "firefox113", "safari16.4"],
  charset: "utf8",
  legalComments: "none",
  outdir: "out",
  write: false,
});
const text = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).text.trim();

// The licences of the modules that go into the page, each text once.
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const licences = new Map();
for (const [path, { version, dev }] of Object.entries(lock.packages)) {
  if (!path.startsWith("node_modules/") || dev) continue;
  const text = readFileSync(`${path}/LICENSE`, "utf8").trim();
  licences.set(text, [...(licences.get(text) || []), `${path.slice("node_modules/".length)} ${version}`]);
}
const notices = [...licences].map(([text, names]) => `${names.join(", ")}:\n\n${text}`).join("\n\n\n");

const script = text(".js");
const style = text(".css");
if (/<\/(script|style)/i.test(script + style + notices) || /<!--/.test(script + notices))
  throw new Error("the bundle would end its own element");

const hash = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const parts = { policy, style, script, notices };
const page = readFileSync("src/index.html", "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
for (const mark of ["<!--title-->", "<!--data-->"]) {
  if (page.split(mark).length !== 2) throw new Error(`${mark} must be in the page once`);
}
writeFileSync(output, page);
