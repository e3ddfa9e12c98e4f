import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import { startFilePool } from "../../../native/file-pool.js";
import { recognizerFamilyOf } from "../../../native/models/families.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../../native/models/manifest.js";
import type { RecognizerModel } from "../../../native/models/recognizer.js";
import { copyState } from "../../../native/models/state-rows.js";
import { startLiveWorker } from "../../../native/start-workers.js";
import { joined, silence, speech, wavOf } from "../../support/audio.js";
import { liveEngine, transcriptionEngine } from "../../support/engines.js";
import { temporaryFolder, tinyWithNearVoice } from "../../support/folders.js";
import { LiveListener } from "../../support/live-listener.js";
import { TINY_RECOGNIZERS } from "../../support/tiny-packages.js";

const NEVER = new AbortController().signal;
const ID = "tiny-gigaam-ctc";
const FRAME = 640;
/** Two recordings between silences. */
const SPOKEN = [
  speech("kazakh-speech-commands/example_1.flac"),
  speech("asterisk-ru-core/conf-getconfno.flac"),
];
const AUDIO = joined(silence(0.6), ...SPOKEN.flatMap((spoken) => [spoken, silence(1.2)]));
let folder: string;

before(async () => {
  folder = await tinyWithNearVoice(ID);
});

test("a public recogniser without a voice activity graph finds the utterances of a file", async () => {
  const pool = startFilePool({ modelFolder: folder, intraOpThreads: 1, workerCount: 2 });
  const engine = transcriptionEngine(pool, { modelId: ID, forgets: true });
  await engine.start();
  try {
    const path = join(await temporaryFolder(), "spoken.wav");
    await writeFile(path, wavOf(AUDIO, 16_000, 1));
    const { segments } = await engine.transcribe(path, NEVER);
    assert.deepEqual(sentencesOf(segments), [0, 1]);
  } finally {
    await engine.stop();
  }
});

test("a public recogniser without a voice activity graph finds the utterances of a live session", async () => {
  const engine = await liveEngine({
    startWorker: (cells, onMessage) =>
      startLiveWorker({ modelFolder: folder, intraOpThreads: 1 }, cells, onMessage),
  });
  await engine.start();
  try {
    const listener = new LiveListener(engine);
    const pieces = Array.from({ length: Math.ceil(AUDIO.length / 1_000) }, (_, i) =>
      AUDIO.subarray(i * 1_000, (i + 1) * 1_000),
    );
    await listener.writeAll(pieces);
    await listener.finish();
    assert.deepEqual(sentencesOf(listener.finals), [0, 1]);
  } finally {
    await engine.stop();
  }
});

for (const { id } of TINY_RECOGNIZERS) {
  test(`${id} without that graph gives the same bits in batches, and after a replay of its context`, async () => {
    const model = await load(await tinyWithNearVoice(id));
    const { contextFrames } = model.manifest;
    const pcm = toFloat(AUDIO);
    const frames = Math.floor(pcm.length / FRAME);
    const whole = await hear(model, pcm, frames);
    assert.ok(whole.some((value) => value > 0.5) && whole.some((value) => value < 0.5));
    assert.deepEqual(await hear(model, pcm, 3), whole.slice(0, frames - (frames % 3)));
    const batch = model.stepBatch(2, 60);
    batch.pcm.set(pcm.subarray(20 * FRAME, 80 * FRAME), 60 * FRAME);
    await batch.run();
    assert.deepEqual([...batch.speech.subarray(60 + contextFrames)], whole.slice(20 + contextFrames, 80));
    await model.release();
  });
}

async function load(from: string): Promise<RecognizerModel> {
  const model = await readPackage<RecognizerManifest>(from, "transcription");
  return recognizerFamilyOf(model.manifest).load(model, { intraOpThreads: 1 });
}

/** Computes voice activity, this many frames at a time. */
async function hear(model: RecognizerModel, pcm: Float32Array, frames: number): Promise<number[]> {
  const batch = model.speechBatch(1, frames);
  const heard: number[] = [];
  for (let start = 0; start + frames * FRAME <= pcm.length; start += frames * FRAME) {
    batch.pcm.set(pcm.subarray(start, start + frames * FRAME));
    await batch.run();
    copyState(batch.nextState, batch.state);
    heard.push(...batch.speech);
  }
  return heard;
}

/** Assigns utterances to recordings; a recording with a pause inside may have several. */
function sentencesOf(utterances: readonly { readonly words: readonly { readonly start: number }[] }[]) {
  const pauseSeconds = 0.6 + SPOKEN[0]!.length / 16_000 + 0.6;
  return [...new Set(utterances.map(({ words }) => (words[0]!.start < pauseSeconds ? 0 : 1)))];
}
