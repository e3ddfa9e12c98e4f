import assert from "node:assert/strict";
import { test } from "node:test";
import type { SynthesisPlan } from "../../../actors/synthesis/plan.js";
import { SynthesisSession } from "../../../actors/synthesis/session.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { RoomTone } from "../../../core/domain/synthesis/room-tone.js";
import type { Urgency } from "../../../core/domain/synthesis/urgency.js";
import type { Delivery, SpeechChunk } from "../../../core/ports/conversations.js";
import type {
  SpeakOptions,
  SynthesisJob,
  SynthesizedPiece,
  Synthesizer,
} from "../../../core/ports/synthesizer.js";
import { type Deferred, deferred, settled } from "../../support/deferred.js";

const RATE_HZ = 24_000;
const PAUSE_SAMPLES = 3;

interface Spoken {
  readonly job: SynthesisJob;
  readonly signal: AbortSignal;
  readonly options: SpeakOptions;
  readonly piece: Deferred<SynthesizedPiece>;
}

/** Outputs one sample per letter, the code of that letter, immediately or when the test allows. */
class FakeSynthesizer implements Synthesizer {
  readonly spoken: Spoken[] = [];
  readonly #isPatient: boolean;

  constructor(options: { readonly isPatient: boolean }) {
    this.#isPatient = options.isPatient;
  }

  get texts(): string[] {
    return this.spoken.map(({ job }) => job.spokenText);
  }

  get urgencies(): (Urgency | undefined)[] {
    return this.spoken.map(({ options }) => options.urgency);
  }

  get chunkings(): readonly (string | undefined)[] {
    return this.spoken.map(({ job }) => job.chunking);
  }

  speak(job: SynthesisJob, signal: AbortSignal, options: SpeakOptions = {}): Promise<SynthesizedPiece> {
    const piece = deferred<SynthesizedPiece>();
    this.spoken.push({ job, signal, options, piece });
    signal.addEventListener("abort", () => piece.reject(new ServiceError("CANCELLED", "cancelled")));
    if (!this.#isPatient) this.answer();
    return piece.promise;
  }

  /** Completes the latest piece. */
  answer(): void {
    const { job, options, piece } = this.spoken.at(-1)!;
    const pcm = pcmOf(job.spokenText);
    for (let at = 0; at < pcm.length; at++) options.onPcm?.(pcm.subarray(at, at + 1));
    piece.resolve({ pcm, sampleRateHz: RATE_HZ, characterBounds: null });
  }
}

function pcmOf(text: string): Int16Array {
  return Int16Array.from(text, (letter) => letter.charCodeAt(0));
}

/** Builds a plan with one sentence per argument; `|` cuts a sentence into pieces. */
function planOf(...sentences: readonly string[]): SynthesisPlan {
  return {
    sentences: sentences.map((text, index) => ({
      pieces: text.split("|").map((piece) => ({ text: piece, words: [] })),
      pauseSamples: index === sentences.length - 1 ? 0 : PAUSE_SAMPLES,
      charactersThrough: 4 * (index + 1),
    })),
    billedCharacters: 12,
    droppedCharacters: 0,
    sampleRateHz: RATE_HZ,
    speed: 1,
    roomTone: null,
    voicing: { modelId: "m", voice: "v", speed: 1, nfe: 4, seed: 9 },
  };
}

async function readAll(session: SynthesisSession): Promise<number[][]> {
  const pieces: number[][] = [];
  let sentence: number[] = [];
  for await (const { pcm, sampleRateHz, endsSentence } of session.chunks()) {
    assert.equal(sampleRateHz, RATE_HZ);
    sentence.push(...pcm);
    if (!endsSentence) continue;
    pieces.push(sentence);
    sentence = [];
  }
  return pieces;
}

/** Reads the next sentence of a session, chunk by chunk. */
async function readSentence(chunks: AsyncIterator<SpeechChunk>): Promise<void> {
  for (;;) {
    const { done, value } = await chunks.next();
    if (done === true || value.endsSentence) return;
  }
}

let nowMs = 0;

function sessionOf(plan: SynthesisPlan, synthesizer: Synthesizer, delivery: Delivery = "chunks") {
  return new SynthesisSession(plan, { synthesizer, delivery, clock: { nowMs: () => nowMs } });
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

test("sentences arrive in order with pauses between them and none after the last", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const session = sessionOf(planOf("ab|c", "d", "ef"), synthesizer);
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
    chunking: "growing",
  });
});

test("silence before the first sentence arrives with its speech, not earlier", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const plan = planOf("ab");
  const sentences = [{ ...plan.sentences[0]!, leadSamples: 3, pauseSamples: 2 }];
  const session = sessionOf({ ...plan, sentences }, synthesizer);
  const whole = readAll(session);
  await settled();
  synthesizer.answer();
  assert.deepEqual(await whole, [[0, 0, 0, ...pcmOf("ab"), 0, 0]]);
  const failing = sessionOf({ ...plan, sentences }, synthesizer);
  const first = failing.chunks()[Symbol.asyncIterator]().next();
  await settled();
  synthesizer.spoken.at(-1)!.piece.reject(new ServiceError("WORKER_LOST", "lost"));
  await assert.rejects(first, /lost/);
});

