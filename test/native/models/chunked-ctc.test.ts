import assert from "node:assert/strict";
import { test } from "node:test";
import { Tensor } from "onnxruntime-node";
import { FRONT_ENDS, type FrontEnd } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import type { SampleSpan } from "../../../core/domain/audio/resample.js";
import { ChunkFeatures } from "../../../native/models/chunk-features.js";
import { ChunkedCtc, type ChunkGraph, type ChunkInput } from "../../../native/models/chunked-ctc.js";
import type { StreamState } from "../../../native/models/stream-caches.js";
import { copySpan } from "../../../native/models/utterance-reader.js";

const BINS = 8;
const WINDOW_FRAMES = 25;
const SHIFT_FRAMES = 16;
const TOKENS = { vocabulary: ["", " а"], columns: Int32Array.of(1, 0), width: 2, unknown: -1 };

/**
 * Each row of this graph contains the chunk, the row number and the loudest sample. Its cache counts chunks.
 */
class CountingGraph implements ChunkGraph {
  readonly rowsPerChunk = 2;
  readonly samplesPerRow = 100;
  readonly tailSamples: number;
  runs = 0;

  constructor(tailSamples = 0) {
    this.tailSamples = tailSamples;
  }

  spanOf(chunk: number): SampleSpan {
    return { start: chunk * 200 - 30, end: (chunk + 1) * 200 + 50 };
  }

  initial(): StreamState {
    return [new Tensor("float32", Float32Array.of(0), [1])];
  }

  run({ pcm, state }: ChunkInput): Promise<Float32Array> {
    this.runs++;
    const count = state[0]!.data[0] as number;
    state[0] = new Tensor("float32", Float32Array.of(count + 1), [1]);
    const loudest = Math.max(...pcm);
    return Promise.resolve(Float32Array.of(loudest, count * 10, loudest, count * 10 + 1));
  }

  release(): Promise<void> {
    return Promise.resolve();
  }
}

function signal(samples: number): Float32Array {
  return Float32Array.from({ length: samples }, (_, i) => 0.3 * Math.sin(i * i * 1e-5) + 0.01 * Math.cos(i));
}

for (const [name, leadFrames] of [
  ["nemo", 9],
  ["kaldi", 0],
] as const satisfies readonly (readonly [FrontEnd, number])[]) {
  test(`windows of ${name} contain the features of the whole audio, after ${leadFrames} frames of zeros`, () => {
    const logMel = new LogMel(FRONT_ENDS[name](BINS));
    const frames = { windowFrames: WINDOW_FRAMES, shiftFrames: SHIFT_FRAMES, leadFrames };
    const features = new ChunkFeatures(logMel, frames);
    const pcm = signal(16_000);
    const whole = logMel.compute(pcm);
    const window = new Float32Array(WINDOW_FRAMES * BINS);
    for (let chunk = 0; chunk < 5; chunk++) {
      features.compute(chunk, copySpan(pcm, features.spanOf(chunk)), window);
      for (let i = 0; i < WINDOW_FRAMES; i++) {
        const frame = chunk * SHIFT_FRAMES + i - leadFrames;
        // The last frames reach beyond the audio, into a stream's silence.
        if (frame > 97) continue;
        const expected =
          frame < 0 ? new Float32Array(BINS) : whole.subarray(frame * BINS, (frame + 1) * BINS);
        for (let bin = 0; bin < BINS; bin++) {
          const found = window[i * BINS + bin]!;
          assert.ok(Math.abs(found - expected[bin]!) < 1e-4, `chunk ${chunk}, frame ${frame}: ${found}`);
        }
      }
    }
  });
}

test("an utterance that is read while it is spoken has the same rows as one that is read whole", async () => {
  const pcm = signal(1_730);
  const whole = await new ChunkedCtc(new CountingGraph(300), TOKENS).decode(pcm);
  assert.equal(whole.frames, 2 * Math.ceil(2_030 / 200));
  for (const chunks of [0, 1, 5, 8]) {
    const graph = new CountingGraph(300);
    const head = new ChunkedCtc(graph, TOKENS);
    const reading = head.reader.begin();
    for (let chunk = 0; chunk < chunks; chunk++) {
      const span = head.reader.next(reading);
      assert.ok(span.end <= pcm.length);
      await head.reader.read(reading, copySpan(pcm, span));
    }
    assert.equal(reading.rowCount, 2 * chunks);
    assert.deepEqual(await head.decode(pcm, reading), whole);
    assert.deepEqual(await head.decode(pcm, reading), whole, "decoding leaves the reading as it was");
    assert.equal(graph.runs, chunks + 2 * (11 - chunks));
  }
});

test("silence that is read beyond the end of an utterance adds no rows", async () => {
  const pcm = signal(400);
  const head = new ChunkedCtc(new CountingGraph(), TOKENS);
  const whole = await head.decode(pcm);
  const reading = head.reader.begin();
  const spoken = new Float32Array(1_000);
  spoken.set(pcm);
  for (let chunk = 0; chunk < 4; chunk++) {
    await head.reader.read(reading, copySpan(spoken, head.reader.next(reading)));
  }
  assert.deepEqual(await head.decode(pcm, reading), whole);
});
