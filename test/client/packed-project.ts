import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const VITE = join(ROOT, "node_modules/vite/bin/vite.js");
/** Packages that the library installs, and packages that a user adds for type checks in Node. */
const PACKAGES = ["ws", "@types/node", "undici-types"];
const STRICT = ["--strict", "--exactOptionalPropertyTypes", "--target", "es2023", "--ignoreConfig"];

export const run = promisify(execFile);

/** An empty project, outside this repository, in which the library is installed. */
export interface PackedProject {
  readonly folder: string;
  write(name: string, content: string | Uint8Array): Promise<void>;
  /** Checks types, and compiles programs for Node. */
  compile(files: readonly string[], options: readonly string[]): Promise<void>;
  /** Bundles `index.html` into `dist`, as the author of a page would. */
  bundle(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Packs the library and installs it with npm, without a registry: its dependencies are packed from this
 * installation.
 */
export async function installPacked(): Promise<PackedProject> {
  const top = await mkdtemp(join(tmpdir(), "dauys-packed-"));
  const folder = join(top, "project");
  await mkdir(folder);
  // The tests run after the build.
  const installed = PACKAGES.map((name) => join(ROOT, "node_modules", name));
  const archives = [
    ...(await packed(["node", "scripts/pack.mjs", "--json"], top)),
    ...(await packed(["npm", "pack", ...installed, "--json", "--ignore-scripts"], top)),
  ];
  assert.equal(archives.length, 1 + PACKAGES.length);
  await writeFile(join(folder, "package.json"), '{"private":true,"type":"module"}');
  // An empty cache, because packages cached on this machine must not help.
  await npm(folder, "install", "--offline", "--cache", join(top, "cache"), ...archives);
  return {
    folder,
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

/** Runs a command that packs into `destination`. Returns the paths of the archives. */
async function packed(
  [program, ...args]: readonly [string, ...string[]],
  destination: string,
): Promise<readonly string[]> {
  const { stdout } = await run(program, [...args, "--pack-destination", destination], { cwd: ROOT });
  return [...stdout.matchAll(/"filename": "([^"]+)"/g)].map(([, archive = ""]) => join(destination, archive));
}

function npm(cwd: string, ...args: string[]): Promise<{ readonly stdout: string }> {
  return run("npm", args, { cwd });
}
