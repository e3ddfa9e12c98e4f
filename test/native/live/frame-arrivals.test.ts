import assert from "node:assert/strict";
import { test } from "node:test";
import { liveOpen } from "../../../bench/support/live-open.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { FrameArrivals } from "../../../native/live/frame-arrivals.js";
import { LiveStepper } from "../../../native/live/stepper.js";
import { PcmRing } from "../../../native/ring/pcm-ring.js";
import { joined, silence, speech } from "../../support/audio.js";
import { eventually } from "../../support/eventually.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";

const FRAME_SAMPLES = 640;
const FRAME_MS = 40;
/** Silence that ends an utterance of this session, 200 ms. */
const PAUSE_FRAMES = 5;

test("the earliest sightings of frames tell when the next one arrives", () => {
  const arrivals = new FrameArrivals();
  assert.equal(arrivals.timeOf(1), Number.POSITIVE_INFINITY);
  const waitsMs = [9, 3, 14, 0.5, 7, 12, 5];
  for (const [nth, waitMs] of waitsMs.entries())
    arrivals.note(nth + 1, 1_000 + (nth + 1) * FRAME_MS + waitMs);
  const errorMs = arrivals.timeOf(8) - (1_000 + 8 * FRAME_MS);
  assert.ok(errorMs >= 0.5 && errorMs < 1, `${errorMs}`);
});

test("the estimate follows a session that becomes later", () => {
  const arrivals = new FrameArrivals();
  for (let frame = 1; frame <= 1_000; frame++) arrivals.note(frame, frame * FRAME_MS);
  for (let frame = 1_001; frame <= 2_000; frame++) arrivals.note(frame, 30 + frame * FRAME_MS);
  assert.ok(Math.abs(arrivals.timeOf(2_001) - (30 + 2_001 * FRAME_MS)) < 0.1);
});

test("an ending is expected with the frame that may end an utterance, unless it is overdue", async () => {
  const { model, utterances } = await recognizerIn(RECOGNIZER_FOLDER);
  try {
    let nowMs = 0;
    let finalEndSample: number | null = null;
    const stepper = new LiveStepper({
      ...{ model, utterances, onStep: () => {}, nowMs: () => nowMs },
      post: (answer) => {
        if (answer.type === "final") finalEndSample = answer.endSample;
      },
    });
    const ring = PcmRing.create(2 ** 19);
    stepper.onMessage(liveOpen(0, ring.buffer));
    const pcm = joined(speech("asterisk-ru-core/conf-getconfno.flac"), silence(0.6));
    const expected: boolean[] = [];
    for (let sample = 0; sample < pcm.length; sample += FRAME_SAMPLES) {
      const endingMs = stepper.nextEndingMs(nowMs);
      expected.push(Number.isFinite(endingMs));
      if (Number.isFinite(endingMs)) assert.ok(Math.abs(endingMs - (nowMs + FRAME_MS)) < 1);
      assert.equal(stepper.nextEndingMs(nowMs + 2 * FRAME_MS), Number.POSITIVE_INFINITY, "it is overdue");
      nowMs += FRAME_MS;
      ring.write(pcm.subarray(sample, sample + FRAME_SAMPLES));
      while (await stepper.step());
    }
    await eventually("a final", () => finalEndSample !== null);
    const frames = expected.flatMap((isExpected, frame) => (isExpected ? [frame] : []));
    const silentFrames = frames[0]! - Math.floor(finalEndSample! / FRAME_SAMPLES);
    assert.equal(frames.length, 1, "only the frame that ends the utterance is expected to");
    assert.ok(silentFrames >= PAUSE_FRAMES - 1 && silentFrames < 2 * PAUSE_FRAMES, `${silentFrames} frames`);
    assert.equal(stepper.nextEndingMs(nowMs), Number.POSITIVE_INFINITY);
  } finally {
    await model.release();
  }
});
