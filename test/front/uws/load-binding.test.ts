import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { describeFront, frontFacts } from "../../../src/front/select-front.js";
import { findUws, findUwsIn, type UwsPlace } from "../../../src/front/uws/load-binding.js";
import { temporaryFolder } from "../../support/folders.js";

const FILE = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
const BEAM = fileURLToPath(new URL("../../../../native/beam/build/Release/beam.node", import.meta.url));
const require = createRequire(import.meta.url);

/** A binding that loads on this machine, or null. */
const real = ["uws-repack", "uws-fork"]
  .map((alias) => dirname(require.resolve(alias)))
  .flatMap((folder) => [join(folder, FILE), join(folder, "../binaries", FILE)])
  .find((path) => {
    try {
      return require(path) !== null;
    } catch {
      return false;
    }
  });
const skip = real === undefined && "the native front does not load here";

/**
 * Writes a package whose binding is a copy of the file `binding`, or contains that text. With null it writes
 * a package without a binding.
 */
async function installed(
  alias: string,
  version: string,
  binding: string | null,
  folder = ".",
): Promise<UwsPlace> {
  const root = await temporaryFolder();
  const entry = join(root, "uws.js");
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, "package.json"), JSON.stringify({ name: `@maker/${alias}`, version }));
  const path = join(root, folder, FILE);
  if (binding !== null && existsSync(binding)) copyFileSync(binding, path);
  else if (binding !== null) writeFileSync(path, binding);
  return { alias, entry: () => entry };
}

const absent: UwsPlace = {
  alias: "absent",
  entry: () => require.resolve(join(dirname(BEAM), "no-such-file.js")),
};

test("uses the newest binding that loads, with a reason for each of the others", {
  skip,
}, async () => {
  const places = [
    absent,
    await installed("old", "20.9.0", real!),
    await installed("new", "20.60.0", "no binary at all"),
    await installed("other", "20.61.1-unofficial.0", BEAM),
    await installed("bare", "20.59.0", null),
    await installed("fits", "20.30.0", real!, "binaries"),
  ];
  const { binding, unused, ...taken } = findUwsIn(places);
  assert.equal(typeof binding?.App, "function");
  assert.deepEqual(taken, { package: "@maker/fits", version: "20.30.0" });
  const reasons = Object.fromEntries(unused.map(({ package: name, reason }) => [name, reason]));
  assert.deepEqual(Object.keys(reasons), [
    ...["absent", "@maker/other 20.61.1-unofficial.0", "@maker/new 20.60.0"],
    ...["@maker/bare 20.59.0", "@maker/old 20.9.0"],
  ]);
  assert.equal(reasons["absent"], "not installed");
  assert.equal(reasons["@maker/old 20.9.0"], "not newer");
  assert.match(reasons["@maker/new 20.60.0"]!, /file too short|invalid ELF header|dlopen/);
  assert.match(reasons["@maker/bare 20.59.0"]!, new RegExp(`no binary .*${FILE}`));
  const lacks = "it lacks App, _cfg, us_listen_socket_close, us_socket_local_port";
  if (existsSync(BEAM)) assert.equal(reasons["@maker/other 20.61.1-unofficial.0"], lacks);
});

test("prefers the operator's own binding to another binding of the same version", { skip }, async () => {
  const places = [await installed("own", "20.57.0", real!), await installed("repack", "20.57.0", real!)];
  const found = findUwsIn(places);
  assert.deepEqual(found.unused, [{ package: "@maker/repack 20.57.0", reason: "not newer" }]);
});

test("without a binding the portable front gives the reason", async () => {
  const found = findUwsIn([absent, await installed("new", "20.60.0", null)]);
  assert.equal(found.binding, null);
  const unused = found.unused.map(({ package: name, reason }) => `${name}: ${reason}`);
  const facts = { front: "node", package: "node:http", version: "24.0.0", unused } as const;
  assert.match(
    describeFront(facts),
    /^node:http 24\.0\.0; no native one loads: absent: not installed; @maker\/new/,
  );
});

test("reports package and version of the front in use", () => {
  const found = findUws();
  const native = frontFacts("auto", { kind: "uws" });
  if (found.binding !== null) {
    assert.deepEqual([native.front, native.package, native.version], ["uws", found.package, found.version]);
    assert.equal(native.unused.length, 2);
    assert.equal(describeFront(native), `${found.package} ${found.version}`);
  }
  const node = { front: "node", package: "node:http", version: process.versions.node, unused: [] };
  assert.deepEqual(frontFacts("node", { kind: "node" }), node);
});
