import assert from "node:assert/strict";
import { test } from "node:test";
import { type SynthesisPlan, SynthesisSession } from "../../../actors/session/synthesis.js";
import { SpeechError } from "../../../src/domain/errors.js";
import type { SynthesisJob, SynthesizedPiece, Synthesizer } from "../../../src/ports/synthesizer.js";
import { type Deferred, deferred, settled } from "../../support/deferred.js";

const RATE_HZ = 24_000;
const PAUSE_SAMPLES = 3;

interface Spoken {
  readonly job: SynthesisJob;
  readonly signal: AbortSignal;
  readonly piece: Deferred<SynthesizedPiece>;
}

/** Says one sample per letter, the letter's code; answers at once, or when the test lets it. */
class FakeSynthesizer implements Synthesizer {
  readonly spoken: Spoken[] = [];
  readonly #isPatient: boolean;

  constructor(options: { readonly isPatient: boolean }) {
    this.#isPatient = options.isPatient;
  }

  get texts(): string[] {
    return this.spoken.map(({ job }) => job.spokenText);
  }

  speak(job: SynthesisJob, signal: AbortSignal): Promise<SynthesizedPiece> {
    const piece = deferred<SynthesizedPiece>();
    this.spoken.push({ job, signal, piece });
    signal.addEventListener("abort", () => piece.reject(new SpeechError("CANCELLED", "cancelled")));
    if (!this.#isPatient) this.answer();
    return piece.promise;
  }

  /** Ends the latest piece. */
  answer(): void {
    const { job, piece } = this.spoken.at(-1)!;
    piece.resolve({ pcm: pcmOf(job.spokenText), sampleRateHz: RATE_HZ });
  }
}

function pcmOf(text: string): Int16Array {
  return Int16Array.from(text, (letter) => letter.charCodeAt(0));
}

/** One sentence per argument; `|` cuts it into pieces. */
function planOf(...sentences: readonly string[]): SynthesisPlan {
  return {
    sentences: sentences.map((text, index) => ({
      pieces: text.split("|"),
      pauseSamples: PAUSE_SAMPLES,
      charactersThrough: 4 * (index + 1),
    })),
    billedCharacters: 12,
    sampleRateHz: RATE_HZ,
    voicing: { modelId: "m", voice: "v", speed: 1, nfe: 4, seed: 9 },
  };
}

async function readAll(session: SynthesisSession): Promise<number[][]> {
  const pieces: number[][] = [];
  for await (const { pcm, sampleRateHz } of session.sentences()) {
    assert.equal(sampleRateHz, RATE_HZ);
    pieces.push([...pcm]);
  }
  return pieces;
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof SpeechError && error.code === code;
}

test("sentences come in order with pauses between them and none after the last", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const session = new SynthesisSession(planOf("ab|c", "d", "ef"), synthesizer);
  const pause = Array<number>(PAUSE_SAMPLES).fill(0);
  assert.deepEqual(await readAll(session), [
    [...pcmOf("abc"), ...pause],
    [...pcmOf("d"), ...pause],
    [...pcmOf("ef")],
  ]);
  assert.deepEqual(synthesizer.texts, ["ab", "c", "d", "ef"]);
  assert.deepEqual(synthesizer.spoken[0]!.job, {
    modelId: "m",
    voice: "v",
    speed: 1,
    nfe: 4,
    seed: 9,
    spokenText: "ab",
  });
});

test("nothing is spoken before anybody reads", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const session = new SynthesisSession(planOf("a", "b"), synthesizer);
  await settled();
  assert.deepEqual(synthesizer.texts, []);
  session.stop("client-left");
});

test("a reader that stops reading has two sentences made for it and no more", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const session = new SynthesisSession(planOf("a", "b", "c", "d", "e"), synthesizer);
  const iterator = session.sentences()[Symbol.asyncIterator]();
  await iterator.next();
  await settled();
  assert.deepEqual(synthesizer.texts, ["a", "b", "c"]);
  await iterator.next();
  await settled();
  assert.deepEqual(synthesizer.texts, ["a", "b", "c", "d"]);
  await iterator.return?.();
});

test("a failure reaches the reader that waits, and every later read", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = new SynthesisSession(planOf("a", "b"), synthesizer);
  const iterator = session.sentences()[Symbol.asyncIterator]();
  const first = iterator.next();
  synthesizer.answer();
  assert.equal((await first).done, false);
  const second = iterator.next();
  synthesizer.spoken[1]!.piece.reject(new SpeechError("WORKER_LOST", "gone"));
  await assert.rejects(second, hasCode("WORKER_LOST"));
  await assert.rejects(iterator.next(), hasCode("WORKER_LOST"));
});

test("a failure while nobody waits is kept for the next read", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = new SynthesisSession(planOf("a", "b"), synthesizer);
  const iterator = session.sentences()[Symbol.asyncIterator]();
  const first = iterator.next();
  synthesizer.answer();
  await first;
  synthesizer.spoken[1]!.piece.reject(new Error("not one of ours"));
  await settled();
  await assert.rejects(iterator.next(), hasCode("INTERNAL"));
});

test("stop cancels the piece in work and fails the reader that waits", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = new SynthesisSession(planOf("a", "b"), synthesizer);
  const reading = readAll(session);
  await settled();
  session.stop("service-stops");
  session.stop("client-left");
  await assert.rejects(reading, hasCode("CANCELLED"));
  assert.equal(synthesizer.spoken[0]!.signal.aborted, true);
  await settled();
  assert.deepEqual(synthesizer.texts, ["a"], "nothing is begun after the stop");
});

test("a reader that breaks off cancels the work", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = new SynthesisSession(planOf("a", "b", "c"), synthesizer);
  await settled();
  const reading = (async () => {
    for await (const _ of session.sentences()) break;
  })();
  await settled();
  synthesizer.answer();
  await reading;
  assert.equal(synthesizer.spoken.at(-1)!.signal.aborted, true);
  await settled();
  assert.deepEqual(synthesizer.texts, ["a", "b"]);
});

test("stop after the end changes nothing", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const session = new SynthesisSession(planOf("a"), synthesizer);
  const iterator = session.sentences()[Symbol.asyncIterator]();
  await iterator.next();
  assert.equal((await iterator.next()).done, true);
  session.stop("client-left");
  assert.equal((await iterator.next()).done, true);
  assert.equal(synthesizer.spoken[0]!.signal.aborted, false);
});

test("a failing sentence ends the pieces after it", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = new SynthesisSession(planOf("a|b|c"), synthesizer);
  const reading = readAll(session);
  synthesizer.spoken[0]!.piece.reject(new SpeechError("ENGINE_BUSY", "full"));
  await assert.rejects(reading, hasCode("ENGINE_BUSY"));
  assert.deepEqual(synthesizer.texts, ["a"]);
});
