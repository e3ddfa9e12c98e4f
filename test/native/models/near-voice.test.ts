import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { loadVoiceActivity } from "../../../native/models/load-voice-activity.js";
import { NearVoice } from "../../../native/models/near-voice.js";
import { readNearVoice } from "../../../native/models/near-voice-package.js";
import type { SealedFolder } from "../../../native/models/package.js";
import { PUBLIC_RECOGNIZER } from "../../../native/models/public-recognizer-manifest.js";
import { StateRows } from "../../../native/models/state-rows.js";
import type { VoiceActivity } from "../../../native/models/voice-activity.js";
import { speech } from "../../support/audio.js";
import { changeManifest, copyOfPackage } from "../../support/folders.js";
import * as fc from "../../support/properties.js";

const FOLDER = "models/near-voice-v1";
const FRAME = 640;
const FRAMES = 90;
const ROWS = 4;
/** A package without voice activity detection. */
const NONE: SealedFolder = { folder: ".", manifest: { id: "none", files: {} } };
const GRAPH = { intraOpThreads: 1 };
let voice: VoiceActivity;

before(async () => {
  voice = await loadVoiceActivity(NONE, GRAPH);
});
after(() => voice.release());

/** The recording starts at a different place in each row. */
const RECORDING = toFloat(speech("asterisk-ru-core/conf-getconfno.flac"));
const AUDIO = Array.from({ length: ROWS }, (_, row) =>
  Float32Array.from({ length: FRAMES * FRAME }, (_, i) => RECORDING[(i + row * 9_001) % RECORDING.length]!),
);

/** Runs rows of the same length together, with these numbers of frames at a time. */
async function hear(rows: readonly Float32Array[], sizes: readonly number[]): Promise<number[][]> {
  const { rows: states } = new StateRows(voice, rows.length);
  const heard: number[][] = rows.map(() => []);
  const total = rows[0]!.length / FRAME;
  for (let start = 0, i = 0; start < total; i++) {
    const frames = Math.min(sizes[i % sizes.length]!, total - start);
    const pcm = new Float32Array(rows.length * frames * FRAME);
    for (const [row, audio] of rows.entries())
      pcm.set(audio.subarray(start * FRAME, (start + frames) * FRAME), row * frames * FRAME);
    const found = new Float32Array(rows.length * frames);
    await voice.hear({ frames, pcm, speech: found, states });
    for (const [row, all] of heard.entries()) all.push(...found.subarray(row * frames, (row + 1) * frames));
    start += frames;
  }
  return heard;
}

test("chunking and batching change no bit of a row", async () => {
  const alone: number[][] = [];
  for (const audio of AUDIO) alone.push((await hear([audio], [1]))[0]!);
  assert.ok(
    alone.some((row) => row.some((value) => value > 0.5)),
    "the recording is heard",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      fc.integer({ min: 1, max: ROWS }),
      async (sizes, rows) => {
        assert.deepEqual(await hear(AUDIO.slice(0, rows), sizes), alone.slice(0, rows));
      },
    ),
    { numRuns: 15 },
  );
});

test("a replay from contextFrames earlier is bit-identical", async () => {
  const [whole] = await hear([AUDIO[0]!], [FRAMES]);
  for (const start of [40, 53, 80]) {
    const from = start - voice.contextFrames;
    const [replayed] = await hear([AUDIO[0]!.subarray(from * FRAME)], [7]);
    assert.deepEqual(replayed!.slice(voice.contextFrames), whole!.slice(start));
  }
  assert.ok(PUBLIC_RECOGNIZER.contextFrames >= voice.contextFrames);
});

test("digital silence does not count as speech", async () => {
  const [found] = await hear([new Float32Array(20 * FRAME)], [20]);
  assert.ok(found!.every((value) => value < 0.5));
});

test("a package without voice activity gets the shipped one, regardless of its folder", () => {
  assert.ok(voice instanceof NearVoice);
  assert.equal(readNearVoice().manifest.id, "near-voice-v1");
});

test("a missing or damaged part is rejected with its file", async () => {
  const broken = (folder: string, pattern: RegExp) =>
    assert.rejects(
      loadVoiceActivity(NONE, GRAPH, () => readNearVoice(folder)),
      (error: unknown) => {
        assert.ok(error instanceof ServiceError, String(error));
        assert.equal(error.code, "MODEL_BROKEN");
        assert.match(error.message, pattern);
        return true;
      },
    );
  const folder = await copyOfPackage(FOLDER);
  const bytes = await readFile(join(folder, "near.onnx"));
  await writeFile(join(folder, "near.onnx"), bytes.subarray(0, -1));
  await broken(folder, /near-voice-v1: sha256 of .*near\.onnx must be/);
  await rm(join(folder, "near.onnx"));
  await broken(folder, /near-voice-v1: .*near\.onnx cannot be read/);
  await changeManifest(folder, (manifest) => ({ ...manifest, files: {} }));
  await broken(folder, /manifest\.json: files must list "near" with its path and sha256/);
  await rm(join(folder, "manifest.json"));
  await broken(folder, /Cannot use .*manifest\.json: /);
});
