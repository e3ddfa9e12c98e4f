// `npm run docs` regenerates parts of documents from the service's own lists, and wraps long lines of prose;
// `--check` only reports outdated documents. A part is between `<!-- NAME: npm run docs -->` and
// `<!-- end of NAME -->`.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { capacityTable } from "../dist/bench/capacity/capacity.js";
import { roomTable } from "../dist/bench/plots/rooms.js";
import { wireTable } from "../dist/bench/plots/wires.js";
import { FAMILIES } from "../dist/native/models/families.js";
import { TASKS } from "../dist/native/models/manifest.js";
import { LIVE_CASES } from "../dist/src/conformance/live-cases.js";
import { SPEECH_CASES } from "../dist/src/conformance/speech-cases.js";
import { SETTINGS } from "../dist/src/settings/settings.js";
import { wrapProse } from "./wrap-prose.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const PARTS = {
  settings: settingsTable,
  families: familyTable,
  cases: casesTable,
  capacity: () => `${capacityTable()}\n`,
  rooms: () => `${roomTable()}\n`,
  wires: () => `${wireTable()}\n`,
};

const isCheck = process.argv.includes("--check");
const changed = documents().filter((path) => refresh(path, wrapProse(withParts(read(path)))));
for (const path of changed) console.log(`${path} ${isCheck ? "is out of date: npm run docs" : "written"}`);
if (isCheck && changed.length > 0) process.exitCode = 1;

/** Returns the requirements that `dauys conform` checks, with links to their sections. */
function casesTable() {
  const rows = [...LIVE_CASES, ...SPEECH_CASES].map(
    ({ id, page, section, requirement }) =>
      `| ${id} | ${requirement} | [${section.split(":")[0]}](${page}#${anchor(section)}) |`,
  );
  return ["| Case | Requirement | Documented |", "|---|---|---|", ...rows, ""].join("\n");
}

function anchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}

/** Returns every document that git does not ignore. */
function documents() {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"];
  const names = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n");
  return names.filter((name) => name !== "" && existsSync(join(root, name)));
}

function withParts(text) {
  return Object.entries(PARTS).reduce((before, [name, make]) => {
    const start = `<!-- ${name}: npm run docs -->\n`;
    const end = `<!-- end of ${name} -->`;
    const [from, to] = [before.indexOf(start), before.indexOf(end)];
    if (from < 0 || to < from) return before;
    return `${before.slice(0, from)}${start}\n${make()}\n${before.slice(to)}`;
  }, text);
}

function settingsTable() {
  // Omit the rules for values: some depend on the machine, and the service reports violations itself.
  const rows = SETTINGS.map(({ name, otherwise, means }) => `| \`${name}\` | ${otherwise} | ${means} |`);
  return ["| Variable | Default | Means |", "|---|---|---|", ...rows, ""].join("\n");
}

function familyTable() {
  const names = (task) => FAMILIES.filter((family) => family.task === task).map(({ name }) => `\`${name}\``);
  const rows = TASKS.map((task) => `| ${task} | ${names(task).join(", ")} |`);
  return ["| Task | Families |", "|---|---|", ...rows, ""].join("\n");
}

/** Writes the file unless it is up to date. Returns whether it was outdated. */
function refresh(path, text) {
  if (read(path) === text) return false;
  if (!isCheck) writeFileSync(join(root, path), text);
  return true;
}

function read(path) {
  return readFileSync(join(root, path), "utf8");
}
