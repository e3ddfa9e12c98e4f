import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CallProgress, clock, drawn } from "../../src/cli/progress.js";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { STUB_KEY } from "./service-stub.js";

const PROGRAM = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));
/** More than the buffers of a connection hold while nobody reads from it. */
const LARGE_BYTES = 20_000_000;
const COLOR = "\x1b[36m";
const plain = { columns: 100, hasColor: false };

test("progress shows share, sizes and time left of an upload, then elapsed time and share of the transcription", () => {
  let nowMs = 0;
  const progress = new CallProgress("talk.mp3", () => nowMs);
  assert.equal(drawn(progress.parts(), plain), "talk.mp3");
  progress.sent({ sentBytes: 0, totalBytes: 8_000_000 });
  nowMs = 2_000;
  progress.sent({ sentBytes: 2_000_000, totalBytes: 8_000_000 });
  assert.equal(
    drawn(progress.parts(), plain),
    "talk.mp3  uploading  [####------------]  25 %  0:06 left  2.0 of 8.0 MB",
  );
  assert.equal(progress.short(), "talk.mp3 25 %");
  progress.sent({ sentBytes: 8_000_000, totalBytes: 8_000_000 });
  nowMs += 65_000;
  assert.equal(drawn(progress.parts(), plain), "talk.mp3  transcribing, 1:05 so far");
  assert.equal(progress.short(), "talk.mp3 1:05");
  progress.transcribed(0.5);
  nowMs += 5_000;
  assert.equal(
    drawn(progress.parts(), plain),
    "talk.mp3  transcribing  [########--------]  50 %  1:10 so far",
  );
  assert.equal(progress.short(), "talk.mp3 50 %");
  // Retried from the start.
  progress.sent({ sentBytes: 500_000, totalBytes: 8_000_000 });
  assert.match(drawn(progress.parts(), plain), /uploading {2}\[#-{15}\] {2}6 % {2}0\.5 of 8\.0 MB$/);
  progress.sent({ sentBytes: 1_000_000, totalBytes: null });
  assert.equal(drawn(progress.parts(), plain), "talk.mp3  1.0 MB sent, 0:00 so far");
});

test("a line never wraps, even with control characters in names", () => {
  const style = { columns: 20, hasColor: true };
  assert.equal(drawn(["語語語語語語語語語語語語"], style), "語語語語語語語語語");
  assert.equal(drawn(["и\u0306".repeat(30)], style), "и\u0306".repeat(19));
  assert.equal(drawn(["a\x1b[2Jb\nc"], plain), "a?[2Jb?c");
  assert.equal(drawn(["aa", { share: 0.5 }, "bb"], style), `aa  [${COLOR}########\x1b[0m------`);
  assert.equal(clock(3_723_000), "1:02:03");
});

test("audio is never written to a terminal or read from one", async () => {
  for (const [line, rule] of [
    ["speak x -o -", /-o - would write audio to the terminal; use -o FILE\.wav/],
    ["transcribe -", /standard input is a terminal; specify a file/],
    ["listen -", /standard input is a terminal; specify a file/],
  ] as const) {
    const child = spawn("script", ["-qec", `"$NODE" "$PROGRAM" ${line}`, "/dev/null"], {
      env: { PATH: process.env["PATH"] ?? "", NODE: process.execPath, PROGRAM, DAUYS_API_KEY: STUB_KEY },
    });
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      shown += part;
    });
    const [code] = await once(child, "close");
    assert.match(shown, rule);
    assert.equal(code, line.startsWith("speak") ? 2 : 1);
  }
});

test("only a capable terminal without --quiet shows the bar, then the time", async (t) => {
  const folder = await temporaryFolder();
  const recording = join(folder, "ұзақ жазба.wav");
  await writeFile(recording, "");
  await truncate(recording, LARGE_BYTES);
  let reads = deferred<void>();
  let answers = deferred<void>();
  const server = createServer(async (request, response) => {
    await reads.promise;
    await once(request.resume(), "end");
    await answers.promise;
    response.end('{"text":"сәлем","audio_seconds":1,"credits_charged":3}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const result = join(folder, "result");
  const env = {
    ...{
      PATH: process.env["PATH"] ?? "",
      TERM: "xterm",
      NODE: process.execPath,
      PROGRAM,
      RECORDING: "ұзақ жазба.wav",
    },
    ...{ DAUYS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, DAUYS_API_KEY: STUB_KEY },
    RESULT: result,
  };
  /** Runs the command in its own terminal. Its result goes to a file. */
  const start = (more: string, other: Readonly<Record<string, string>> = {}) => {
    const line = `"$NODE" "$PROGRAM" transcribe "$RECORDING" ${more} > "$RESULT"`;
    const child = spawn("script", ["-qec", line, "/dev/null"], { cwd: folder, env: { ...env, ...other } });
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      shown += part;
    });
    const ended = once(child, "close").then(async ([code]) => {
      assert.equal(code, 0, shown);
      assert.equal(await readFile(result, "utf8"), "сәлем\n");
      return shown;
    });
    return { shown: () => shown, ended };
  };

  const colored = start("");
  await eventually("the bar stands still while nobody reads", () => colored.shown().includes(`[${COLOR}#`));
  assert.match(colored.shown(), /ұзақ жазба\.wav {2}uploading {2}\[/);
  // The remaining time appears only after a second.
  assert.match(colored.shown(), / \d+ % {2}(\d+:\d\d left {2})?\d\.\d of 20\.0 MB/);
  reads.resolve();
  await eventually("the service decodes", () => colored.shown().includes("transcribing, 0:0"));
  answers.resolve();
  const shown = await colored.ended;
  assert.doesNotMatch(shown, /transcribing[^\r]*%/);
  assert.ok(shown.endsWith("\r\x1b[K"), "the line is taken away");
  reads = deferred<void>();
  answers = deferred<void>();
  const uncolored = start("", { NO_COLOR: "1" });
  await eventually("the bar is there", () => uncolored.shown().includes("[#"));
  reads.resolve();
  answers.resolve();
  assert.ok(!(await uncolored.ended).includes(COLOR));
  assert.equal(await start("--quiet").ended, "");
  assert.equal(await start("", { TERM: "dumb" }).ended, "");
});
