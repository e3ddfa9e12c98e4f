// Offline graphs read long utterances in windows, so that the final does not come seconds late.
import assert from "node:assert/strict";
import { test } from "node:test";
import { liveOpen } from "../../../bench/support/live-open.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { LiveStepper } from "../../../native/live/stepper.js";
import type { LogProbs } from "../../../native/models/log-probs.js";
import type { RecognizerModel } from "../../../native/models/recognizer.js";
import type { Reading, UtteranceReader } from "../../../native/models/utterance-reader.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { PcmRing } from "../../../native/ring/pcm-ring.js";
import type { LiveWorkerAnswer } from "../../../native/threads/protocol.js";
import { joined, silence, tone } from "../../support/audio.js";
import { TINY_RECOGNIZERS } from "../../support/tiny-packages.js";

const FRAME_SAMPLES = 640;
const RATE_HZ = 16_000;
const PITCHES = [300, 700, 1_900, 500, 2_600, 1_100, 400, 2_200, 900, 3_100];
const FULL_CONTEXT = TINY_RECOGNIZERS.filter(({ windows }) => windows);

/** Tones that change every 0.3 s, from which random weights make letters. */
function tones(seconds: number, first = 0): Int16Array {
  const count = Math.round(seconds / 0.3);
  return joined(
    ...Array.from({ length: count }, (_, i) =>
      tone(0.3, [PITCHES[(i * i + first) % 10]!, 60 + 90 * (i % 7)]),
    ),
  );
}

const AUDIO = joined(silence(0.6), tones(12), silence(0.8), tones(2.4, 3), silence(0.4));
const OTHER = joined(silence(0.2), tones(3.3, 5), silence(0.6), tones(9.9, 7), silence(0.9));
/** This audio is longer than an utterance may be, so that one is cut in mid-speech. */
const LONG = joined(silence(0.4), tones(42), silence(0.6));

type Final = Extract<LiveWorkerAnswer, { type: "final" }>;
type Partial = Extract<LiveWorkerAnswer, { type: "partial" }>;

/** The stepper of a live worker, which records what its model reads. */
class Watched {
  readonly answers: LiveWorkerAnswer[] = [];
  /** What ran, in order. */
  readonly ran: string[] = [];
  /** The audio and log-probs of each second pass. */
  readonly refined: { readonly pcm: Float32Array; readonly read: LogProbs }[] = [];
  /** The utterance that each window belongs to, numbered in the order in which they began. */
  readonly turns: number[] = [];
  /** More audio in each second pass. */
  besides = new Float32Array(0);
  readonly #rings = new Map<number, PcmRing>();
  readonly #stepper: LiveStepper;

