// `npm pack` makes the library: client, player and command line. Whoever installs that is not to install the service's
// packages with it, nor to run its build. So while npm packs, package.json is the library's; afterwards it is as before.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const MANIFEST = join(root, "package.json");
const KEPT = join(root, "build/package.json");
const LIBRARY_FIELDS = [
  "name",
  "version",
  "description",
  "license",
  "type",
  "engines",
  "bin",
  "exports",
  "files",
];
/** What the library imports from elsewhere. */
const LIBRARY_PACKAGES = ["ws"];

if (process.argv[2] === "restore") {
  if (existsSync(KEPT)) renameSync(KEPT, MANIFEST);
} else {
  mkdirSync(join(root, "build"), { recursive: true });
  copyFileSync(MANIFEST, KEPT);
  const manifest = libraryManifest(JSON.parse(readFileSync(MANIFEST, "utf8")));
  writeFileSync(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`);
}

function libraryManifest(manifest) {
  const fields = LIBRARY_FIELDS.map((name) => [name, manifest[name]]);
  // A range, where the service pins: a page of code should not hold back its users' security fixes.
  const packages = LIBRARY_PACKAGES.map((name) => [name, `^${manifest.dependencies[name]}`]);
  return { ...Object.fromEntries(fields), dependencies: Object.fromEntries(packages) };
}
