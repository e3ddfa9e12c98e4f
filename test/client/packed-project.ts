import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const VITE = join(ROOT, "node_modules/vite/bin/vite.js");
/** What `npm pack` reads here. */
const PACKED = ["README.md", "LICENSE", "bin", "scripts/packed-manifest.mjs", "dist/src"];
/** What an installation of the library brings along, and what a user adds to check types in Node. */
const PACKAGES = ["ws", "@types/node", "undici-types"];
const STRICT = ["--strict", "--exactOptionalPropertyTypes", "--target", "es2023", "--ignoreConfig"];

export const run = promisify(execFile);

/** An empty project of somebody who uses the library, and nothing of this repository. */
export interface PackedProject {
  readonly folder: string;
  /** The manifest before `npm pack`, and after it. */
  readonly manifests: readonly [string, string];
  write(name: string, content: string | Uint8Array): Promise<void>;
  /** Checks types, and compiles what Node is to run. */
  compile(files: readonly string[], options: readonly string[]): Promise<void>;
  /** Bundles `index.html` into `dist`, as a page's author would. */
  bundle(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Packs the library and installs it with npm. No registry is asked: packages that the library needs are packed from
 * what is installed here, and npm finds them given.
 */
export async function installPacked(): Promise<PackedProject> {
  const top = await mkdtemp(join(tmpdir(), "dauys-packed-"));
  const stage = join(top, "stage");
  const folder = join(top, "project");
  await mkdir(folder);
  // Packing changes the manifest for a moment, which others may read: it is done with a copy.
  for (const name of PACKED) await cp(join(ROOT, name), join(stage, name), { recursive: true });
  const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  // What is packed was built before the tests.
  manifest.scripts.build = 'node -e ""';
  const before = JSON.stringify(manifest);
  await writeFile(join(stage, "package.json"), before);
  const archives = [await pack(stage, ".", top)];
  const after = await readFile(join(stage, "package.json"), "utf8");
  for (const name of PACKAGES) archives.push(await pack(top, join(ROOT, "node_modules", name), top));
  await writeFile(join(folder, "package.json"), '{"private":true,"type":"module"}');
  // A cache of its own: what the machine has seen before is of no help.
  await npm(folder, "install", "--offline", "--cache", join(top, "cache"), ...archives);
  return {
    folder,
    manifests: [before, after],
    write: (name, content) => writeFile(join(folder, name), content),
    compile: async (files, options) => {
      const args = [TSC, ...files, ...STRICT, "--noEmitOnError", ...options];
      await run(process.execPath, args, { cwd: folder }).catch((error: { stdout: string }) =>
        assert.fail(error.stdout),
      );
    },
    bundle: async () => {
      await run(process.execPath, [VITE, "build", "--logLevel", "warn"], { cwd: folder });
    },
    remove: () => rm(top, { recursive: true, force: true }),
  };
}

/** Packs a folder and returns the archive's path. */
async function pack(cwd: string, folder: string, destination: string): Promise<string> {
  const isOurs = folder === ".";
  const args = ["pack", folder, "--json", "--pack-destination", destination];
  const { stdout } = await npm(cwd, ...args, ...(isOurs ? [] : ["--ignore-scripts"]));
  // What the build says comes before.
  const archive = /"filename": "([^"]+)"/.exec(stdout)?.[1];
  assert.ok(archive !== undefined, stdout);
  return join(destination, archive);
}

function npm(cwd: string, ...args: string[]): Promise<{ readonly stdout: string }> {
  return run("npm", args, { cwd });
}
