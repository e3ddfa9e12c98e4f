import assert from "node:assert/strict";
import { test } from "node:test";
import { FRONT_ENDS, type FrontEnd } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { ChunkedCtc, type ChunkGraph } from "../../../native/models/chunked-ctc.js";

const BINS = 8;
const WINDOW_FRAMES = 25;
const SHIFT_FRAMES = 16;
const TOKENS = { vocabulary: ["", " а"], columns: Int32Array.of(1, 0), width: 2 };

/** Records its input; its rows identify their chunk and row. */
class NotingGraph implements ChunkGraph {
  readonly windowFrames = WINDOW_FRAMES;
  readonly shiftFrames = SHIFT_FRAMES;
  readonly rowsPerChunk = SHIFT_FRAMES / 8;
  readonly subsampling = 8;
  readonly cacheSize = 1;
  readonly leadFrames: number;
  readonly windows: Float32Array[] = [];

  constructor(leadFrames: number) {
    this.leadFrames = leadFrames;
  }

  run(features: Float32Array, caches: Float32Array, rows: Float32Array): Promise<void> {
    this.windows.push(features.slice());
    for (let row = 0; row < this.rowsPerChunk; row++) rows.set([caches[0]!, row], row * 2);
    caches[0] = caches[0]! + 1;
    return Promise.resolve();
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
  test(`windows of ${name} equal the features of the whole, after ${leadFrames} frames of zeros`, async () => {
    const logMel = new LogMel(FRONT_ENDS[name](BINS));
    const graph = new NotingGraph(leadFrames);
    const head = new ChunkedCtc(logMel, graph, TOKENS);
    const pcm = signal(16_000);
    const whole = logMel.compute(pcm);
    const { frames } = await head.decode(pcm);
    assert.equal(frames, Math.ceil(100 / 8));
    assert.equal(graph.windows.length, Math.ceil(100 / SHIFT_FRAMES));
    for (const [chunk, window] of graph.windows.entries()) {
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

test("returns rows in order, with separate caches per stream", async () => {
  const logMel = new LogMel(FRONT_ENDS.nemo(BINS));
  const head = new ChunkedCtc(logMel, new NotingGraph(9), TOKENS);
  const pcm = signal(640 * 24);
  const state = new Float32Array(head.stateSize);
  const other = new Float32Array(head.stateSize);
  const rows: string[] = [];
  for (let start = 0; start < pcm.length; start += 640) {
    const row = new Float32Array(2);
    await head.step(state, pcm.subarray(start, start + 640), row);
    rows.push(row[1] === -30 ? "-" : `${row[1]}.${row[0]}`);
    await head.step(other, pcm.subarray(start, start + 640), new Float32Array(2));
  }
  const first = rows.findIndex((row) => row !== "-");
  assert.equal(first, 4, "16 frames behind 9 are whole in the fifth step, since a frame is late");
  assert.equal(head.lagFrames, first);
  const expected = ["0.0", "0.0", "0.1", "0.1", "1.0", "1.0", "1.1", "1.1", "2.0", "2.0", "2.1", "2.1"];
  assert.deepEqual(rows.slice(first, first + 12), expected);
});
