import assert from "node:assert/strict";
import { test } from "node:test";
import { runProgram } from "../support/run-program.js";

const BENCH = "dist/bench/main.js";

test("the bench of families runs load, files, live sessions and speech", async () => {
  const { code, stdout, stderr } = await runProgram(BENCH, ["families", "--smoke"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /tiny-gigaam-ctc, whole utterances: .* loaded in .* with a peak of/);
  assert.match(stdout, /files: real-time factor \d/);
  assert.match(stdout, /live: \d+ and \d+ sessions within 1000 and 2000 ms/);
  assert.match(stdout, /speech: word, \d/);
});

test("the bench of int8 variants quantizes a package and compares it", async () => {
  const { code, stdout, stderr } = await runProgram(BENCH, ["quantized", "--smoke"]);
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).id, "tiny-nemo-streaming-ctc-int8");
});

test("the bench of rooms scores every part", async () => {
  const { code, stdout, stderr } = await runProgram(BENCH, ["rooms", "--smoke"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\| people \| quiet \| +\| 1 \| \d+ \/ \d+ \/ \d+ \| 0\.0 /);
  assert.match(stdout, /\| voices \| one voice \| 20 \|/);
  assert.match(stdout, /\| background alone /);
  assert.match(stdout, /\| voices: pauses with typing \| \d+ \|/);
});

test("the bench of protocols times every one", async () => {
  const { code, stdout, stderr } = await runProgram(BENCH, ["wires", "--smoke"]);
  assert.equal(code, 0, stderr);
  for (const wire of ["/v1/listen", "/v1/realtime", "/v2/listen", "POST /v1/speak", "/v1/audio/speech"])
    assert.match(stdout, new RegExp(`\\| ${wire} \\| [\\d.]+ / [\\d.]+ \\| -?[\\d.]+ / -?[\\d.]+ \\| 0 \\|`));
});
