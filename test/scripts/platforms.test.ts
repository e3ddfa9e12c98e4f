import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const BINARY = /\.(?:node|so(?:\.\d+)*)$/;
/** Instructions of one processor family, and the headers that declare them. */
const OF_ONE_PROCESSOR = /\b(?:\w*mmintrin|arm_neon|__asm\w*|asm|_mm\d*_\w+|__m\d+\w*|__builtin_ia32\w*)\b/;

interface Locked {
  readonly version: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

test("every package for x64 Linux has a counterpart of the same version for arm64", () => {
  const ofX64 = Object.entries(lock.packages).filter(
    ([, { os, cpu, libc }]) =>
      os?.includes("linux") && cpu?.includes("x64") && (libc === undefined || libc.includes("glibc")),
  );
  assert.ok(ofX64.length >= 5, `${ofX64.length} packages`);
  const without = ofX64.filter(([path, { version }]) => {
    const sibling = lock.packages[path.replace("x64", "arm64")];
    return !(sibling?.version === version && sibling.cpu?.includes("arm64"));
  });
  assert.deepEqual(
    without.map(([path]) => path),
    [],
  );
});

test("packages with binaries for all platforms include arm64 Linux", () => {
  const modules = join(ROOT, "node_modules");
  const ofOnePlatform = Object.entries(lock.packages).filter(([, { cpu }]) => cpu !== undefined);
  const binaries = readdirSync(modules, { recursive: true, encoding: "utf8" }).filter(
    (path) =>
      BINARY.test(path) &&
      /linux/.test(path) &&
      /x64/.test(path) &&
      !ofOnePlatform.some(([folder]) => `node_modules/${path}`.startsWith(`${folder}/`)),
  );
  assert.ok(binaries.some((path) => path.startsWith("onnxruntime-node/")));
  // CUDA exists only for x64, the fork contains its binaries twice, and the last two packages fall back to
  // JavaScript.
  const missing = binaries.filter(
    (path) =>
      !/cuda|tensorrt|^uws-fork\/dist\/|^bufferutil\/|^utf-8-validate\//.test(path) &&
      !existsSync(join(modules, path.replace("x64", "arm64"))),
  );
  assert.deepEqual(missing, []);
});

test("the sources of the addon use no processor-specific instructions", () => {
  const folder = join(ROOT, "native/beam");
  const sources = readdirSync(folder).filter((name) => /\.(?:cc|h|gyp)$/.test(name));
  assert.ok(sources.length > 4);
  assert.ok(OF_ONE_PROCESSOR.test("#include <immintrin.h>") && OF_ONE_PROCESSOR.test("_mm256_add_ps(a, b)"));
  const specific = sources.filter((name) => OF_ONE_PROCESSOR.test(readFileSync(join(folder, name), "utf8")));
  assert.deepEqual(specific, []);
});
