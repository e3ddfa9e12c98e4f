import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { liveOpen } from "../../../bench/support/live-open.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import { type BatchRows, USUAL_ROWS } from "../../../core/domain/placement/batch-rows.js";
import { LiveStepper } from "../../../native/live/stepper.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { UtteranceDecoder } from "../../../native/recognition/utterance-decoder.js";
import { PcmRing } from "../../../native/ring/pcm-ring.js";
import type { LiveWorkerAnswer } from "../../../native/threads/protocol.js";
import { joined, silence, speech } from "../../support/audio.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";

const FRAME_SAMPLES = 640;
const RUSSIAN = speech("asterisk-ru-core/conf-getconfno.flac");
const KAZAKH = speech("kazakh-speech-commands/example_1.flac");
/**
 * Two sessions with the same speech, one of them delayed by some frames, and one session with different
 * speech.
 */
const AUDIO = [
  joined(silence(0.3), RUSSIAN, silence(0.6)),
  joined(silence(0.3), RUSSIAN, silence(0.6)),
  joined(silence(0.42), RUSSIAN, silence(0.48)),
  joined(silence(0.3), KAZAKH, silence(0.6)),
];
const SHARING = { ...USUAL_ROWS, finalRows: [{ frames: 400, rows: 3 }] };

let recognizer: Recognizer;
/** The number of utterances in each run of the second pass. */
const ran: number[] = [];

before(async () => {
  recognizer = await recognizerIn(RECOGNIZER_FOLDER);
  const { model } = recognizer;
  const refine = model.refine.bind(model);
  Object.assign(model, {
    refine: (utterances: readonly Float32Array[]) => {
      ran.push(utterances.length);
      return refine(utterances);
    },
  });
});
after(() => recognizer.model.release());

/** Returns the results for each session if each gets this many samples at a time. */
async function answersWith(rows: BatchRows, givenSamples: number): Promise<readonly LiveWorkerAnswer[][]> {
  const { model } = recognizer;
  const answers: LiveWorkerAnswer[][] = AUDIO.map(() => []);
  const weights = { beamWidth: 8, languageModelWeight: 0, characterBonus: 0, wordBonus: 0 };
  const stepper = new LiveStepper({
    model,
    // The search ends in the same turn in which it is requested.
    utterances: new UtteranceDecoder(model, new PrefixBeamSearch(model.vocabulary, null, weights)),
    post: (answer) => answers[answer.session]!.push(answer),
    onStep: () => {},
    rows,
  });
  const rings = AUDIO.map((_, session) => {
    const ring = PcmRing.create(2 ** 19);
    stepper.onMessage(liveOpen(session, ring.buffer));
    return ring;
  });
  const untilQuiet = async () => {
    while (await stepper.step());
    await new Promise((resolve) => setImmediate(resolve));
  };
  const longest = Math.max(...AUDIO.map(({ length }) => length));
  for (let sample = 0; sample < longest; sample += givenSamples) {
    for (const [at, pcm] of AUDIO.entries()) rings[at]!.write(pcm.subarray(sample, sample + givenSamples));
    await untilQuiet();
  }
  for (const [session, { length }] of AUDIO.entries())
    stepper.onMessage({ type: "finish", session, atSample: length });
  await untilQuiet();
  return answers;
}

for (const [how, givenSamples] of [
  // Lagging sessions take many frames in each step, so pauses begin and end within a step.
  ["all audio at once", 2 ** 18],
  ["frame by frame", FRAME_SAMPLES],
] as const) {
  test(`second passes that share a run equal those that run alone: ${how}`, async () => {
    ran.length = 0;
    const alone = await answersWith(USUAL_ROWS, givenSamples);
    assert.ok(ran.length >= AUDIO.length && ran.every((count) => count === 1));
    for (const answers of alone) {
      assert.ok(answers.some((answer) => answer.type === "final" && (answer.text ?? "").length > 10));
      assert.equal(answers.at(-1)?.type, "finished");
    }
    ran.length = 0;
    const shared = await answersWith(SHARING, givenSamples);
    assert.ok(ran.some((count) => count > 1) && ran.every((count) => count <= 3), ran.join(" "));
    assert.deepEqual(shared, alone);
  });
}
