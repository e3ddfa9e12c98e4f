import assert from "node:assert/strict";
import { test } from "node:test";
import { powersetOf, speakersPerFrame } from "../../../core/domain/diarization/powerset.js";
import { joinedSpans, soloSpans } from "../../../core/domain/diarization/solo-spans.js";
import { type SpeakerTurn, speakerTurns } from "../../../core/domain/diarization/speaker-turns.js";
import { firstFrameOf, type SpeakerWindow, windowCount } from "../../../core/domain/diarization/windows.js";

/** Windows of 100 frames of 10 ms, starting 20 frames apart. */
const SHAPE = {
  sampleRateHz: 1_000,
  windowSamples: 1_000,
  shiftSamples: 200,
  frameSamples: 10,
  receptiveSamples: 0,
};
const OPTIONS = {
  ...{ shape: SHAPE, speakerCount: null, threshold: 0.5 },
  ...{ leastTurnSeconds: 0, leastGapSeconds: 0 },
};
const VOICES = [Float32Array.of(1, 0, 0), Float32Array.of(0, 1, 0), Float32Array.of(0, 0, 1)];

/**
 * Builds the windows of some audio.
 * @param activeAt returns the speakers in each frame
 * @param localOf returns a window's number for a speaker, since each window numbers them independently
 */
function windowsOf(
  sampleCount: number,
  activeAt: (frame: number) => readonly number[],
  localOf: (window: number, speaker: number) => number = (window, speaker) => (window + speaker) % 3,
): SpeakerWindow[] {
  return Array.from({ length: windowCount(sampleCount, SHAPE) }, (_, window) => {
    const first = firstFrameOf(window, SHAPE);
    const frames = Uint8Array.from({ length: 100 }, (_frame, at) =>
      activeAt(first + at).reduce((set, speaker) => set | (1 << localOf(window, speaker)), 0),
    );
    const embeddings: (Float32Array | null)[] = [null, null, null];
    for (const [speaker, voice] of VOICES.entries()) {
      const local = localOf(window, speaker);
      if (soloSpans(frames, local, 1_000).length > 0) embeddings[local] = voice;
    }
    return { frames, embeddings };
  });
}

const during = (turns: readonly (readonly [number, number, number])[]) => (frame: number) =>
  turns.flatMap(([start, end, speaker]) => (frame >= start && frame < end ? [speaker] : []));

const shown = (turns: readonly SpeakerTurn[]) =>
  turns.map(({ start, end, speaker }) => [start, end, speaker]);

test("classes of a powerset are nobody, single speakers and pairs", () => {
  assert.deepEqual([...powersetOf(7)], [0b000, 0b001, 0b010, 0b100, 0b011, 0b101, 0b110]);
  assert.deepEqual([...powersetOf(2)], [0, 1]);
  assert.throws(() => powersetOf(5), /2, 4, 7 or more classes, found 5/);
});

test("a frame has the speakers of its highest score, the first of equal ones", () => {
  const scores = Float32Array.of(-1, -2, -3, -4, -3, -2, -1, -1, -5, -1, -1, -5);
  assert.deepEqual([...speakersPerFrame(scores, powersetOf(4))], [0, 2, 1]);
});

test("windows cover the audio; the last one may extend beyond its end", () => {
  assert.deepEqual(
    [0, 1, 1_000, 1_001, 1_200, 1_201].map((samples) => windowCount(samples, SHAPE)),
    [0, 1, 1, 2, 2, 3],
  );
});

test("an embedding uses only frames of a single speaker, at least ten of them", () => {
  const frames = Uint8Array.of(
    ...new Array(12).fill(1),
    ...new Array(20).fill(3),
    ...new Array(9).fill(2),
    0,
  );
  assert.deepEqual(soloSpans(frames, 0, 420), [{ start: 0, end: 120 }]);
  assert.deepEqual(soloSpans(frames, 1, 420), []);
  assert.deepEqual(
    [
      ...joinedSpans(
        Float32Array.of(1, 2, 3, 4, 5),
        [
          { start: 0, end: 2 },
          { start: 3, end: 5 },
        ],
        4,
      ),
    ],
    [1, 2, 4],
  );
});

test("speakers are followed from window to window, whatever numbers the windows give them", () => {
  const activeAt = during([
    [10, 150, 0],
    [150, 260, 1],
    [270, 330, 0],
  ]);
  const turns = speakerTurns(windowsOf(3_500, activeAt), { ...OPTIONS, sampleCount: 3_500 });
  assert.deepEqual(shown(turns), [
    [0.1, 1.5, 0],
    [1.5, 2.6, 1],
    [2.7, 3.3, 0],
  ]);
});

test("turns of two speakers overlap where both speak", () => {
  const activeAt = during([
    [0, 200, 0],
    [160, 300, 1],
  ]);
  const turns = speakerTurns(windowsOf(3_000, activeAt), { ...OPTIONS, sampleCount: 3_000 });
  assert.deepEqual(shown(turns), [
    [0, 2, 0],
    [1.6, 2.99, 1],
  ]);
});

test("a known number of speakers does not split one speaker in a separate window", () => {
  const activeAt = during([[0, 90, 0]]);
  const turns = speakerTurns(windowsOf(900, activeAt), { ...OPTIONS, sampleCount: 900, speakerCount: 2 });
  assert.deepEqual(
    shown(turns).map(([start, end]) => [start, end]),
    [[0, 0.9]],
  );
});

test("speakers of a single window are those of its segmentation, unless fewer are known", () => {
  const activeAt = during([
    [0, 40, 0],
    [50, 90, 1],
  ]);
  const windows = windowsOf(900, activeAt, (_window, speaker) => speaker);
  const numbers = (speakerCount: number | null) =>
    speakerTurns(windows, { ...OPTIONS, sampleCount: 900, speakerCount }).map(({ speaker }) => speaker);
  assert.deepEqual(numbers(null), [0, 1]);
  assert.deepEqual(numbers(1), [0, 0]);
});

test("short gaps are closed, then short turns are dropped", () => {
  const activeAt = during([
    [0, 60, 0],
    [65, 100, 0],
    [120, 125, 1],
    [150, 250, 0],
  ]);
  const options = { ...OPTIONS, sampleCount: 3_000, leastTurnSeconds: 0.1, leastGapSeconds: 0.1 };
  assert.deepEqual(shown(speakerTurns(windowsOf(3_000, activeAt), options)), [
    [0, 1, 0],
    [1.5, 2.5, 0],
  ]);
});

test("silence and an empty audio have no turns", () => {
  assert.deepEqual(
    speakerTurns(
      windowsOf(3_000, () => []),
      { ...OPTIONS, sampleCount: 3_000 },
    ),
    [],
  );
  assert.deepEqual(speakerTurns([], { ...OPTIONS, sampleCount: 0 }), []);
});
