import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { TranscriptionEngine } from "../../../actors/transcription/engine.js";
import type { FilePool } from "../../../actors/transcription/file-queue.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { FileAnswer } from "../../../native/threads/protocol.js";
import { joined, silence, speech, tone, wavOf } from "../../support/audio.js";
import { filePool, transcriptionEngine } from "../../support/engines.js";
import { temporaryFolder } from "../../support/folders.js";

const RECORDING = "kazakh-speech-commands/example_1.flac";
const NEVER = new AbortController().signal;

let folder: string;
let pool: FilePool;
let engine: TranscriptionEngine;

before(async () => {
  folder = await temporaryFolder();
  pool = filePool();
  engine = transcriptionEngine(pool);
  await engine.start();
});

after(() => engine.stop());

let nextFile = 0;
async function fileOf(bytes: Uint8Array): Promise<string> {
  const path = join(folder, `${nextFile++}.wav`);
  await writeFile(path, bytes);
  return path;
}

/** Writes a WAV file of speech with pauses. */
function wavFile(rateHz: number, channels: number, ...parts: readonly Int16Array[]): Promise<string> {
  return fileOf(wavOf(joined(...parts), rateHz, channels));
}

function refused(code: string, pattern = /./): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, pattern);
    return true;
  };
}

test("word times do not depend on sample rate or on a second, equal channel", async () => {
  const at = async (rateHz: number, channels: number) => {
    const pcm = joined(silence(0.5, rateHz), speech(RECORDING, rateHz), silence(0.5, rateHz));
    const transcript = await engine.transcribe(await fileOf(wavOf(pcm, rateHz, channels)), NEVER);
    assert.equal(transcript.sampleCountIn, pcm.length);
    assert.equal(transcript.sampleRateInHz, rateHz);
    assert.equal(transcript.modelId, "svc-kk-ru-v2");
    return transcript;
  };
  const expected = await at(16_000, 1);
  assert.ok(expected.segments.length > 0);
  assert.deepEqual((await at(16_000, 2)).segments, expected.segments);
  for (const [rateHz, channels] of [
    [8_000, 1],
    [44_100, 2],
    [48_000, 1],
  ] as const) {
    const transcript = await at(rateHz, channels);
    // Audio at 8 kHz lacks half of the band and resampling is not exact, so words may differ, but not the
    // position of speech.
    assert.ok(transcript.segments.length > 0);
    const shiftSeconds = transcript.segments[0]!.startSeconds - expected.segments[0]!.startSeconds;
    assert.ok(Math.abs(shiftSeconds) < 0.5, `${rateHz} Hz begins ${shiftSeconds} s later`);
  }
});

test("pieces are cut at pauses, with times relative to the whole file", async () => {
  const recording = speech(RECORDING);
  const alone = await engine.transcribe(await wavFile(16_000, 1, recording, silence(2)), NEVER);
  const gapSeconds = 3;
  const offsetSeconds = recording.length / 16_000 + gapSeconds;
  const twice = await engine.transcribe(
    await wavFile(16_000, 1, recording, silence(gapSeconds), recording, silence(2)),
    NEVER,
  );
  assert.equal(twice.segments.length, 2 * alone.segments.length);
  let lastEnd = 0;
  for (const { text, startSeconds, endSeconds, words } of twice.segments) {
    assert.ok(
      startSeconds >= lastEnd && endSeconds >= startSeconds,
      `${lastEnd} ${startSeconds} ${endSeconds}`,
    );
    lastEnd = endSeconds;
    assert.equal(words.map(({ word }) => word).join(" "), text);
    assert.deepEqual([words[0]?.start, words.at(-1)?.end], [startSeconds, endSeconds]);
  }
  const [first, again] = [twice.segments[0]!, twice.segments[alone.segments.length]!];
  assert.ok(first.endSeconds < recording.length / 16_000 + 0.5);
  // The second copy has different frame boundaries, so speech may be detected a few frames later.
  assert.ok(Math.abs(again.startSeconds - first.startSeconds - offsetSeconds) < 0.5);
});

test("a file of silence and one of a tone have no segments", async () => {
  for (const pcm of [silence(3), joined(silence(0.5), tone(2, [425]), silence(0.5))]) {
    const transcript = await engine.transcribe(await wavFile(16_000, 1, pcm), NEVER);
    assert.deepEqual(transcript.segments, []);
    assert.equal(transcript.sampleCountIn, pcm.length);
  }
});

