import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type StubWire, startStubWire } from "../../../bench/support/stub-wire.js";
import { writeWav } from "../../../core/domain/audio/wav.js";
import type { BenchResult } from "../../../src/cli/bench/result.js";
import { tone } from "../../support/audio.js";
import { dauysInTurn, NO_SERVICE } from "../../support/command-process.js";
import { temporaryFolder } from "../../support/folders.js";
import type { Outcome } from "../../support/run-program.js";
import { type ServiceProcess, startServiceProcess } from "../../support/service-process.js";
import { dauys } from "../support.js";

const PROGRAM = fileURLToPath(new URL("../../../../bin/dauys.js", import.meta.url));
const KEY = "sk-svc-of-a-test";
const TEXT = "бір екі үш";
const MISSPELT = "бір екі төрт";
/** Long enough for one sentence per session. */
const SHORT = ["--minutes", "0.001"];

let stub: StubWire;
let service: ServiceProcess;
let clips: string;

before(async () => {
  clips = join(await temporaryFolder(), "clips");
  await mkdir(clips);
  await writeFile(join(clips, "tone.wav"), writeWav(tone(0.5, [440]), 16_000));
  await writeFile(join(clips, "tone.txt"), `${MISSPELT}\n`);
  stub = await startStubWire({ finalMs: 100, partialMs: 80 }, TEXT);
  service = await startServiceProcess();
});
after(async () => {
  await stub?.close();
  assert.equal(await service?.stop(), 0);
});

function benched(...args: readonly string[]): Promise<Outcome> {
  return dauys(["bench", stub.url, "--key", KEY, "--clips", clips, ...args]);
}

test("every sentence of every session gets a final, and its errors and credits are counted", async () => {
  const before = stub.sessions();
  const { code, stdout, stderr } = await benched("--sessions", "12", "--json", ...SHORT);
  assert.equal(code, 0, stderr);
  const result = JSON.parse(stdout) as BenchResult;
  const [level] = result.levels;
  assert.equal(stub.sessions() - before, 13, "12 sessions, and one ahead that is not measured");
  assert.deepEqual([level?.started, level?.failed, level?.missed, level?.sentences], [12, 0, 0, 12]);
  assert.equal(level?.metrics.final?.count, 12);
  assert.equal(level?.word_error_rate?.value, 1 / 3);
  // 0.52 s before, 0.5 s of tone and 1 s after, in whole messages: 2.04 s cost 13 credits.
  assert.deepEqual([level?.credits, result.credits, result.credits_estimated], [156, 169, 169]);
  assert.deepEqual([result.end, result.knee], ["complete", null]);
  assert.match(stderr, /^live over the dauys protocol: about 169 credits$/m);
});

test("the result is written as JSON and as a page, and compared with an older one", async () => {
  const folder = await temporaryFolder();
  const [first, second] = [join(folder, "first"), join(folder, "second.json")];
  assert.equal((await benched("--sessions", "2", "-o", first, ...SHORT)).code, 0);
  const page = await readFile(`${first}.html`, "utf8");
  assert.match(page, /<svg/);
  const compare = ["--compare", `${first}.json`, "-o", second];
  const { stdout, code } = await benched("--sessions", "2", ...compare, ...SHORT);
  assert.equal(code, 0);
  assert.match(stdout, /^2 {2}End of speech to final p50: .* -> .*: (better|worse|no clear difference)$/m);
  const again = await dauysInTurn(["bench", second, "--compare", `${first}.json`, "--json"]);
  const { differences } = JSON.parse(again.stdout) as { differences: unknown[] };
  assert.equal(differences.length, 12);
});

test("a budget ends the run before the session that would exceed it", async () => {
  const { code, stdout } = await benched("--sessions", "8", "--budget", "60", ...SHORT);
  assert.equal(code, 0);
  assert.match(stdout, /^8 sessions, \d+ s: 3 started, 0 failed/m);
  assert.match(stdout, /^Ended by --budget/m);
  assert.match(stdout, /^Credits: 52 \(estimated 117\)$/m);
});

test("Ctrl-C closes the sessions and keeps what was measured", async () => {
  const output = join(await temporaryFolder(), "cut");
  const args = ["bench", stub.url, "--key", KEY, "--clips", clips, "--minutes", "60", "--sessions", "2"];
  const env = { PATH: process.env["PATH"] ?? "", ...NO_SERVICE };
  const sessionsBefore = stub.sessions();
  const child = spawn(process.execPath, [PROGRAM, ...args, "-o", output], { env });
  // These are the warm-up session and both measured ones.
  while (stub.sessions() < sessionsBefore + 3) await stub.nextSession();
  await stub.nextFinal();
  child.kill("SIGINT");
  assert.deepEqual(await once(child, "close"), [130, null]);
  const result = JSON.parse(await readFile(`${output}.json`, "utf8")) as BenchResult;
  assert.equal(result.end, "interrupted");
  assert.deepEqual([result.levels[0]?.started, result.levels[0]?.failed], [2, 0]);
  assert.match(await readFile(`${output}.html`, "utf8"), /Interrupted/);
});

