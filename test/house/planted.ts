/** One violation: the files that a virtual copy of the tree gets, and the one line that must come of them. */
export interface Planted {
  readonly files: Readonly<Record<string, string>>;
  readonly finding: string;
}

/** How an import of `TARGET` may be written. */
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

/** Ways that mean files of ours only. */
const FILE_WAYS = [
  'const a = new Worker(new URL("TARGET", import.meta.url));',
  'const a = fileURLToPath(new URL("TARGET?x", import.meta.url));',
  '/// <reference path="TARGET" />',
];

/** Arrows that no row has, from a folder to another room's: most point up, some at a room beside. */
const ARROWS: readonly (readonly [from: string, fromRoom: string, to: string, toRoom: string])[] = [
  ["actors/kernel", "actors/kernel", "actors/live", "actors/live"],
  ["src/domain/audio", "src/domain", "src/client", "src/client"],
  ["src/domain", "src/domain", "src/ports", "src/ports"],
  ["src/observe", "src/observe", "src/domain", "src/domain"],
  ["src/ports", "src/ports", "src/observe", "src/observe"],
  ["src/protocol", "src/protocol", "src/ports", "src/ports"],
  ["src/player", "src/player", "src/client", "src/client"],
  ["src/client", "src/client", "src/observe", "src/observe"],
  ["native/ring", "native/ring", "native/threads", "native/threads"],
  ["native/models/f5", "native/models", "src/console/server", "src/console/server"],
  ["native/live", "native/live", "native/synthesis", "native/synthesis"],
  ["actors/live", "actors/live", "actors/synthesis", "actors/synthesis"],
  ["src/money", "src/money", "src/store", "src/store"],
  ["src/store/people", "src/store/people", "src/http", "src/http"],
  ["src/input/url", "src/input/url", "src/input/media", "src/input/media"],
  ["src/front/uws", "src/front/uws", "src/front/node", "src/front/node"],
  ["src/http", "src/http", "src/live", "src/live"],
  ["src/console/pages/ui", "src/console/pages", "src/console/server", "src/console/server"],
  ["src/cli", "src/cli", "src/service", "src/service"],
  ["src/service", "src/service", "bench/support", "bench"],
  ["bench/micro", "bench", "src/console/server", "src/console/server"],
];

/** Packages outside of their rooms: room, its folder, what is written, what the table calls it. */
const PACKAGES: readonly (readonly [folder: string, room: string, written: string, name: string])[] = [
  ["src/domain/text", "src/domain", "zod", "zod"],
  ["src/domain", "src/domain", "node:fs", "files"],
  ["src/ports", "src/ports", "http", "net"],
  ["src/http", "src/http", "postgres", "postgres"],
  ["src/live", "src/live", "uWebSockets.js/package.json", "uWebSockets.js"],
  ["src/player", "src/player", "preact/hooks", "preact"],
  ["src/client", "src/client", "node:worker_threads", "threads"],
  ["native/live", "native/live", "onnxruntime-node", "onnxruntime-node"],
  ["src/money", "src/money", "node:sqlite", "node:sqlite"],
  ["src/front/node", "src/front/node", "@msgpack/msgpack/x", "@msgpack/msgpack"],
  ["src/cli", "src/cli", "dauys/client", "dauys"],
  ["actors/kernel", "actors/kernel", "#inside", "#inside"],
];

/** Circles of files by the ways in which each imports the next. */
const CIRCLES: readonly (readonly [folder: string, ...ways: readonly string[]])[] = [
  ["src/domain/audio", 'import { a } from "TARGET";', 'import { a } from "TARGET";'],
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
  only("src/rumour/planted.ts", "", "its folder is no room of test/house/rooms.ts"),
  only("src/domain.ts", "", "its folder is no room of test/house/rooms.ts"),
  only("src/http/endpoints/deep/planted.ts", "", "its folder is no room of test/house/rooms.ts"),
  only("bench/deep/planted.ts", "", "its folder is no room of test/house/rooms.ts"),
  only("actors/residency/planted-broken.ts", "const = 1;", "does not parse"),
  only(
    "native/planted-entry.ts",
    'new URL("./live/gone.js", import.meta.url);',
    "imports native/live/gone.js, which is not there",
  ),
  only(
    "src/protocol/planted-computed.ts",
    "const a = import(name);",
    "imports something that only the run knows, and src/protocol may not import modules",
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
  const [from, fromRoom, to, toRoom] = ARROWS[index % ARROWS.length]!;
  const path = `${from}/planted-arrow-${index}.ts`;
  const target = `${to}/planted-target-${index}.ts`;
  const specifier = `${"../".repeat(from.split("/").length)}${target.replace(/ts$/, "js")}`;
  return {
    files: { [path]: way.replace("TARGET", specifier), [target]: "export const a = 1; export type A = 1;" },
    finding: `${path}: imports ${target}, and ${fromRoom} may not import ${toRoom}`,
  };
}

function foreign(index: number, way: string): Planted {
  const [folder, room, written, name] = PACKAGES[index % PACKAGES.length]!;
  const path = `${folder}/planted-package-${index}.ts`;
  return {
    files: { [path]: way.replace("TARGET", written) },
    finding: `${path}: imports ${written}, and ${room} may not import ${name}`,
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