  constructor({ model, utterances }: Recognizer, { passes = true, windowsInRun = 1 } = {}) {
    const { reader } = model;
    const begun: Reading[] = [];
    const watchedReader: UtteranceReader = {
      endsAnywhere: reader!.endsAnywhere,
      begin: () => {
        const reading = reader!.begin();
        begun.push(reading);
        return reading;
      },
      next: (reading) => reader!.next(reading),
      read: (reading, pcm) => {
        this.ran.push("window");
        this.turns.push(begun.indexOf(reading));
        return reader!.read(reading, pcm);
      },
      readTogether: (readings, pcms) => {
        this.ran.push(`${readings.length} windows`);
        return reader!.readTogether!(readings, pcms);
      },
    };
    const watched: RecognizerModel = Object.create(model, {
      reader: { value: watchedReader },
      refine: {
        value: async (pcms: readonly Float32Array[], readings: readonly (Reading | null)[]) => {
          this.ran.push("final");
          await model.decodeUtterance(this.besides);
          const refined = await model.refine(pcms, readings);
          for (const [row, pcm] of pcms.entries())
            this.refined.push({ pcm: pcm.slice(), read: refined[row]! });
          return refined;
        },
      },
    }) as RecognizerModel;
    for (const name of ["stepBatches", "stepBatch", "decodeUtterance"] as const) {
      Object.defineProperty(watched, name, { value: model[name].bind(model) });
    }
    this.#stepper = new LiveStepper({
      ...{ model: watched, utterances },
      rows: { liveRows: 64, finalRows: [{ frames: 750, rows: windowsInRun }] },
      post: (answer) => this.answers.push(answer),
      onStep: () => {},
      // If the clock stands still, there is no time for passes after the first one.
      ...(!passes && { nowMs: () => 0 }),
    });
  }

  open(session: number, wantsPartials = true): void {
    const ring = PcmRing.create(2 ** 21);
    this.#rings.set(session, ring);
    this.#stepper.onMessage(liveOpen(session, ring.buffer, { wantsPartials }));
  }

  write(session: number, pcm: Int16Array): void {
    this.#rings.get(session)!.write(pcm);
  }

  async untilQuiet(): Promise<void> {
    while (await this.#stepper.step());
    // Messages that waited for a finished search arrive in a separate turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Writes each audio to its own session, one message at a time, and finishes the sessions. */
  async hear(spoken: readonly Int16Array[], { messageSamples = FRAME_SAMPLES, wantsPartials = true } = {}) {
    for (const session of spoken.keys()) this.open(session, wantsPartials);
    const longest = Math.max(...spoken.map(({ length }) => length));
    for (let at = 0; at < longest; at += messageSamples) {
      for (const [session, pcm] of spoken.entries())
        this.write(session, pcm.subarray(at, at + messageSamples));
      await this.untilQuiet();
    }
    for (const [session, pcm] of spoken.entries()) {
      this.#stepper.onMessage({ type: "finish", session, atSample: pcm.length });
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

for (const { id } of FULL_CONTEXT) {
  test(`${id}: a final reads only what follows the last window; a short utterance is read whole`, async () => {
    const recognizer = await recognizerIn(`test/fixtures/adapters/${id}`);
    const { model } = recognizer;
    const watched = new Watched(recognizer);
    await watched.hear([AUDIO]);
    assert.equal(watched.finalsOf().length, 2);
    const [long, short] = [watched.refined[0]!, watched.refined.at(-1)!];
    assert.ok(long.pcm.length > 11 * RATE_HZ && short.pcm.length < 4 * RATE_HZ);
    assert.ok(watched.ran.filter((run) => run === "window").length >= 3, watched.ran.join(", "));
    // The windows depend on the audio alone. A short utterance has none.
    assert.deepEqual(long.read, await model.decodeUtterance(long.pcm, model.reader!.begin()));
    assert.deepEqual(short.read, await model.decodeUtterance(short.pcm));
    await model.release();
  });

  test(`${id}: finals are the same when paced, from a backlog, with others, and without partials`, async () => {
    const recognizer = await recognizerIn(`test/fixtures/adapters/${id}`);
    const paced = new Watched(recognizer);
    await paced.hear([AUDIO]);
    assert.ok(paced.finalsOf()[0]!.text!.length > 5);
    const silent = new Watched(recognizer);
    await silent.hear([AUDIO], { wantsPartials: false });
    assert.deepEqual(silent.finalsOf(), paced.finalsOf());
    const backlog = new Watched(recognizer);
    await backlog.hear([AUDIO], { messageSamples: AUDIO.length });
    assert.deepEqual(backlog.finalsOf(), paced.finalsOf());
    const together = new Watched(recognizer);
    await together.hear([AUDIO, OTHER, AUDIO, OTHER], { messageSamples: 1_600 });
    for (const session of [0, 2]) {
      const finals = together.finalsOf(session).map((final) => ({ ...final, session: 0 }));
      assert.deepEqual(finals, paced.finalsOf());
    }
    await recognizer.model.release();
  });

  test(`${id}: an utterance cut for length is read in windows too, and with the same result from a backlog`, async () => {
    const recognizer = await recognizerIn(`test/fixtures/adapters/${id}`);
    const paced = new Watched(recognizer);
    await paced.hear([LONG]);
    assert.ok(paced.finalsOf().length >= 2);
    const windows = paced.ran.filter((run) => run === "window").length;
    assert.ok(windows >= 14, `${windows} windows`);
    const backlog = new Watched(recognizer);
    await backlog.hear([LONG], { messageSamples: LONG.length });
    assert.deepEqual(backlog.finalsOf(), paced.finalsOf());
    await recognizer.model.release();
  });

  test(`${id}: the last partial has the text of its final, unless stable words differ`, async () => {
    const recognizer = await recognizerIn(`test/fixtures/adapters/${id}`);
    const watched = new Watched(recognizer);
    await watched.hear([OTHER]);
    const finals = watched.finalsOf();
    assert.equal(finals.length, 2);
    const continued = finals.filter(({ utterance, text }) => {
      const last = watched.partialsOf().findLast((partial) => partial.utterance === utterance)!;
      const kept = [...last.text].slice(0, last.stable).join("");
      if (text!.startsWith(kept)) assert.equal(last.text, text);
      return text!.startsWith(kept);
    });
    assert.ok(continued.length > 0, "random weights contradict themselves in long utterances only");
    await recognizer.model.release();
  });

  test(`${id}: windows show their text, without further passes`, async () => {
    const recognizer = await recognizerIn(`test/fixtures/adapters/${id}`);
    const watched = new Watched(recognizer, { passes: false });
    await watched.hear([AUDIO]);
    const ends = watched.partialsOf().map(({ endSample }) => endSample);
    assert.ok(ends.length >= 2, `${ends.length} partials`);
    await recognizer.model.release();
  });
}

test("on a device windows of several sessions share a run, with the same texts", async () => {
  const recognizer = await recognizerIn("test/fixtures/adapters/tiny-gigaam-ctc");
  const alone = new Watched(recognizer);
  await alone.hear([AUDIO]);
  const shared = new Watched(recognizer, { windowsInRun: 2 });
  await shared.hear([AUDIO, AUDIO, AUDIO]);
  assert.ok(shared.ran.includes("2 windows") && shared.ran.includes("window"), shared.ran.join(", "));
  const texts = alone.finalsOf().map(({ text }) => text);
  for (const session of [0, 1, 2]) {
    assert.deepEqual(
      shared.finalsOf(session).map(({ text }) => text),
      texts,
    );
  }
  await recognizer.model.release();
});

test("a window waits for finals that are pending when it is full", async () => {
  const recognizer = await recognizerIn("test/fixtures/adapters/tiny-gigaam-ctc");
  const watched = new Watched(recognizer);
  // A final takes longer than the time that is free for finals between two rounds.
  watched.besides = new Float32Array(20 * RATE_HZ).fill(0.1);
  const talking = joined(silence(0.6), tones(9));
  const pausing = joined(silence(0.6), tones(4.2), silence(1.2));
  const spoken = [talking, pausing, pausing, pausing];
  for (const session of spoken.keys()) watched.open(session);
  // All audio is written at once, so that the step that fills the window also finds the pauses.
  for (const [session, pcm] of spoken.entries()) watched.write(session, pcm.subarray(0, 5.5 * RATE_HZ));
  await watched.untilQuiet();
  assert.deepEqual(watched.ran, ["final", "final", "final", "window"]);
  await recognizer.model.release();
});

test("sessions whose windows are full take turns, even next to one that is far behind", async () => {
  const recognizer = await recognizerIn("test/fixtures/adapters/tiny-gigaam-ctc");
  const watched = new Watched(recognizer);
  const talking = joined(silence(0.6), tones(24));
  for (const session of [0, 1, 2, 3]) watched.open(session);
  // The first session sends everything at once, the others only half of it.
  watched.write(0, talking);
  for (const session of [1, 2, 3]) watched.write(session, talking.subarray(0, talking.length / 2));
  await watched.untilQuiet();
  const counts = [0, 0, 0, 0];
  for (const turn of watched.turns) {
    counts[turn]!++;
    const [fewest, most] = [Math.min(...counts), Math.max(...counts)];
    // From here on only the first session has windows left.
    if (fewest < 3) assert.ok(most - fewest <= 1, watched.turns.join(" "));
  }
  assert.ok(Math.max(...counts) >= 7 && Math.min(...counts) >= 3, counts.join(", "));
  await recognizer.model.release();
});
