import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { requirePatchedDriver } from "../../../src/store/postgres/patched-driver.js";
import { temporaryFolder } from "../../support/folders.js";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const REPAIRS = join(ROOT, "scripts/postgres-repairs.mjs");
const CONNECTION = "node_modules/postgres/src/connection.js";

/** Returns the driver's code before and after each patch. */
async function readRepairs(): Promise<readonly (readonly [found: string, wanted: string])[]> {
  return ((await import(REPAIRS)) as { REPAIRS: readonly (readonly [string, string])[] }).REPAIRS;
}

test("a driver that lacks one of the patches is rejected", async () => {
  requirePatchedDriver();
  const patched = await readFile(join(ROOT, CONNECTION), "utf8");
  const path = join(await temporaryFolder(), "connection.js");
  const repairs = await readRepairs();
  assert.ok(repairs.length >= 5);
  for (const [found, wanted] of repairs) {
    assert.ok(patched.includes(wanted));
    await writeFile(
      path,
      patched.replace(wanted, () => found),
    );
    assert.throws(() => requirePatchedDriver(path), /is not patched.*Run: node scripts\/patch-postgres\.mjs/);
  }
});

test("a service does not start with a driver installed with --ignore-scripts", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "node_modules"));
  for (const name of await readdir(join(ROOT, "node_modules"))) {
    if (name !== "postgres")
      await symlink(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  }
  await cp(join(ROOT, "node_modules/postgres"), join(folder, "node_modules/postgres"), { recursive: true });
  let code = await readFile(join(folder, CONNECTION), "utf8");
  for (const [found, wanted] of await readRepairs()) code = code.replace(wanted, () => found);
  await writeFile(join(folder, CONNECTION), code);
  for (const floor of ["src", "actors", "native", "core"]) {
    await cp(join(ROOT, "dist", floor), join(folder, "dist", floor), { recursive: true });
  }
  await cp(join(ROOT, "package.json"), join(folder, "package.json"));

  const env = { ...process.env, PORT: "0", DATA_DIR: join(folder, "data"), MODELS_DIR: join(ROOT, "models") };
  const service = spawn(process.execPath, [join(folder, "dist/src/main.js")], { env });
  const [said, [status]] = await Promise.all([text(service.stderr), once(service, "exit")]);
  assert.match(said, /cannot start: the database driver is not patched/);
  assert.equal(status, 1);
});
