/** One violation: files added to a virtual copy of the tree, and the line that must report them. */
export interface Planted {
  readonly files: Readonly<Record<string, string>>;
  readonly finding: string;
}

/** The spellings of an import of `TARGET`. */
const WAYS = [
  'import { a } from "TARGET";',
  'import "TARGET";',
  'import type { A } from "TARGET";',
  'import { type A } from "TARGET";',
  'export { a } from "TARGET";',
  'export * from "TARGET";',
  'export type { A } from "TARGET";',
  'const a = await import("TARGET");',
  "const a = import(`TARGET`);",
  'export type A = import("TARGET").A;',
  'import a = require("TARGET");',
  'const a = require("TARGET");',
  'const a = createRequire(import.meta.url)("TARGET");',
  'const a = createRequire(import.meta.url).resolve("TARGET");',
  'const a = import.meta.resolve("TARGET");',
];

/** The spellings that only apply to our own files. */
const FILE_WAYS = [
  'const a = new Worker(new URL("TARGET", import.meta.url));',
  'const a = fileURLToPath(new URL("TARGET?x", import.meta.url));',
  '/// <reference path="TARGET" />',
];

/** Imports from a folder to another module that no row allows. Most point up, some sideways. */
const ARROWS: readonly (readonly [from: string, fromModule: string, to: string, toModule: string])[] = [
  ["core/kernel", "core/kernel", "actors/live", "actors/live"],
  ["core/domain/audio", "core/domain", "src/client", "src/client"],
  ["core/domain", "core/domain", "core/ports", "core/ports"],
  ["core/observe", "core/observe", "core/domain", "core/domain"],
  ["core/ports", "core/ports", "core/observe", "core/observe"],
  ["core/protocol", "core/protocol", "core/ports", "core/ports"],
  ["src/player", "src/player", "src/client", "src/client"],
  ["src/client", "src/client", "core/observe", "core/observe"],
  ["native/ring", "native/ring", "native/threads", "native/threads"],
  ["native/models/f5", "native/models", "src/console/server", "src/console/server"],
  ["native/live", "native/live", "native/synthesis", "native/synthesis"],
  ["actors/live", "actors/live", "actors/synthesis", "actors/synthesis"],
  ["actors/billing", "actors/billing", "src/store", "src/store"],
  ["src/store/accounts", "src/store/accounts", "src/http", "src/http"],
  ["src/input/url", "src/input/url", "src/input/media", "src/input/media"],
  ["src/front/uws", "src/front/uws", "src/front/node", "src/front/node"],
  ["src/http", "src/http", "src/live", "src/live"],
  ["src/console/pages/ui", "src/console/pages", "src/console/server", "src/console/server"],
  ["src/cli", "src/cli", "src/service", "src/service"],
  ["src/service", "src/service", "bench/support", "bench"],
  ["bench/micro", "bench", "src/console/server", "src/console/server"],
];

/** Packages used outside the modules that may use them, with the specifier and the name in the table. */
const PACKAGES: readonly (readonly [folder: string, module: string, written: string, name: string])[] = [
  ["core/domain/text", "core/domain", "zod", "zod"],
  ["core/domain", "core/domain", "node:fs", "files"],
  ["core/ports", "core/ports", "http", "net"],
  ["src/http", "src/http", "postgres", "postgres"],
  ["src/live", "src/live", "uWebSockets.js/package.json", "uWebSockets.js"],
  ["src/player", "src/player", "preact/hooks", "preact"],
  ["src/client", "src/client", "node:worker_threads", "threads"],
  ["native/live", "native/live", "onnxruntime-node", "onnxruntime-node"],
  ["actors/billing", "actors/billing", "node:sqlite", "node:sqlite"],
  ["src/front/node", "src/front/node", "@msgpack/msgpack/x", "@msgpack/msgpack"],
  ["src/cli", "src/cli", "dauys/client", "dauys"],
  ["core/kernel", "core/kernel", "#inside", "#inside"],
];

