// Compiles TypeScript into dist, each file by itself, and only those that have changed: the service for every start
// (`node scripts/compile.mjs`), benches and tests beside it for a build (`--all`). What a file becomes is its text without
// types: tsconfig.json forbids syntax that means more (`erasableSyntaxOnly`) and imports whose fate depends on other files
// (`verbatimModuleSyntax`). Types are tsc's matter, in `npm run build`, which also writes the declarations.
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
/** Vite builds them; tests look into some of their modules. */
const PAGES = join("src", "console", "pages");
/** What compiled last, and which state of each source: its time, which any checkout and any editor changes. */
const NOTES = join(root, "dist/compiled.json");
/** As in tsconfig.json. */
const TARGET = "es2023";

const isAll = process.argv.includes("--all");
const rooms = isAll ? [...SERVICE, ...OTHERS] : SERVICE;
const { version } = createRequire(import.meta.url)("oxc-transform/package.json");
const compiler = `oxc-transform ${version} ${TARGET}`;

const names = rooms.flatMap(namesOf);
const sources = names
  .filter((name) => isAll || !name.startsWith(PAGES))
  .map((name) => ({ name, changedMs: statSync(join(root, name)).mtimeMs }));
const noted = readNotes();
removeOrphans();
const stale = sources.filter(
  ({ name, changedMs }) => noted[name] !== changedMs || !existsSync(outputOf(name)),
);
if (stale.length > 0) await compile(stale);

/** Paths of a room's sources from the root. */
function namesOf(room) {
  const paths = readdirSync(join(root, room), { recursive: true });
  return paths.filter((path) => path.endsWith(".ts")).map((path) => join(room, path));
}

/** What was compiled from sources that are gone: what imports it must fail. */
function removeOrphans() {
  const outputs = new Set(names.map(outputOf));
  for (const room of rooms) {
    const folder = join(root, "dist", room);
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

/** At once: services that start at the same time compile the same, and one may load what the other writes. */
function write(path, text) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}

function outputOf(name) {
  return join(root, "dist", name.replace(/\.ts$/, ".js"));
}

/** When each source was compiled last; nothing where another compiler did it. */
function readNotes() {
  try {
    const notes = JSON.parse(readFileSync(NOTES, "utf8"));
    return notes.compiler === compiler ? notes.sources : {};
  } catch {
    return {};
  }
}
