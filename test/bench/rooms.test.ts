import assert from "node:assert/strict";
import { test } from "node:test";
import { Beds, ROOMS } from "../../bench/support/rooms/beds.js";
import { delayPercentiles } from "../../bench/support/rooms/cells.js";
import { endpointed, framesOfWindows, iterated } from "../../bench/support/rooms/endings.js";
import {
  backgroundCount,
  endDelayMs,
  isCut,
  isOfBackground,
  wordChanges,
} from "../../bench/support/rooms/judge.js";
import { gainTo, loudLevel, RATE_HZ, speechBounds } from "../../bench/support/rooms/levels.js";
import { NEAR_LEVEL_DB, nearClip } from "../../bench/support/rooms/speakers.js";
import { cellTakes, mixTake } from "../../bench/support/rooms/takes.js";
import { toFloat } from "../../core/domain/audio/pcm.js";

const MS = RATE_HZ / 1_000;
const SAID = { who: "people", speaker: "tone", text: "tone" } as const;

/** A tone in each span (in milliseconds), with silence around it. */
function tones(
  lengthMs: number,
  spans: readonly (readonly [fromMs: number, toMs: number, level?: number])[],
) {
  const samples = new Float32Array(lengthMs * MS);
  for (const [fromMs, toMs, level = 0.5] of spans) {
    for (let i = fromMs * MS; i < toMs * MS; i++) samples[i] = level * Math.sin(i / 3);
  }
  return samples;
}

function truthOf(samples: Float32Array) {
  return speechBounds(samples);
}

function utterance(startMs: number, endMs: number, decidedMs: number | null) {
  return {
    start: startMs * MS,
    end: endMs * MS,
    decidedAt: decidedMs === null ? null : decidedMs * MS,
  };
}

test("pauses do not lower the level of a sound", () => {
  const whole = loudLevel(tones(2_000, [[0, 2_000]]));
  const broken = loudLevel(
    tones(2_000, [
      [300, 500],
      [900, 1_200],
    ]),
  );
  assert.ok(Math.abs(whole - broken) < 0.2, `${whole} and ${broken}`);
  assert.ok(Math.abs(whole - 20 * Math.log10(0.5 * Math.SQRT1_2)) < 0.2);
});

test("speech ends with the last step within 35 dB of its level", () => {
  const loud = tones(2_000, [
    [500, 1_000],
    [1_000, 1_200, 0.5 * 10 ** (-30 / 20)],
  ]);
  assert.deepEqual([truthOf(loud).onset, truthOf(loud).end], [500 * MS, 1_200 * MS]);
  const soft = tones(2_000, [
    [500, 1_000],
    [1_000, 1_200, 0.5 * 10 ** (-40 / 20)],
  ]);
  assert.equal(truthOf(soft).end, 1_000 * MS);
});

test("near speakers are trimmed and have equal levels", () => {
  const clip = nearClip(SAID, tones(3_000, [[700, 1_500, 0.03]]));
  assert.ok(Math.abs(loudLevel(clip.samples) - NEAR_LEVEL_DB) < 0.5);
  assert.equal(clip.end - clip.onset, 800 * MS);
  assert.equal(clip.samples.length, 1_000 * MS);
  assert.ok(clip.steps.every((step) => step === 1));
});

test("a background is as far below the speaker as its cell says", () => {
  const rooms = ROOMS.filter(({ name }) => name === "quiet" || name === "pink");
  const beds = new Beds([], rooms);
  const clip = nearClip(SAID, tones(3_000, [[700, 1_500]]));
  const takes = cellTakes(rooms, [clip]);
  assert.deepEqual(
    takes.map(({ levelDb }) => levelDb),
    [null, 20, 15, 10, 5, 0],
  );
  for (const take of takes) {
    const { pcm, truth } = mixTake(take, beds);
    assert.deepEqual([truth.onset, truth.end, pcm.length], [750 * MS, 1_550 * MS, 3_550 * MS]);
    const after = loudLevel(toFloat(pcm.subarray(truth.end + 200 * MS)));
    assert.ok(Math.abs(after - (NEAR_LEVEL_DB - (take.levelDb ?? 50))) < 1.5, `${after} dB`);
    assert.deepEqual(mixTake(take, beds).pcm, pcm);
  }
});

test("a crowd contains no voice near the microphone", () => {
  const talk = (hz: number) => Float32Array.from({ length: 2 * RATE_HZ }, (_, i) => Math.sin(i * hz));
  const talkers = [
    { who: "people", speaker: "near", talk: talk(0.1) },
    { who: "people", speaker: "other", talk: new Float32Array(2 * RATE_HZ) },
  ] as const;
  const one = ROOMS.filter(({ name }) => name === "one");
  const bed = new Beds(talkers, one).bed(one[0]!, talkers[0], RATE_HZ, 1);
  assert.ok(bed.every((sample) => sample === 0));
});

