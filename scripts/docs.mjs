// `npm run docs` writes the parts of documents that are made from the service's own lists; `--check` only says which are
// out of date. A part stands between `<!-- NAME: npm run docs -->` and `<!-- end of NAME -->`.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SETTINGS } from "../dist/src/settings/settings.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const PARTS = { settings: settingsTable };

const isCheck = process.argv.includes("--check");
const changed = documents().filter((path) => refresh(path, withParts(read(path))));
for (const path of changed) console.log(`${path} ${isCheck ? "is out of date: npm run docs" : "written"}`);
if (isCheck && changed.length > 0) process.exitCode = 1;

function documents() {
  const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  return ["README.md", ...pages.map((name) => join("docs", name))];
}

function withParts(text) {
  return Object.entries(PARTS).reduce((before, [name, make]) => {
    const part = new RegExp(`(<!-- ${name}: npm run docs -->\n).*?(<!-- end of ${name} -->)`, "s");
    return before.replace(part, (_whole, start, end) => `${start}\n${make()}\n${end}`);
  }, text);
}

function settingsTable() {
  // Their rules stay out: the upper bound of threads is the machine's, and a broken rule is named at the start.
  const rows = SETTINGS.map(({ name, otherwise, means }) => `| \`${name}\` | ${otherwise} | ${means} |`);
  return ["| Variable | Default | Means |", "|---|---|---|", ...rows, ""].join("\n");
}

/** Whether the file is not what it should be. */
function refresh(path, text) {
  if (read(path) === text) return false;
  if (!isCheck) writeFileSync(join(root, path), text);
  return true;
}

function read(path) {
  return readFileSync(join(root, path), "utf8");
}
