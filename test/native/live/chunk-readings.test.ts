// Graphs that stream once read every utterance twice, for its partials and again for its final.
import assert from "node:assert/strict";
import { test } from "node:test";
import { liveOpen } from "../../../bench/support/live-open.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { bestToken, GreedyDecoder } from "../../../core/domain/decoding/greedy.js";
import { LiveStepper } from "../../../native/live/stepper.js";
import type { RecognizerModel } from "../../../native/models/recognizer.js";
import type { Reading } from "../../../native/models/utterance-reader.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import type { UtteranceDecoder } from "../../../native/recognition/utterance-decoder.js";
import { PcmRing } from "../../../native/ring/pcm-ring.js";
import type { LiveWorkerAnswer } from "../../../native/threads/protocol.js";
import { joined, silence, tone } from "../../support/audio.js";
import { TINY_RECOGNIZERS } from "../../support/tiny-packages.js";

const FRAME_SAMPLES = 640;
const PITCHES = [300, 700, 1_900, 500, 2_600, 1_100, 400, 2_200, 900, 3_100];

/** Tones that change every 0.3 s, from which random weights make letters. */
function tones(seconds: number, first = 0): Int16Array {
  const count = Math.round(seconds / 0.3);
  return joined(
    ...Array.from({ length: count }, (_, i) =>
      tone(0.3, [PITCHES[(i * i + first) % 10]!, 60 + 90 * (i % 7)]),
    ),
  );
}

const AUDIO = joined(silence(0.6), tones(4.5), silence(0.8), tones(2.4, 3), silence(0.4));
const OTHER = joined(silence(0.2), tones(3.3, 5), silence(0.6), tones(4.2, 7), silence(0.9));

function greedyText({ vocabulary }: RecognizerModel, logProbs: Float32Array, frames: number): string {
  const greedy = new GreedyDecoder(vocabulary);
  for (let row = 0; row < frames; row++) {
    const best = bestToken(logProbs, row * vocabulary.length, vocabulary.length);
    greedy.take(best, logProbs[row * vocabulary.length + best]!);
  }
  return greedy.text;
}

type Final = Extract<LiveWorkerAnswer, { type: "final" }>;
type Partial = Extract<LiveWorkerAnswer, { type: "partial" }>;

/** The stepper of a live worker, which records where its second passes start. */
class Watched {
  readonly answers: LiveWorkerAnswer[] = [];
  /** How many rows of each utterance were read before its second pass. */
  readonly begun: number[] = [];
  /** The letters of each second pass. */
  readonly greedy: string[] = [];
  readonly stepper: LiveStepper;
  #searches: Promise<unknown>[] = [];

  constructor({ model, utterances }: Recognizer) {
    const watched: RecognizerModel = Object.create(model, {
      refine: {
        value: async (pcms: readonly Float32Array[], readings: readonly (Reading | null)[]) => {
          this.begun.push(...readings.map((reading) => reading!.rowCount));
          const refined = await model.refine(pcms, readings);
          for (const { logProbs, frames } of refined) this.greedy.push(greedyText(model, logProbs, frames));
          return refined;
        },
      },
    }) as RecognizerModel;
    for (const name of ["stepBatches", "stepBatch", "decodeUtterance"] as const) {
      Object.defineProperty(watched, name, { value: model[name].bind(model) });
    }
    const watchedUtterances = Object.create(utterances, {
      search: {
        value: (...search: Parameters<UtteranceDecoder["search"]>) => {
          const found = utterances.search(...search);
          this.#searches.push(found);
          return found;
        },
      },
      growing: { value: utterances.growing.bind(utterances) },
    }) as UtteranceDecoder;
    this.stepper = new LiveStepper({
      ...{ model: watched, utterances: watchedUtterances },
      post: (answer) => this.answers.push(answer),
      onStep: () => {},
    });
  }

  async untilQuiet(): Promise<void> {
    do {
      await Promise.all(this.#searches.splice(0));
      while (await this.stepper.step());
    } while (this.#searches.length > 0);
    // Messages that waited for a finished search arrive in a separate turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Writes each audio to its own session, one message at a time, and finishes the sessions. */
  async hear(spoken: readonly Int16Array[], messageSamples = FRAME_SAMPLES): Promise<void> {
    const rings = spoken.map((_, session) => {
      const ring = PcmRing.create(2 ** 20);
      this.stepper.onMessage(liveOpen(session, ring.buffer));
      return ring;
    });
    const longest = Math.max(...spoken.map(({ length }) => length));
    for (let at = 0; at < longest; at += messageSamples) {
      for (const [session, pcm] of spoken.entries()) {
        rings[session]!.write(pcm.subarray(at, at + messageSamples));
      }
      await this.untilQuiet();
    }
    for (const [session, pcm] of spoken.entries()) {
      this.stepper.onMessage({ type: "finish", session, atSample: pcm.length });
    }
    await this.untilQuiet();
  }

  finalsOf(session = 0): Final[] {
    return this.answers.filter(
      (answer): answer is Final => answer.type === "final" && answer.session === session,
    );
  }

  partialsOf(session = 0): Partial[] {
    return this.answers.filter(
      (answer): answer is Partial => answer.type === "partial" && answer.session === session,
    );
  }
}

for (const { id } of TINY_RECOGNIZERS.filter(({ streams }) => streams)) {
  test(`${id}: a final reads only what no chunk has read yet, and the last partial has its letters`, async () => {
    const recognizer = await recognizerIn(`test/fixtures/adapters/${id}`);
    const watched = new Watched(recognizer);
    await watched.hear([AUDIO]);
    const finals = watched.finalsOf();
    assert.equal(finals.length, 2);
    assert.ok(watched.begun.length >= 2);
    const { outputFrameSamples } = recognizer.model;
    // The speech is 4.5 s long. The second pass begins after the last whole chunk, at most 0.8 s before the
    // end.
    assert.ok(Math.max(...watched.begun) * outputFrameSamples >= 3.7 * 16_000, `${watched.begun} rows`);
    for (const utterance of finals.keys()) {
      const partials = watched.partialsOf().filter((partial) => partial.utterance === utterance);
      assert.ok(partials.length >= 2, `${partials.length} partials`);
      assert.ok(watched.greedy.includes(partials.at(-1)!.text), "the letters of the second pass");
    }
    await recognizer.model.release();
  });

  test(`${id}: finals are the same at the pace of speech and from a backlog, alone and with others`, async () => {
    const recognizer = await recognizerIn(`test/fixtures/adapters/${id}`);
    const paced = new Watched(recognizer);
    await paced.hear([AUDIO]);
    const backlog = new Watched(recognizer);
    await backlog.hear([AUDIO], AUDIO.length);
    assert.deepEqual(backlog.finalsOf(), paced.finalsOf());
    const together = new Watched(recognizer);
    await together.hear([AUDIO, OTHER, AUDIO, OTHER, AUDIO], 1_600);
    for (const session of [0, 2, 4]) {
      const finals = together.finalsOf(session).map((final) => ({ ...final, session: 0 }));
      assert.deepEqual(finals, paced.finalsOf());
    }
    const alone = new Watched(recognizer);
    await alone.hear([OTHER]);
    assert.deepEqual(
      together.finalsOf(3).map((final) => ({ ...final, session: 0 })),
      alone.finalsOf(),
    );
    await recognizer.model.release();
  });
}
