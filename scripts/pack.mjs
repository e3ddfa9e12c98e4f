// `npm run pack` packs the library: client, player and command line. It needs neither the service's packages
// nor its build, so it has its own manifest: the files are copied to build/library, and the tracked
// package.json is only read. Options go to npm (`npm run pack -- --pack-destination FOLDER`).
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const STAGE = join(root, "build/library");
/** Copied to build/library, where the manifest's `files` select from them. */
const STAGED = ["README.md", "LICENSE", "bin", "dist/src", "dist/core", "src/conformance/clip.wav"];
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
/** Packages that the library imports. */
const LIBRARY_PACKAGES = ["ws"];

if (process.argv[2] === "refuse") {
  // npm runs this before `npm pack` and `npm publish`, but also before the script named pack.
  if (["pack", "publish"].includes(process.env.npm_command)) {
    console.error(
      "This folder is the service, not the library: use `npm run pack`, which packs build/library.",
    );
    process.exitCode = 1;
  }
} else {
  rmSync(STAGE, { recursive: true, force: true });
  mkdirSync(STAGE, { recursive: true });
  for (const name of STAGED) cpSync(join(root, name), join(STAGE, name), { recursive: true });
  const manifest = libraryManifest(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
  writeFileSync(join(STAGE, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const args = ["pack", STAGE, ...process.argv.slice(2)];
  process.exitCode = spawnSync("npm", args, { cwd: root, stdio: "inherit" }).status ?? 1;
}

function libraryManifest(manifest) {
  const fields = LIBRARY_FIELDS.map((name) => [name, manifest[name]]);
  // Ranges, not exact versions as for the service: a library must not hold back its users' security fixes.
  const packages = LIBRARY_PACKAGES.map((name) => [name, `^${manifest.dependencies[name]}`]);
  return { ...Object.fromEntries(fields), dependencies: Object.fromEntries(packages) };
}
