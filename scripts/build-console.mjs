// Builds the console's pages into dist/console if a source is newer than the output.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
/** The pages, and the modules that they share with the service. */
const SOURCES = [
  "src/console/pages",
  "src/console/paths.ts",
  "src/client",
  "src/player",
  "core/domain",
  "package-lock.json",
];
const BUILT = join(root, "dist/console/index.html");

if (newestMs() > (existsSync(BUILT) ? statSync(BUILT).mtimeMs : 0)) await build();

function newestMs() {
  const paths = SOURCES.map((source) => join(root, source)).filter((path) => existsSync(path));
  const all = paths.flatMap((path) => [path, ...(statSync(path).isDirectory() ? within(path) : [])]);
  return Math.max(...all.map((path) => statSync(path).mtimeMs));
}

function within(folder) {
  return readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
}

async function build() {
  const vite = await import("vite").catch(() => null);
  if (vite === null) {
    // An installation without development packages serves its prebuilt pages, or none.
    console.error("vite is not installed: the console's pages stay unchanged");
    return;
  }
  await vite.build({
    root: join(root, "src/console/pages"),
    configFile: join(root, "src/console/pages/vite.config.js"),
  });
}