test("rejects less than 0.1 s of audio", async () => {
  const shortest = await engine.transcribe(await wavFile(8_000, 1, silence(0.1, 8_000)), NEVER);
  assert.equal(shortest.sampleCountIn, 800);
  const shorter = await wavFile(8_000, 1, new Int16Array(799));
  await assert.rejects(engine.transcribe(shorter, NEVER), refused("AUDIO_TOO_SHORT", /at least 0\.1 s/));
});

test("audio beyond the limit is rejected with its actual length", async () => {
  const strict = transcriptionEngine(pool, { maxSeconds: 2 });
  await strict.transcribe(await wavFile(16_000, 1, silence(2)), NEVER);
  const longer = await wavFile(16_000, 1, silence(2), new Int16Array(1));
  await assert.rejects(strict.transcribe(longer, NEVER), refused("AUDIO_TOO_LONG", /at most/));
});

const BROKEN: readonly (readonly [string, Uint8Array, string])[] = [
  ["an empty file", new Uint8Array(0), "AUDIO_UNREADABLE"],
  ["a file of another kind", Buffer.from("OggS, or so it says, and goes on for a while"), "AUDIO_UNREADABLE"],
  ["a header that was cut short", wavOf(silence(1), 16_000, 1).subarray(0, 30), "AUDIO_UNREADABLE"],
  ["a header without any samples", wavOf(silence(0), 16_000, 1), "AUDIO_TOO_SHORT"],
];
for (const [name, bytes, code] of BROKEN) {
  test(`${name} is rejected`, async () => {
    await assert.rejects(engine.transcribe(await fileOf(bytes), NEVER), refused(code));
  });
}

test("a file shorter than its header says is transcribed to its end", async () => {
  const whole = wavOf(joined(silence(0.5), speech(RECORDING)), 16_000, 1);
  const transcript = await engine.transcribe(await fileOf(whole.subarray(0, 44 + 3 * 32_000)), NEVER);
  assert.equal(transcript.sampleCountIn, 3 * 16_000);
  assert.ok(transcript.segments.every(({ endSeconds }) => endSeconds <= 3));
});

test("a transcription that was cancelled before it began is rejected", async () => {
  const path = await wavFile(16_000, 1, speech(RECORDING));
  await assert.rejects(engine.transcribe(path, AbortSignal.abort()), refused("CANCELLED"));
});

test("a transcription that is cancelled ends early, and the worker takes the next one", async () => {
  const recording = speech(RECORDING);
  const minute = await wavFile(16_000, 1, ...Array<Int16Array>(10).fill(joined(recording, silence(1))));
  const abort = new AbortController();
  // Nothing has been decoded by then.
  const work = engine.transcribe(minute, abort.signal, { onLength: async () => abort.abort() });
  const cancelled = assert.rejects(work, refused("CANCELLED"));
  const next = engine.transcribe(await wavFile(16_000, 1, silence(0.5)), NEVER);
  await cancelled;
  assert.deepEqual((await next).segments, []);
});

test("a started engine has warmed up every worker", async () => {
  const two = filePool(2);
  const threads = new Set<unknown>();
  const run: FilePool["run"] = async (task) => {
    const answer = (await two.run(task)) as FileAnswer<unknown>;
    if (answer.ok) threads.add(answer.value);
    return answer;
  };
  const started = transcriptionEngine({ workerCount: 2, run, close: () => two.close() });
  await started.start();
  assert.equal(threads.size, 2);
  await started.stop();
});

test("a worker that cannot load its model fails the start without blocking others", async () => {
  const two = filePool(2);
  const broken: FileAnswer<never> = { ok: false, code: "MODEL_BROKEN", message: "another hash" };
  let runs = 0;
  const run: FilePool["run"] = async (task) => (++runs === 2 ? broken : two.run(task));
  const failing = transcriptionEngine({ workerCount: 2, run, close: () => two.close() });
  await assert.rejects(failing.start(), refused("MODEL_BROKEN"));
  // This waits for the other worker's task.
  await failing.stop();
});

test("concurrent transcriptions do not mix", async () => {
  const [kazakh, russian] = [speech(RECORDING), speech("asterisk-ru-core/conf-getconfno.flac")];
  const paths = await Promise.all([wavFile(16_000, 1, kazakh), wavFile(16_000, 1, russian)]);
  const alone = [await engine.transcribe(paths[0]!, NEVER), await engine.transcribe(paths[1]!, NEVER)];
  assert.deepEqual(await Promise.all(paths.map((path) => engine.transcribe(path, NEVER))), alone);
});
