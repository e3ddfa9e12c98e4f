// GigaAM's word error nearly doubles on telephone audio that was resampled in floats and not rounded to 16
// bits.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { FilePool } from "../../../actors/transcription/file-queue.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import { StreamedPcm } from "../../../core/domain/audio/streamed-pcm.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import { UtteranceDecoder } from "../../../native/recognition/utterance-decoder.js";
import { performTask } from "../../../native/transcription/perform.js";
import { joined, silence, tone } from "../../support/audio.js";
import { transcriptionEngine } from "../../support/engines.js";
import { temporaryFolder } from "../../support/folders.js";

const PACKAGE = "test/fixtures/adapters/tiny-gigaam-ctc";
const TELEPHONE_HZ = 8_000;
const AUDIO = joined(
  silence(0.4, TELEPHONE_HZ),
  tone(1.2, [310, 770], TELEPHONE_HZ),
  silence(0.6, TELEPHONE_HZ),
);

/** A WAVE file with single-precision samples. */
function floatWav(samples: Float32Array, rateHz: number): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + samples.byteLength, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(3, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rateHz, 24);
  header.writeUInt32LE(rateHz * 4, 28);
  header.writeUInt16LE(4, 32);
  header.writeUInt16LE(32, 34);
  header.write("data", 36);
  header.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([header, Buffer.from(samples.buffer)]);
}

function isOf16Bits(samples: Float32Array): boolean {
  return samples.every((sample) => Number.isInteger(sample * 32_768));
}

test("features of a file are computed from samples rounded to 16 bits", async () => {
  const folder = await temporaryFolder();
  const wavPath = join(folder, "telephone.wav");
  await writeFile(
    wavPath,
    floatWav(
      toFloat(AUDIO).map((sample) => sample * 0.3333),
      TELEPHONE_HZ,
    ),
  );
  const { model } = await recognizerIn(PACKAGE);
  const read: Float32Array[] = [];
  const heard: Float32Array[] = [];
  const listening = Object.create(model, {
    decodeUtterance: {
      value: (pcm: Float32Array) => {
        read.push(pcm);
        return model.decodeUtterance(pcm);
      },
    },
    speechBatch: {
      value: (rows: number, frames: number) => {
        const batch = model.speechBatch(rows, frames);
        heard.push(batch.pcm);
        return batch;
      },
    },
  }) as typeof model;
  const utterances = new UtteranceDecoder(
    listening,
    new PrefixBeamSearch(model.vocabulary, null, model.manifest.decoding),
  );
  const run: FilePool["run"] = async (task) => {
    return { ok: true, value: await performTask(task, { model: listening, utterances }) };
  };
  const pool = { workerCount: 1, run, close: async () => {} };
  const engine = transcriptionEngine(pool, { modelId: model.manifest.id, forgets: false });
  await engine.transcribe(wavPath, new AbortController().signal);
  assert.equal(read.length, 1);
  for (const samples of [...read, ...heard]) assert.ok(isOf16Bits(samples));
  for (const [whose] of [read, heard]) assert.ok(whose!.some((sample) => sample !== 0));
  await model.release();
});

test("telephone audio of a live session is resampled to samples of 16 bits", () => {
  const stream = new StreamedPcm("linear16", TELEPHONE_HZ, 16_000);
  const bytes = new Uint8Array(AUDIO.buffer);
  const pcm = joined(
    stream.push(bytes.subarray(0, 7_001)),
    stream.push(bytes.subarray(7_001)),
    stream.flush(),
  );
  assert.equal(pcm.length, 2 * AUDIO.length);
  assert.ok(pcm instanceof Int16Array && isOf16Bits(toFloat(pcm)));
});
