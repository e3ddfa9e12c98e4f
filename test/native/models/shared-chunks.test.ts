// Large streaming graphs read their weights from memory in each run, so sessions that share runs cost half as
// much. What one session says must not change what another one reads.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { recognizerFamilyOf } from "../../../native/models/families.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../../native/models/manifest.js";
import type { RecognizerModel } from "../../../native/models/recognizer.js";
import { type ChunkBeside, copySpan, type Reading } from "../../../native/models/utterance-reader.js";
import { quantizePackage } from "../../../src/models/quantize.js";
import { temporaryFolder } from "../../support/folders.js";

const T_ONE = "test/fixtures/adapters/tiny-t-one-ctc";
const MOST_CHUNKS = 8;
const CHUNK_SAMPLES = 4_800;

async function load(folder: string): Promise<RecognizerModel> {
  const model = await readPackage<RecognizerManifest>(folder, "transcription");
  return recognizerFamilyOf(model.manifest).load(model, { intraOpThreads: 1 });
}

/** Different sounds, 1.5 s and longer. */
function utterance(nth: number): Float32Array {
  return Float32Array.from(
    { length: 24_000 + 1_000 * nth },
    (_, i) => 0.3 * Math.sin((nth + 1) * i * i * 1e-6 + 3 * Math.sin(i / (1_000 + 300 * nth))),
  );
}

/** Reads the first chunks of an utterance, each in a separate run. */
async function begun(model: RecognizerModel, pcm: Float32Array, chunks: number): Promise<Reading> {
  const reader = model.reader!;
  const reading = reader.begin();
  for (let chunk = 0; chunk < chunks; chunk++) {
    await reader.read(reading, copySpan(pcm, reader.next(reading)));
  }
  return reading;
}

function rowsOf(model: RecognizerModel, { rows, rowCount }: Reading): Float32Array {
  return rows.slice(0, rowCount * model.vocabulary.length);
}

test("chunks have the same bits in a run of any size, and so do the chunks after them", async () => {
  const model = await load(T_ONE);
  const reader = model.reader!;
  assert.equal(reader.chunksPerRun, MOST_CHUNKS);
  const pcms = Array.from({ length: MOST_CHUNKS }, (_, nth) => utterance(nth));
  const alone: Float32Array[] = [];
  for (const pcm of pcms) alone.push(rowsOf(model, await begun(model, pcm, 4)));
  for (let count = 1; count <= MOST_CHUNKS; count++) {
    // The last ones first, so that each utterance has several places.
    const readings = pcms.slice(-count).map(() => reader.begin());
    for (let chunk = 0; chunk < 4; chunk++) {
      const parts = readings.map((reading, i) => copySpan(pcms.slice(-count)[i]!, reader.next(reading)));
      const read = await reader.readTogether(readings, parts);
      assert.deepEqual(
        read.map(({ frames }) => frames),
        readings.map(() => 10),
      );
    }
    assert.deepEqual(
      readings.map((reading) => rowsOf(model, reading)),
      alone.slice(-count),
    );
  }
  await model.release();
});

test("second passes share runs, and lend their room to a spoken utterance, without changing a bit", async () => {
  const model = await load(T_ONE);
  const pcms = [0, 1, 2].map((nth) => utterance(3 * nth));
  const alone = [];
  for (const pcm of pcms) alone.push(...(await model.refine([pcm], [await begun(model, pcm, 2)])));
  const readings = [];
  for (const pcm of pcms) readings.push(await begun(model, pcm, 2));
  assert.deepEqual(await model.refine(pcms, readings), alone);

  const spoken = utterance(5);
  const expected = rowsOf(model, await begun(model, spoken, 4));
  const other = model.reader!.begin();
  const asked: number[] = [];
  let told = 0;
  const beside = {
    take: (count: number): ChunkBeside[] => {
      asked.push(count);
      if (count < 1 || other.rowCount === 40) return [];
      const pcm = copySpan(spoken, model.reader!.next(other));
      return [{ reading: other, pcm, onRead: ({ frames }) => (told += frames) }];
    },
  };
  const [first] = pcms;
  assert.deepEqual(await model.refine([first!], [readings[0]!], beside), alone.slice(0, 1));
  // Two chunks of 1.5 s were read, so three are left and one of silence.
  assert.deepEqual(asked, [1, 1, 1, 1]);
  assert.equal(told, 40);
  assert.deepEqual(rowsOf(model, other), expected);

  asked.length = 0;
  await model.refine(pcms, readings, beside);
  const left = pcms.map(({ length }) => Math.ceil((length + CHUNK_SAMPLES) / CHUNK_SAMPLES) - 2);
  const rooms = Array.from({ length: Math.max(...left) }, (_, run) => {
    return 2 - left.filter((chunks) => chunks > run).length;
  });
  assert.deepEqual(asked, rooms, "room in each run, none if it is negative");
  await model.release();
});

test("a graph whose rows depend on each other reads one chunk at a time", async () => {
  const folder = join(await temporaryFolder(), "int8");
  // Its inputs are quantized with one scale for the whole run.
  await quantizePackage(T_ONE, folder);
  const model = await load(folder);
  assert.equal(model.reader!.chunksPerRun, 1);
  const pcms = [utterance(0), utterance(4)];
  const wholes = [];
  for (const pcm of pcms) wholes.push(await model.decodeUtterance(pcm));
  const readings = pcms.map(() => model.reader!.begin());
  const parts = readings.map((reading, i) => copySpan(pcms[i]!, model.reader!.next(reading)));
  await model.reader!.readTogether(readings, parts);
  const beside = {
    take(count: number): ChunkBeside[] {
      assert.equal(count, 0);
      return [];
    },
  };
  assert.deepEqual(await model.refine(pcms, readings, beside), wholes);
  await model.release();
});