test("nothing is synthesized before the first read", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const session = sessionOf(planOf("a", "b"), synthesizer);
  await settled();
  assert.deepEqual(synthesizer.texts, []);
  session.stop("client-left");
});

test("at most two sentences are synthesized for a reader that stops reading", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const session = sessionOf(planOf("a", "b", "c", "d", "e"), synthesizer);
  const iterator = session.chunks()[Symbol.asyncIterator]();
  await readSentence(iterator);
  await settled();
  assert.deepEqual(synthesizer.texts, ["a", "b", "c"]);
  await readSentence(iterator);
  await settled();
  assert.deepEqual(synthesizer.texts, ["a", "b", "c", "d"]);
  await iterator.return?.();
});

/** At this rate a sample lasts ten seconds, and so does a spoken letter. */
const SLOW_RATE_HZ = 0.1;

for (const delivery of ["chunks", "sentences"] as const) {
  test(`a minute of an endless sentence is synthesized ahead of a slow reader of ${delivery}`, async () => {
    const synthesizer = new FakeSynthesizer({ isPatient: false });
    const plan = { ...planOf("a", Array(30).fill("b").join("|"), "c"), sampleRateHz: SLOW_RATE_HZ };
    const session = sessionOf(plan, synthesizer, delivery);
    const iterator = session.chunks()[Symbol.asyncIterator]();
    await readSentence(iterator);
    await settled();
    const aheadPieces = synthesizer.texts.length - 1;
    assert.ok(aheadPieces >= 6 && aheadPieces <= 8, `${aheadPieces} pieces of 10 s`);
    await settled();
    assert.equal(synthesizer.texts.length - 1, aheadPieces, "and nothing more");
    const rest: string[] = [];
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      rest.push(String.fromCharCode(...next.value.pcm.filter((sample) => sample > 0)));
      await settled();
      const ahead = synthesizer.texts.length - 1 - rest.filter((text) => text !== "").length;
      assert.ok(ahead <= 8, `${ahead} pieces`);
    }
    assert.equal(rest.join(""), `${"b".repeat(30)}c`, "all of it comes, in order");
  });
}

test("a stopped session that waits for its reader requests no more pieces", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const plan = { ...planOf(Array(30).fill("b").join("|")), sampleRateHz: SLOW_RATE_HZ };
  const session = sessionOf(plan, synthesizer);
  const iterator = session.chunks()[Symbol.asyncIterator]();
  await iterator.next();
  await settled();
  const before = synthesizer.texts.length;
  assert.ok(before < 30, `${before} pieces`);
  session.stop("client-left");
  await assert.rejects(iterator.next(), hasCode("CANCELLED"));
  await settled();
  assert.equal(synthesizer.texts.length, before);
});

test("a failure rejects the waiting read and every later one", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = sessionOf(planOf("a", "b"), synthesizer);
  const iterator = session.chunks()[Symbol.asyncIterator]();
  const first = readSentence(iterator);
  synthesizer.answer();
  await first;
  const second = iterator.next();
  synthesizer.spoken[1]!.piece.reject(new ServiceError("WORKER_LOST", "gone"));
  await assert.rejects(second, hasCode("WORKER_LOST"));
  await assert.rejects(iterator.next(), hasCode("WORKER_LOST"));
});

test("a failure between reads is kept for the next read", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = sessionOf(planOf("a", "b"), synthesizer);
  const iterator = session.chunks()[Symbol.asyncIterator]();
  const first = readSentence(iterator);
  synthesizer.answer();
  await first;
  synthesizer.spoken[1]!.piece.reject(new Error("not one of ours"));
  await settled();
  await assert.rejects(iterator.next(), hasCode("INTERNAL"));
});

test("stop cancels the running piece and fails the waiting reader", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = sessionOf(planOf("a", "b"), synthesizer);
  const reading = readAll(session);
  await settled();
  session.stop("service-stops");
  session.stop("client-left");
  await assert.rejects(reading, hasCode("CANCELLED"));
  assert.equal(synthesizer.spoken[0]!.signal.aborted, true);
  await settled();
  assert.deepEqual(synthesizer.texts, ["a"], "nothing is begun after the stop");
});

test("a reader that stops early cancels the work", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = sessionOf(planOf("a", "b", "c"), synthesizer);
  await settled();
  const reading = (async () => {
    for await (const { endsSentence } of session.chunks()) if (endsSentence) break;
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
  const session = sessionOf(planOf("a"), synthesizer);
  const iterator = session.chunks()[Symbol.asyncIterator]();
  await readSentence(iterator);
  assert.equal((await iterator.next()).done, true);
  session.stop("client-left");
  assert.equal((await iterator.next()).done, true);
  assert.equal(synthesizer.spoken[0]!.signal.aborted, false);
});

test("a failed sentence ends the pieces after it", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = sessionOf(planOf("a|b|c"), synthesizer);
  const reading = readAll(session);
  synthesizer.spoken[0]!.piece.reject(new ServiceError("ENGINE_BUSY", "full"));
  await assert.rejects(reading, hasCode("ENGINE_BUSY"));
  assert.deepEqual(synthesizer.texts, ["a"]);
});