test("the delay is that of the speaker's last utterance, within two seconds", () => {
  const truth = truthOf(tones(4_000, [[500, 1_500]]));
  const ofSpeaker = utterance(500, 1_520, 1_720);
  assert.equal(endDelayMs([ofSpeaker], truth), 220);
  assert.equal(endDelayMs([ofSpeaker, utterance(2_000, 2_400, 2_600)], truth), 220);
  assert.equal(endDelayMs([utterance(500, 3_300, 3_500)], truth), null);
  assert.equal(endDelayMs([utterance(500, 4_000, null)], truth), null);
  assert.equal(endDelayMs([utterance(500, 900, 1_100)], truth), null);
  assert.equal(endDelayMs([], truth), null);
});

test("an utterance is cut if it ends while the speaker speaks, not in a long pause", () => {
  const truth = truthOf(
    tones(4_000, [
      [500, 1_000],
      [1_240, 2_000],
    ]),
  );
  assert.equal(isCut([utterance(500, 1_000, 1_200)], truth), false);
  assert.equal(isCut([utterance(500, 1_040, 1_240)], truth), false);
  assert.equal(isCut([utterance(500, 1_090, 1_290)], truth), true);
  assert.equal(isCut([utterance(500, 1_500, 1_700)], truth), true);
  assert.equal(isCut([utterance(500, 2_000, 2_200)], truth), false);
  assert.equal(isCut([utterance(500, 1_500, null)], truth), false);
});

test("an utterance without the speaker counts as background", () => {
  const truth = truthOf(tones(4_000, [[1_000, 2_000]]));
  const before = utterance(200, 900, 1_100);
  const after = utterance(2_100, 2_500, 2_700);
  assert.ok(isOfBackground(before, truth) && isOfBackground(after, truth));
  assert.ok(!isOfBackground(utterance(200, 1_400, 1_600), truth));
  assert.equal(backgroundCount([before, utterance(1_000, 2_000, 2_200), after], truth), 2);
});

test("words missing from the reference count as insertions, others as substitutions", () => {
  assert.deepEqual(wordChanges("бір екі үш", "Бір, екі үш!"), { inserted: 0, edits: 0, words: 3 });
  assert.deepEqual(wordChanges("бір екі үш", "алма бір екі төрт үш"), { inserted: 2, edits: 2, words: 3 });
  assert.deepEqual(wordChanges("бір екі үш", "бір алма"), { inserted: 0, edits: 2, words: 3 });
  assert.deepEqual(wordChanges("", "бір екі"), { inserted: 2, edits: 2, words: 0 });
});

test("our rule ends an utterance after five frames of silence", () => {
  const frames = Float32Array.from({ length: 30 }, (_, frame) => (frame >= 5 && frame < 10 ? 0.9 : 0.1));
  const found = { start: 5 * 640, end: 10 * 640, decidedAt: 15 * 640 };
  const evidence = (speech: Float32Array) => ({ speech, levels: speech.map(() => -30), letters: null });
  assert.deepEqual(endpointed(evidence(frames)), [found]);
  assert.deepEqual(endpointed(evidence(frames.subarray(0, 12))), [
    { ...found, end: 12 * 640, decidedAt: null },
  ]);
});

test("Silero's rule ends an utterance in the first window that is 200 ms after the pause began", () => {
  const windows = Float32Array.from({ length: 40 }, (_, window) => (window >= 5 && window < 10 ? 0.9 : 0.1));
  assert.deepEqual(iterated(windows), [{ start: 5 * 512, end: 10 * 512, decidedAt: 18 * 512 }]);
  // A window between the two thresholds neither continues nor ends speech.
  windows[13] = 0.4;
  windows[17] = 0.4;
  assert.equal(iterated(windows)[0]!.decidedAt, 19 * 512);
  windows[13] = 0.6;
  assert.equal(iterated(windows)[0]!.end, 14 * 512);
});

test("a frame has the highest probability of the windows that end in it", () => {
  const windows = Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5);
  assert.deepEqual([...framesOfWindows(windows)], [...Float32Array.of(0.1, 0.2, 0.3, 0.5)]);
});

test("missing endings count as later than all others", () => {
  assert.deepEqual(delayPercentiles([200, null, 210, 220]), { p50: 220, p90: null, p99: null });
  assert.deepEqual(delayPercentiles([null, null, 210]), { p50: null, p90: null, p99: null });
});

test("scales audio to the requested level", () => {
  const samples = tones(1_000, [[0, 1_000, 0.1]]);
  const gain = gainTo(-40, samples);
  assert.ok(Math.abs(loudLevel(samples.map((sample) => sample * gain)) + 40) < 0.01);
});
