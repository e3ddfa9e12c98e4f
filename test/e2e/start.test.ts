import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { appendFile, mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../../bench/support/free-port.js";
import { eventually } from "../support/eventually.js";
import { startServiceProcess, TEST_KEY } from "../support/service-process.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** A quiet machine with 2 cores needs a tenth of this. The limit must not fail a gate on a shared machine. */
const DEADLINE_MS = 300_000;

/** Files that `npm start` compiles and reads. */
const COPIED = ["bin", "src", "actors", "native", "core", "scripts", "docs", "README.md", "package.json"];
const SETTINGS = ["package-lock.json", "tsconfig.json"];
/** The pages have been built before all tests. */
const PAGES = ["dist/console", "dist/docs"];
const LINKED = ["node_modules", "models"];

const NPM_START = ["npm", "start", "--silent"] as const;
const SERVICE = [process.execPath, "dist/src/main.js"] as const;

/** A copy of the checkout that is not compiled yet, because other tests run what `npm start` compiles. */
let checkout: string;

before(async () => {
  checkout = await mkdtemp(join(tmpdir(), "dauys-checkout-"));
  // The copy keeps file times, which determine what is compiled. Node's own copy function takes ten times as
  // long.
  const copied = [...COPIED, ...SETTINGS].map((name) => join(ROOT, name));
  const copy = (names: readonly string[], folder: string) =>
    promisify(execFile)("cp", ["-a", ...names, folder]);
  await copy(copied, checkout);
  await mkdir(join(checkout, "dist"));
  await copy(
    PAGES.map((name) => join(ROOT, name)),
    join(checkout, "dist"),
  );
  for (const name of LINKED) await symlink(join(ROOT, name), join(checkout, name));
});
after(() => rm(checkout, { recursive: true, force: true }));

interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  output(): string;
}

test("npm start compiles changes, prints a banner with key and commands, and ends with exit code 0", async (context) => {
  const dataDir = await mkdtemp(join(tmpdir(), "dauys-start-"));
  const port = await freePort();
  try {
    const startedAtMs = performance.now();
    const first = npmStart({ DATA_DIR: dataDir, PORT: String(port), DEV_API_KEY: TEST_KEY });
    await firstSpeech(port, first);
    const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
    context.diagnostic(`from npm start to the first synthesized byte: ${seconds} s`);
    const banner = first.output();
    assert.match(banner, new RegExp(`listens on http://127\\.0\\.0\\.1:${port}`));
    assert.ok(banner.includes(TEST_KEY), "the development key is shown");
    assert.match(banner, /^Front: \S+ \d+\.\d+\.\d+/m);
    assert.match(banner, /^Workers: \d+ live \(\w+\), \d+ synthesis .*; \d+ cores/m);
    for (const command of ["/v1/tts", "/v1/transcribe", "dauys listen"])
      assert.ok(banner.includes(command), command);
    first.child.kill("SIGTERM");
    assert.equal(await first.exited, 0);

    await appendFile(join(checkout, "src/main.ts"), "// Changed.\n");
    const removed = join(checkout, "dist/src/removed.js");
    await writeFile(removed, "// Its source is gone.\n");
    const compiled = await compiledAtMs();
    const second = npmStart({ DATA_DIR: dataDir, PORT: String(port), MODEL_PRELOAD: "false" });
    await firstSpeech(port, second);
    const [main, others] = await compiledAtMs();
    assert.ok(main > compiled[0], "src/main.ts is compiled again");
    assert.deepEqual(others, compiled[1], "others are not");
    assert.equal(existsSync(removed), false);
    second.child.kill("SIGTERM");
    assert.equal(await second.exited, 0);
    const address = `http://127.0.0.1:${port}`;
    for (const line of [`listens on ${address}`, `Console: ${address}/console`])
      assert.ok(second.output().includes(line), line);
    for (const output of [banner, second.output()]) {
      assert.match(output, /^Limits: svc-kk-ru-v2: It is inaccurate on real speech: .+ svc-kk-v1: .+$/m);
      assert.match(output, /^Understand people: npx dauys models add gigaam-multilingual && /m);
    }
    assert.ok(!second.output().includes(TEST_KEY), "the key is shown once");
  } finally {
    await endStarted();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test("a port in use gives one clear line and exit code 1 before anything is created or loaded", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dauys-start-"));
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const port = String((taken.address() as AddressInfo).port);
  try {
    const dataDir = join(folder, "data");
    const cases = [
      { settings: { PORT: port }, program: NPM_START },
      { settings: { PORT: "0", OPERATOR_PORT: port }, program: SERVICE },
    ] as const;
    for (const { settings, program } of cases) {
      const service = start(program, { DATA_DIR: dataDir, LOG_LEVEL: "info", ...settings });
      assert.equal(await service.exited, 1);
      assert.match(service.output(), /^dauys: cannot start: Cannot listen on [^\n]*\n$/);
      assert.match(service.output(), new RegExp(`127\\.0\\.0\\.1:${port}: another program listens there`));
      assert.equal(existsSync(dataDir), false);
    }
  } finally {
    taken.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("a silent service writes nothing", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "dauys-start-"));
  try {
    const settings = {
      DATA_DIR: dataDir,
      DEV_API_KEY: TEST_KEY,
      LOG_LEVEL: "silent",
      MODEL_PRELOAD: "false",
    };
    const service = await startServiceProcess(settings);
    assert.equal(await service.stop(), 0);
    assert.equal(service.output(), "");
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

/** The compilation times of src/main.ts and of files that the test does not change. */
async function compiledAtMs(): Promise<readonly [number, readonly number[]]> {
  const [main = 0, ...others] = await Promise.all(
    ["main", "service/process", "settings/settings"].map(
      async (name) => (await stat(join(checkout, "dist/src", `${name}.js`))).mtimeMs,
    ),
  );
  return [main, others];
}

const running = new Set<Started>();

/**
 * Ends the processes that a failed assertion left running. They would write into the folder while it is
 * removed.
 */
async function endStarted(): Promise<void> {
  for (const { child } of running) child.kill("SIGTERM");
  await Promise.all(Array.from(running, ({ exited }) => exited));
}

function npmStart(environment: Record<string, string>): Started {
  return start(NPM_START, environment);
}

/** Runs `npm start` in the copy of the checkout. */
function start(
  [command, ...args]: readonly [string, ...string[]],
  environment: Record<string, string>,
): Started {
  const child = spawn(command, args, {
    cwd: checkout,
    env: { ...process.env, HOST: "127.0.0.1", npm_config_loglevel: "silent", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const written: string[] = [];
  child.stdout.on("data", (bytes: Buffer) => written.push(bytes.toString()));
  child.stderr.on("data", (bytes: Buffer) => written.push(bytes.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const started = { child, exited, output: () => written.join("") };
  running.add(started);
  void exited.then(() => running.delete(started));
  return started;
}

/** Requests speech until the service is ready; settles with the first byte. */
async function firstSpeech(port: number, service: Started): Promise<void> {
  const speaks = async () => {
    assert.equal(service.child.exitCode, null, service.output());
    const answer = await fetch(`http://127.0.0.1:${port}/v1/tts`, {
      method: "POST",
      headers: { Authorization: `Bearer ${TEST_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify({ text: "Сәлем!", nfe: 8 }),
    }).catch(() => null);
    if (answer?.ok === true) {
      const { value } = await answer.body!.getReader().read();
      assert.ok(value!.length > 0);
      return true;
    }
    await answer?.body?.cancel();
    return false;
  };
  await eventually("speech", speaks, DEADLINE_MS);
}