test("if the service rejects every session, the command fails with the reasons", async () => {
  let nth = 0;
  // Each body differs, as those with a request's id do.
  const body = () => JSON.stringify({ detail: `The key is\nunknown (${nth++})` });
  const server = createServer((_, response) => response.writeHead(401).end(body()));
  server.on("upgrade", (_, socket) => {
    const said = body();
    socket.end(`HTTP/1.1 401 Unauthorized\r\nContent-Length: ${said.length}\r\n\r\n${said}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const live = await dauys(["bench", url, "--key", KEY, "--sessions", "2", ...SHORT]);
  const requests = await dauys([
    "bench",
    url,
    "--key",
    KEY,
    "--scenario",
    "requests",
    "--rate",
    "100",
    ...SHORT,
  ]);
  server.close();
  for (const { code, stdout, stderr } of [live, requests]) {
    assert.equal(code, 1);
    assert.equal(
      stdout.match(/^ {2}failed: \d+ × HTTP 401: The key is unknown \(\d+\)$/gm)?.length,
      1,
      stdout,
    );
    assert.match(stderr, /^dauys: every session or request failed; the reasons are above$/m);
  }
});

test("a refusal whose body breaks off or never ends fails its session with the status", async () => {
  const head = "HTTP/1.1 503 Service Unavailable\r\nTransfer-Encoding: chunked\r\n\r\n";
  const part = `10000\r\n${"x".repeat(65_536)}\r\n`;
  const brokenOff = (socket: Duplex) => socket.write(head + part, () => socket.destroy());
  const endless = (socket: Duplex) => {
    const more = () => socket.write(part, () => socket.writable && more());
    socket.write(head, more);
  };
  for (const refuse of [brokenOff, endless]) {
    const server = createServer();
    server.on("upgrade", (_, socket) => {
      socket.on("error", () => socket.destroy());
      refuse(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stdout } = await dauys(["bench", url, "--key", KEY, "--sessions", "2", ...SHORT]);
    server.close();
    assert.equal(code, 1);
    assert.match(stdout, /^ {2}failed: \d+ × HTTP 503$/m);
  }
});

for (const wire of ["dauys", "openai", "deepgram"]) {
  test(`measures the service over the ${wire} protocol`, async () => {
    const of = async (...args: readonly string[]) => {
      const all = ["bench", service.url, "--key", service.key, "--wire", wire, "--json", ...SHORT, ...args];
      const { code, stdout, stderr } = await dauys([...all, "--language", "kk"]);
      assert.equal(code, 0, stderr + stdout);
      const result = JSON.parse(stdout) as BenchResult;
      assert.equal(result.levels[0]?.failed, 0, stdout);
      return { result, level: result.levels[0]! };
    };
    const live = await of("--sessions", "2");
    assert.deepEqual([live.level.sentences, live.level.missed], [2, 0]);
    assert.equal(live.level.metrics.final?.count, 2);
    assert.ok(live.level.word_error_rate !== null);
    const speech = await of("--scenario", "speech", "--rate", "1");
    assert.ok(speech.level.metrics.first_sound !== undefined);
    // "Сәлеметсіз бе!" has 14 code points.
    assert.equal(speech.level.credits, 6);
    const files = await of("--scenario", "files", "--rate", "1");
    assert.ok(files.level.metrics.speed !== undefined);
    assert.equal(files.level.credits, 5);
    const requests = await of("--scenario", "requests", "--rate", "1");
    assert.deepEqual([requests.level.metrics.response?.count, requests.result.credits], [1, 0]);
  });
}

const MISUSED: readonly [args: readonly string[], message: RegExp][] = [
  [["ftp://127.0.0.1"], /URL must be an http or https URL, received "ftp:\/\/127\.0\.0\.1"/],
  [["http://127.0.0.1:1", "x"], /expected one URL, received 2/],
  [["--scenario", "lives"], /--scenario must be one of live, speech, files, requests, received "lives"/],
  [["--wire", "google"], /--wire must be one of dauys, openai, deepgram, received "google"/],
  [["--sessions", "0"], /--sessions must be a whole number from 1 to 10000, received "0"/],
  [["--rate", "2"], /--rate has no effect on live sessions; use --sessions/],
  [["--scenario", "files", "--sessions", "2"], /--sessions has no effect on files; use --rate/],
  [["--minutes", "0"], /--minutes must be above 0 and at most 1440, received "0"/],
  [["--budget", "-1"], /--budget needs a value|--budget must be a whole number/],
  [["--language", "en"], /--language must be one of kk, ru, received "en"/],
];

for (const [args, message] of MISUSED) {
  test(`"dauys bench ${args.join(" ")}" is rejected before anything is sent`, async () => {
    const { code, stderr } = await dauysInTurn(["bench", ...args, "--key", KEY]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  });
}

test("reports a folder without recordings, and a file that is not a WAV", async () => {
  const empty = await temporaryFolder();
  const none = await dauysInTurn(["bench", stub.url, "--key", KEY, "--clips", empty]);
  assert.deepEqual([none.code, none.stderr], [1, `dauys: no WAV file in ${empty}\n`]);
  await writeFile(join(empty, "a.wav"), "text");
  const broken = await dauysInTurn(["bench", stub.url, "--key", KEY, "--clips", empty]);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /^dauys: .*a\.wav/);
});
