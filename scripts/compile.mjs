// Compiles changed TypeScript files into dist: the service for every start (`node scripts/compile.mjs`), and
// also benches and tests for a build (`--all`). It only removes types, file by file: tsconfig.json forbids
// syntax that generates code (`erasableSyntaxOnly`) and imports that depend on other files
// (`verbatimModuleSyntax`). tsc checks types and writes declarations in `npm run build`.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const SERVICE = ["src", "actors", "native", "core"];
const OTHERS = ["bench", "test"];
/** Built by Vite; tests import some of these modules. */
const PAGES = join("src", "console", "pages");
/** The compiler used by the last run, and the modification time of each compiled source. */
const NOTES = join(root, "dist/compiled.json");
/** The target in tsconfig.json. */
const TARGET = "es2023";

const isAll = process.argv.includes("--all");
const folders = isAll ? [...SERVICE, ...OTHERS] : SERVICE;
const { version } = createRequire(import.meta.url)("oxc-transform/package.json");
const compiler = `oxc-transform ${version} ${TARGET}`;

const names = folders.flatMap(namesOf);
const sources = names
  .filter((name) => isAll || !name.startsWith(PAGES))
  .map((name) => ({ name, changedMs: statSync(join(root, name)).mtimeMs }));
const noted = readNotes();
removeOrphans();
const stale = sources.filter(
  ({ name, changedMs }) => noted[name] !== changedMs || !existsSync(outputOf(name)),
);
if (stale.length > 0) await compile(stale);

/** Returns the sources of a folder, relative to the root. */
function namesOf(top) {
  const paths = readdirSync(join(root, top), { recursive: true });
  return paths.filter((path) => path.endsWith(".ts")).map((path) => join(top, path));
}

/** Removes the output of deleted sources, so that imports of it fail. */
function removeOrphans() {
  const outputs = new Set(names.map(outputOf));
  for (const top of folders) {
    const folder = join(root, "dist", top);
    const compiled = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
    for (const name of compiled) {
      const path = join(folder, name);
      if (!path.endsWith(".js") || outputs.has(path)) continue;
      for (const orphan of [path, `${path}.map`]) rmSync(orphan, { force: true });
    }
  }
}

async function compile(files) {
  const { transformSync } = await import("oxc-transform");
  const failures = [];
  for (const { name, changedMs } of files) {
    const output = outputOf(name);
    const { code, map, errors } = transformSync(name, readFileSync(join(root, name), "utf8"), {
      target: TARGET,
      sourcemap: true,
      typescript: { onlyRemoveTypeImports: true },
    });
    failures.push(...errors.map(({ message, codeframe }) => codeframe ?? `${name}: ${message}`));
    if (errors.length > 0) continue;
    mkdirSync(dirname(output), { recursive: true });
    const source = relative(dirname(output), join(root, name));
    const { names: symbols, mappings } = map;
    write(`${output}.map`, JSON.stringify({ version: 3, sources: [source], names: symbols, mappings }));
    write(output, `${code}//# sourceMappingURL=${basename(output)}.map\n`);
    noted[name] = changedMs;
  }
  write(NOTES, JSON.stringify({ compiler, sources: noted }));
  if (failures.length === 0) return;
  console.error(failures.join("\n"));
  process.exitCode = 1;
}

/** Writes atomically, because services that start together compile and load the same files. */
function write(path, text) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}

function outputOf(name) {
  return join(root, "dist", name.replace(/\.ts$/, ".js"));
}

/** Returns the times of the last run; none if it used another compiler. */
function readNotes() {
  try {
    const notes = JSON.parse(readFileSync(NOTES, "utf8"));
    return notes.compiler === compiler ? notes.sources : {};
  } catch {
    return {};
  }
}
