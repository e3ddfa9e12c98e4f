// Lists the compiled tests, what each of them imports, and the best order to run them in.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const compiled = join(root, "dist/test");

/**
 * The longest files, 150 s down to 20 s: they start first, so that no core is idle at the end. The bundles
 * and the files that take seconds run after them.
 */
const LONGEST_FIRST = `
  console/browser. e2e/node-versions console/browser-states gpu/ input/media/uploads-damaged e2e/cold-start e2e/service
  conformance/conformance
  e2e/idempotency input/media/uploads. e2e/several-models attack/floods fault/one-of-two-killed attack/speech
  attack/database input/media/file-decoder client/live-service-killed e2e/start attack/disk client/service
  front/shared/paced-reader client/packed fault/device-lost e2e/front-threads fault/live-workers-killed
  fault/keyed-retries e2e/store-away store/postgres/embedded-postgres docs/examples cli/terminal fault/service-crash
  front/connections domain/text/hostile-texts fault/ cli/bad-input patterns/ client/ cli/ store/ledger/ledger-model
  input/media/exact-samples bench/smoke attack/ e2e/
`
  .trim()
  .split(/\s+/);

/** Packages that a quick test must not import, even indirectly. */
const HEAVY_PACKAGES = [
  ...["node:child_process", "node:worker_threads", "node:cluster", "piscina", "onnxruntime-node"],
  ...["postgres", "playwright-core", "@biomejs/biome"],
];
/** Tests without heavy packages that take as long as all other quick tests together. */
const SLOW = ["patterns/", "domain/text/hostile-texts", "console/passwords"];

/** Quick tests of sources, documents, corpora and packages, whose results are the same on every Node. */
const OF_SOURCES = [
  ...["house/", "docs/", "protocol/one-list", "http/reference"],
  ...["domain/text/kazakh/corpora", "domain/text/redaction/corpora", "scripts/platforms"],
];

/**
 * Tests that are not quick but leave no state behind: each group shares a process, and so the modules that it
 * loads. A process start, the service's modules and onnxruntime cost 0.5 s each; users of `sharedService()`
 * also share the service.
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
  // Two more services, so that none of the three processes runs for long.
  protocols: [
    ...["client/live-speech", "e2e/agents", "e2e/audio-events", "e2e/channels", "e2e/deepgram"],
    ...["e2e/livekit", "e2e/realtime", "e2e/speech-format"],
  ],
  customers: [
    ...["cli/channels", "cli/jobs", "cli/speak-live", "docs/readable-examples"],
    ...["e2e/jobs.", "e2e/readable", "e2e/vocabulary"],
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
  // Three groups, because in one process all of them ran for 750 s on a very busy machine.
  searches: ["native/beam/", "native/live/"],
  natives: ["native/", "models/quantize", "service/batch-rows", "service/installed-models"],
  engines: [
    ...["actors/live/", "actors/synthesis/", "actors/transcription/", "actors/fleet/traces"],
    ...["live/audio-intake", "bench/people", "console/passwords"],
  ],
};
/** Groups whose files become one suite each. They are long, so they start after the first three files. */
const SUITES = ["service", "protocols", "customers", "stores", "commands", "searches", "natives", "engines"];
/** Imported first, so that the shared service outlives the first suite that imports it. */
const OF_ALL = join(compiled, "support/shared-service.js");
/** Files that inspect their process, or copy it. */
const ALONE = ["native/threads/niceness", "deploy/backup"];

/** Code that affects a whole process. Hooks do too, except inside a suite. */
const OF_PROCESS = /\bprocess\.(?:chdir|exit)|\bprocess\.env\[[^\]]+\] =|\bdelete process\.env/;
const HOOKS = /^(?:before|after|beforeEach|afterEach)\(/m;
const BEFORE_SUITES = 3;
/** Number of quick files in one process. */
const BUNDLED = 48;
/** Folder by version, because quick tests run under other versions of Node at the same time. */
const BUNDLES = join(compiled, ".bundles", process.version);

const IMPORT = /\b(?:from|import) {0,4}\(?"([^"]+)"/g;

/** Returns compiled tests, relative to the root, without leftovers of deleted sources. */
export function testFiles() {
  if (!existsSync(compiled)) return [];
  return readdirSync(compiled, { recursive: true })
    .filter((name) => name.endsWith(".test.js"))
    .filter((name) => existsSync(join(root, "test", name.replace(/\.js$/, ".ts"))))
    .sort((one, other) => placeOf(one) - placeOf(other) || (one < other ? -1 : 1))
    .map((name) => relative(root, join(compiled, name)));
}

/** Returns whether a test and its imports start no process, thread, model, database or browser. */
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

/** Returns whether a test runs code of the project, and does not only read it. */
export function runsCode(file) {
  return !isIn(OF_SOURCES, file);
}

/**
 * Replaces files that leave no state behind by bundles that import them: for most of them, a process costs
 * more than the tests. Other files keep their order.
 *
 * @returns {string[]} paths, relative to the root, that node:test runs in one process each
 */
export function inProcesses(files) {
  const textOf = (file) => readFileSync(join(root, file), "utf8");
  const shareable = files.filter((file) => !OF_PROCESS.test(textOf(file)));
  const hasHooks = (file) => HOOKS.test(textOf(file));
  const quick = shareable.filter((file) => isQuick(file) && !hasHooks(file));
  if (quick.length <= BUNDLED) return files;
  const grouped = new Set(quick);
  const groups = Object.entries(SHARING).map(([name, prefixes]) => {
    const ofGroup = shareable.filter(
      (file) => !grouped.has(file) && isIn(prefixes, file) && !isIn(ALONE, file),
    );
    const members = SUITES.includes(name) ? ofGroup : ofGroup.filter((file) => !hasHooks(file));
    for (const file of members) grouped.add(file);
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

/** Turns each file into a suite and imports it there. @throws for a file with a top-level await */
function suitesOf(files) {
  const awaiting = files.find((file) => TOP_LEVEL_AWAIT.test(readFileSync(join(root, file), "utf8")));
  if (awaiting !== undefined) {
    throw new Error(
      `${awaiting} awaits at its top level: its tests would be registered in another file's suite`,
    );
  }
  const suites = files.map((file) => {
    const name = relative("dist/test", file).replace(/\.test\.js$/, "");
    return `describe(${JSON.stringify(name)}, async () => void (await import(${JSON.stringify(join(root, file))})));\n`;
  });
  return [`import { describe } from "node:test";\n`, `import ${JSON.stringify(OF_ALL)};\n`, ...suites].join(
    "",
  );
}

function isIn(prefixes, file) {
  return prefixes.some((prefix) => file.startsWith(join("dist/test", prefix)));
}

function placeOf(name) {
  const place = LONGEST_FIRST.findIndex((start) => name.startsWith(start));
  return place === -1 ? LONGEST_FIRST.length : place;
}

const TOP_LEVEL_AWAIT = /^(?:(?:export )?(?:const|let) .{1,200}= )?await /m;

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
