// Which compiled tests there are, what each of them reaches, and in which order they run best.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const compiled = join(root, "dist/test");

/**
 * The files that take longest from begin to end, two and a half minutes down to twenty seconds: they begin, so that at its
 * end no core waits for the other. Then come the bundles, some of whose tests wait, and what takes seconds.
 */
const LONGEST_FIRST = `
  console/browser. e2e/node-versions console/browser-states gpu/ input/media/uploads-damaged e2e/cold-start e2e/service
  e2e/idempotency input/media/uploads. e2e/several-models attack/floods fault/one-of-two-killed attack/speech
  attack/database input/media/file-decoder client/live-service-killed e2e/start attack/disk client/service
  front/shared/paced-reader client/packed fault/device-lost e2e/front-threads fault/live-workers-killed
  fault/keyed-retries e2e/store-away store/postgres/embedded-postgres docs/examples cli/terminal fault/service-crash
  front/connections domain/text/hostile-texts fault/ cli/bad-input patterns/ client/ cli/ store/ledger/ledger-model
  input/media/exact-samples bench/smoke attack/ e2e/
`
  .trim()
  .split(/\s+/);

/** What a quick test has no part in, with anything that it imports: processes, threads, models, databases, browsers. */
const HEAVY_PACKAGES = [
  ...["node:child_process", "node:worker_threads", "node:cluster", "piscina", "onnxruntime-node"],
  ...["postgres", "playwright-core", "@biomejs/biome"],
];
/** Light, and as long as all the others together. */
const SLOW = ["patterns/", "domain/text/hostile-texts", "console/passwords"];

/** Quick tests that judge sources, documents, corpora and packages: what they find is the same on every Node. */
const OF_SOURCES = [
  ...["house/", "docs/", "protocol/one-list", "http/reference"],
  ...["domain/text/kazakh/corpora", "domain/text/redaction/corpora", "scripts/platforms"],
];

/**
 * Not quick, and yet they leave nothing behind: those of a row share a process, and with it what they load. A start, the
 * service's modules and the models' runtime cost each of them half a second; those that ask `sharedService()` share that too.
 */
const SHARING = {
  service: [
    ...[
      "client/browser",
      "client/service",
      "docs/examples",
      "e2e/clients",
      "e2e/decimals",
      "e2e/listen",
      "e2e/live-partials",
    ],
    ...["e2e/service.", "e2e/speech-marks", "e2e/word-times", "cli/recordings"],
  ],
  stores: [
    ...["store/ledger/idempotency", "store/ledger/usage", "store/store.", "store/several"],
    ...[
      "store/postgres/lost",
      "store/postgres/driver",
      "http/",
      "console/api",
      "service/conversations",
      "input/url",
    ],
  ],
  commands: ["cli/bad-input", "cli/help", "cli/models", "cli/operators", "cli/service-", "cli/several"],
  documents: ["docs/", "deploy/", "settings/in-use", "models/catalogue", "models/defaults"],
  natives: [
    ...["native/", "models/quantize", "live/audio-intake", "service/batch-rows", "service/installed-models"],
    ...["actors/live/", "actors/synthesis/", "actors/transcription/", "actors/fleet/traces"],
    ...["bench/people", "console/passwords"],
  ],
};
/** Rows whose files are a suite each. Together they take as long as the longest files do: they begin behind the first three. */
const SUITES = ["service", "stores", "commands", "natives"];
/** What the files of a row have in common is theirs together, and not that of the first to import it. */
const OF_ALL = join(compiled, "support/shared-service.js");
/** These look at their process, or make copies of it. */
const ALONE = ["native/threads/niceness", "deploy/backup"];

/** What holds for a whole process, and so do hooks, except in a row of suites: there they are those of their file. */
const OF_PROCESS = /\bprocess\.(?:chdir|exit)|\bprocess\.env\[[^\]]+\] =|\bdelete process\.env/;
const HOOKS = /^(?:before|after|beforeEach|afterEach)\(/m;
const BEFORE_SUITES = 3;
/** Files that share a process. */
const BUNDLED = 48;
/** By version: the quick half runs under others of Node while the whole runs under this one. */
const BUNDLES = join(compiled, ".bundles", process.version);

const IMPORT = /\b(?:from|import) {0,4}\(?"([^"]+)"/g;