/** Import cycles, by the kind of each import. */
const CIRCLES: readonly (readonly [folder: string, ...ways: readonly string[]])[] = [
  ["core/domain/audio", 'import { a } from "TARGET";', 'import { a } from "TARGET";'],
  ["actors/live", 'import type { A } from "TARGET";', 'import { a } from "TARGET";'],
  ["native/models", 'export * from "TARGET";', 'type A = import("TARGET").A;', 'import("TARGET");'],
  ["src/http", 'new URL("TARGET", import.meta.url);', 'import a = require("TARGET");'],
];

export const PLANTED: readonly Planted[] = [
  ...ARROWS.flatMap((_, index) => arrow(index, WAYS[index % WAYS.length]!)),
  ...FILE_WAYS.map((way, index) => arrow(ARROWS.length + index, way)),
  ...PACKAGES.map((_, index) => foreign(index, WAYS[index % WAYS.length]!)),
  ...WAYS.slice(PACKAGES.length).map((way, index) => foreign(PACKAGES.length + index, way)),
  ...CIRCLES.map(circle),
  only("src/rumour/planted.ts", "", "its folder is no module of test/house/modules.ts"),
  only("core/domain.ts", "", "its folder is no module of test/house/modules.ts"),
  only("src/http/endpoints/deep/planted.ts", "", "its folder is no module of test/house/modules.ts"),
  only("bench/deep/planted.ts", "", "its folder is no module of test/house/modules.ts"),
  only("actors/residency/planted-broken.ts", "const = 1;", "does not parse"),
  only(
    "native/planted-entry.ts",
    'new URL("./live/gone.js", import.meta.url);',
    "imports native/live/gone.js, which is not there",
  ),
  only(
    "core/protocol/planted-computed.ts",
    "const a = import(name);",
    "imports something that only the run knows, and core/protocol may not import modules",
  ),
  only(
    "src/client/planted-builtin.ts",
    'process.getBuiltinModule("node:child_process");',
    "imports node:child_process, and src/client may not import processes",
  ),
  only(
    "src/service/planted-test.ts",
    'import { a } from "../../test/support/audio.js";',
    "imports test/support/audio.js, and src/service may not import test",
  ),
];

function arrow(index: number, way: string): Planted {
  const [from, fromModule, to, toModule] = ARROWS[index % ARROWS.length]!;
  const path = `${from}/planted-arrow-${index}.ts`;
  const target = `${to}/planted-target-${index}.ts`;
  const specifier = `${"../".repeat(from.split("/").length)}${target.replace(/ts$/, "js")}`;
  return {
    files: { [path]: way.replace("TARGET", specifier), [target]: "export const a = 1; export type A = 1;" },
    finding: `${path}: imports ${target}, and ${fromModule} may not import ${toModule}`,
  };
}

function foreign(index: number, way: string): Planted {
  const [folder, module, written, name] = PACKAGES[index % PACKAGES.length]!;
  const path = `${folder}/planted-package-${index}.ts`;
  return {
    files: { [path]: way.replace("TARGET", written) },
    finding: `${path}: imports ${written}, and ${module} may not import ${name}`,
  };
}

function circle([folder, ...ways]: readonly [string, ...(readonly string[])], index: number): Planted {
  const name = (at: number) => `planted-circle-${index}-${at % ways.length}`;
  const paths = [...ways, ""].map((_, at) => `${folder}/${name(at)}.ts`);
  return {
    files: Object.fromEntries(
      ways.map((way, at) => [paths[at], way.replace("TARGET", `./${name(at + 1)}.js`)]),
    ),
    finding: `circle: ${paths.join(" → ")}`,
  };
}

function only(path: string, text: string, complaint: string): Planted {
  return { files: { [path]: text }, finding: `${path}: ${complaint}` };
}