test("a reader of chunks gets a sentence while it is synthesized, with pauses between its pieces", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: true });
  const session = sessionOf(planOf("ab,|c"), synthesizer);
  const iterator = session.chunks()[Symbol.asyncIterator]();
  const next = async () => [...(await iterator.next()).value.pcm];
  const first = next();
  synthesizer.spoken[0]!.options.onPcm?.(Int16Array.of(1, 2));
  assert.deepEqual(await first, [1, 2]);
  synthesizer.spoken[0]!.piece.resolve({
    pcm: Int16Array.of(1, 2),
    sampleRateHz: RATE_HZ,
    characterBounds: null,
  });
  assert.deepEqual(await next(), Array(0.09 * RATE_HZ).fill(0), "90 ms at a comma");
  session.stop("client-left");
});

test("pieces are urgent until the first audio, then due when the listener runs out of audio", async () => {
  nowMs = 1_000;
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  const session = sessionOf(planOf("a|b", "c", "d"), synthesizer);
  const iterator = session.chunks()[Symbol.asyncIterator]();
  await readSentence(iterator);
  await settled();
  const afterFirst = 1_000 + (2 / RATE_HZ) * 1_000;
  assert.deepEqual(synthesizer.urgencies.slice(0, 2), [
    { kind: "first" },
    { kind: "heard", runsDryAtMs: 1_000 + (1 / RATE_HZ) * 1_000 },
  ]);
  assert.ok(synthesizer.urgencies.slice(2).every((urgency) => urgency?.kind === "heard"));
  const third = synthesizer.urgencies[2];
  assert.equal(third?.kind === "heard" && third.runsDryAtMs, afterFirst + (PAUSE_SAMPLES / RATE_HZ) * 1_000);
  await iterator.return?.();
});

test("a reader of sentences has a deadline for the first one, a reader of the whole speech has none", async () => {
  for (const [delivery, kinds] of [
    ["sentences", ["first", "first", "heard"]],
    ["whole", ["whole", "whole", "whole"]],
  ] as const) {
    const synthesizer = new FakeSynthesizer({ isPatient: false });
    await readAll(sessionOf(planOf("a|b", "c"), synthesizer, delivery));
    assert.deepEqual(
      synthesizer.urgencies.map((urgency) => urgency?.kind),
      kinds,
    );
    const wholly = [undefined, undefined, undefined];
    assert.deepEqual(synthesizer.chunkings, wholly, "nobody hears less than a sentence");
  }
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  await readAll(sessionOf(planOf("a|b", "c"), synthesizer));
  assert.deepEqual(synthesizer.chunkings, ["growing", "growing", "growing"]);
});

test("speech ends after an hour, regardless of the plan's estimate", async () => {
  const synthesizer = new FakeSynthesizer({ isPatient: false });
  // At this rate a sample lasts ten seconds, and so does a spoken letter.
  const slowly = (...texts: readonly string[]) => ({ ...planOf(...texts), sampleRateHz: 0.1 });
  const session = sessionOf(slowly("a".repeat(300), "b".repeat(50), "c".repeat(9)), synthesizer, "whole");
  let samples = 0;
  await assert.rejects(async () => {
    for await (const { pcm } of session.chunks()) samples += pcm.length;
  }, hasCode("TEXT_TOO_LONG"));
  assert.ok(samples <= 360, `${samples} samples`);
  assert.equal(synthesizer.spoken.at(-1)?.signal.aborted, true, "nothing more is synthesized");
  const hour = sessionOf(slowly("a".repeat(300), "b".repeat(57)), synthesizer, "whole");
  let heard = 0;
  for await (const { pcm } of hour.chunks()) heard += pcm.length;
  assert.equal(heard, 360);
});

test("room tone runs under the whole response, however it is delivered and chunked", async () => {
  const source = { cutoffHz: 800, seed: 3 };
  const tone = new RoomTone(source);
  const plan = { ...planOf("ab,|c", "d"), roomTone: source };
  const sentences = [{ ...plan.sentences[0]!, leadSamples: 500 }, plan.sentences[1]!];
  const dry = (await readAll(sessionOf({ ...plan, sentences, roomTone: null }, fast()))).flat();
  const expected = [...tone.under(Int16Array.from(dry), 0)];
  assert.ok(dry.filter((sample) => sample === 0).length > 2_000);
  for (const delivery of ["chunks", "sentences", "whole"] as const) {
    const heard = await readAll(sessionOf({ ...plan, sentences }, fast(), delivery));
    assert.deepEqual(heard.flat(), expected, delivery);
  }
});

function fast(): FakeSynthesizer {
  return new FakeSynthesizer({ isPatient: false });
}