/** Paths from the root of compiled tests whose source is still there: the compiler leaves the output of deleted files. */
export function testFiles() {
  if (!existsSync(compiled)) return [];
  return readdirSync(compiled, { recursive: true })
    .filter((name) => name.endsWith(".test.js"))
    .filter((name) => existsSync(join(root, "test", name.replace(/\.js$/, ".ts"))))
    .sort((one, other) => placeOf(one) - placeOf(other) || (one < other ? -1 : 1))
    .map((name) => relative(root, join(compiled, name)));
}

/** Whether a test, with all that it imports, starts no process, no thread, no model, no database and no browser. */
export function isQuick(file) {
  if (isIn(SLOW, file)) return false;
  const seen = new Set();
  const isLight = (path) => {
    if (seen.has(path)) return true;
    seen.add(path);
    return importsOf(path).every((name) =>
      name.startsWith(".") ? isLight(join(dirname(path), name)) : !HEAVY_PACKAGES.includes(name),
    );
  };
  return isLight(join(root, file));
}

/** Whether a test runs code of the project, and does not only read it. */
export function runsCode(file) {
  return !isIn(OF_SOURCES, file);
}

/**
 * Puts files that leave nothing behind into bundles that import them: a process of its own costs most of them more than
 * their tests. What the others are stays, in its order.
 * @returns {string[]} paths from the root of what node:test runs, a process each
 */
export function inProcesses(files) {
  const textOf = (file) => readFileSync(join(root, file), "utf8");
  const shareable = files.filter((file) => !OF_PROCESS.test(textOf(file)));
  const hasHooks = (file) => HOOKS.test(textOf(file));
  const quick = shareable.filter((file) => isQuick(file) && !hasHooks(file));
  if (quick.length <= BUNDLED) return files;
  const rowed = new Set(quick);
  const groups = Object.entries(SHARING).map(([name, rooms]) => {
    const ofRow = shareable.filter((file) => !rowed.has(file) && isIn(rooms, file) && !isIn(ALONE, file));
    const members = SUITES.includes(name) ? ofRow : ofRow.filter((file) => !hasHooks(file));
    for (const file of members) rowed.add(file);
    return { name, members };
  });
  for (let at = 0; at < quick.length; at += BUNDLED)
    groups.push({ name: `${at / BUNDLED + 1}`, members: quick.slice(at, at + BUNDLED) });
  const shared = groups.filter(({ members }) => members.length > 1);
  rmSync(BUNDLES, { recursive: true, force: true });
  mkdirSync(BUNDLES, { recursive: true });
  const bundles = shared.map(({ name, members }) => {
    const bundle = join(BUNDLES, `${name}.mjs`);
    writeFileSync(bundle, SUITES.includes(name) ? suitesOf(members) : importsOfAll(members));
    return relative(root, bundle);
  });
  const bundled = new Set(shared.flatMap(({ members }) => members));
  const others = files.filter((file) => !bundled.has(file));
  const isLong = (file) => placeOf(relative(compiled, join(root, file))) < LONGEST_FIRST.length;
  const isOfSuites = (bundle) => SUITES.some((name) => bundle.endsWith(`/${name}.mjs`));
  const [long, rest] = [others.filter(isLong), others.filter((file) => !isLong(file))];
  return [
    ...long.slice(0, BEFORE_SUITES),
    ...bundles.filter(isOfSuites),
    ...long.slice(BEFORE_SUITES),
    ...bundles.filter((bundle) => !isOfSuites(bundle)),
    ...rest,
  ];
}

function importsOfAll(files) {
  return files.map((file) => `import ${JSON.stringify(join(root, file))};\n`).join("");
}

/** Each file is a suite: what it imports and declares happens inside. */
function suitesOf(files) {
  const suites = files.map((file) => {
    const name = relative("dist/test", file).replace(/\.test\.js$/, "");
    return `describe(${JSON.stringify(name)}, async () => void (await import(${JSON.stringify(join(root, file))})));\n`;
  });
  return [`import { describe } from "node:test";\n`, `import ${JSON.stringify(OF_ALL)};\n`, ...suites].join(
    "",
  );
}

function isIn(rooms, file) {
  return rooms.some((room) => file.startsWith(join("dist/test", room)));
}

function placeOf(name) {
  const place = LONGEST_FIRST.findIndex((start) => name.startsWith(start));
  return place === -1 ? LONGEST_FIRST.length : place;
}

const known = new Map();
function importsOf(path) {
  const found = known.get(path) ?? readImports(path);
  known.set(path, found);
  return found;
}

function readImports(path) {
  if (!path.endsWith(".js") || !existsSync(path)) return [];
  return [...readFileSync(path, "utf8").matchAll(IMPORT)].map(([, name]) => name);
}
