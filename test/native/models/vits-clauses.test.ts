import assert from "node:assert/strict";
import { test } from "node:test";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { VitsContents, VitsManifest } from "../../../native/models/vits/manifest.js";
import { keptSamples } from "../../../native/models/vits/part-silence.js";
import { SentenceParts } from "../../../native/models/vits/sentence-parts.js";
import { Playback, WorkPace } from "../../../native/models/vits/speech-pace.js";
import { Vits } from "../../../native/models/vits/vits.js";
import { NEEDS_ESPEAK } from "../../support/espeak.js";
import { changeManifest, copyOfPackage, type Json } from "../../support/folders.js";
import { type GivenPiece, speakPiece } from "../../support/speak-piece.js";

const FOLDER = "test/fixtures/adapters/tiny-vits";
const STREAMED: SynthesisJob = {
  modelId: "tiny-vits",
  voice: "first",
  spokenText: "таулы жерлерде жаңбыр жауады, ал кешке қарай жел күшейіп, күн салқындайды деп күтіледі.",
  speed: 1,
  nfe: 8,
  seed: 1,
  chunking: "growing",
};

/** The parts of a sentence of letters, each with at most `limit` symbols where possible. */
function cut(sentence: string, limit: number, words: string | null = null): string[] {
  const parts = new SentenceParts([...sentence], words?.split(" ") ?? null);
  const found: string[] = [];
  while (!parts.isAtEnd) found.push(parts.next(limit).join(""));
  return found;
}

/** Speaks with a new model, which expects its first part to take as long to compute as to play. */
async function spoken(fields: Json, job: SynthesisJob = STREAMED): Promise<GivenPiece> {
  const folder = await copyOfPackage(FOLDER);
  await changeManifest(folder, (manifest) => ({ ...manifest, durations: "durations", ...fields }));
  const model = await Vits.load(await readPackage<VitsManifest, VitsContents>(folder, "synthesis"), {
    intraOpThreads: 1,
  });
  const piece = await speakPiece(model, job);
  await model.release();
  return piece;
}

test("a sentence is cut at punctuation first, then before conjunctions, then between words", () => {
  assert.deepEqual(cut("ab cd, ef gh", 8), ["ab cd,", "ef gh"]);
  assert.deepEqual(cut("мама мыла раму и папа спал", 15, "мама мыла раму и папа спал"), [
    "мама мыла раму",
    "и папа спал",
  ]);
  assert.deepEqual(cut("abc def ghi jkl", 8), ["abc def", "ghi jkl"]);
  assert.deepEqual(cut("abc def", 100), ["abc def"]);
  assert.deepEqual(cut("abcdefghijkl mno pqrs", 4), ["abcdefghijkl", "mno", "pqrs"]);
});

test("a number stays with what it counts, a preposition and a postposition with its noun", () => {
  const said = (text: string, limit: number) => cut(text, limit, text);
  assert.deepEqual(said("он бес километр жүрдік", 8), ["он бес километр", "жүрдік"]);
  assert.deepEqual(said("приехал двадцать пять минут назад", 8), ["приехал", "двадцать пять минут", "назад"]);
  assert.deepEqual(said("живёт в городе около реки", 8), ["живёт", "в городе", "около реки"]);
  assert.deepEqual(said("бала үшін келдік", 6), ["бала үшін", "келдік"]);
});

test("without its text, an unstressed word stays with the next one", () => {
  assert.deepEqual(cut("na ɡˈorʲe sˈel", 4), ["na ɡˈorʲe", "sˈel"]);
});

test("no symbol is lost or spoken twice, whatever the limit", () => {
  const sentence = "sˈal em, dˈal; kem nˈor, tˈik pˈa nˈe.";
  for (let limit = 1; limit < 40; limit++) {
    assert.equal(cut(sentence, limit).join(" "), sentence, `limit ${limit}`);
  }
});

test("the next part may take as long as the buffered speech, less a reserve", () => {
  let nowMs = 1_000;
  const playback = new Playback(null, () => nowMs);
  assert.equal(playback.workSeconds, 0.5);
  // The time for reading and encoding the text counts too.
  nowMs += 200;
  assert.ok(Math.abs(playback.workSeconds - 0.3) < 1e-9);
  nowMs += 5_000;
  assert.equal(playback.workSeconds, 0.25);
  playback.sent(4);
  nowMs += 1_000;
  assert.ok(Math.abs(playback.workSeconds - 0.8 * 3) < 1e-9);
  nowMs += 10_000;
  assert.equal(playback.workSeconds, 0.5);
  // After the listener has run out of audio, playback continues with the next samples.
  playback.sent(2);
  assert.equal(playback.workSeconds, 0.8 * 2);
  assert.equal(new Playback(nowMs + 5_000, () => nowMs).workSeconds, 4);
});

test("the expected pace follows the measurements", () => {
  const pace = new WorkPace(1);
  for (let i = 0; i < 10; i++) pace.learn(10, 1);
  assert.ok(Math.abs(pace.unitsIn(2) - 20) < 0.2, String(pace.unitsIn(2)));
});

test("silence at a join is trimmed; silence at punctuation and at the ends of the sentence is kept", () => {
  const rate = 1_000;
  const samples = new Float32Array(1_000);
  samples.fill(0.5, 300, 400);
  const keep = (isFirst: boolean, isLast: boolean, hasMark: boolean) => {
    const { start, end } = keptSamples(samples, rate, { isFirst, isLast, hasMark });
    return [start, end];
  };
  assert.deepEqual(keep(true, true, true), [0, 1_000]);
  assert.deepEqual(keep(true, false, true), [0, 650]);
  assert.deepEqual(keep(false, false, false), [280, 420]);
  assert.deepEqual(keep(false, true, true), [280, 1_000]);
  const silence = keptSamples(new Float32Array(100), rate, { isFirst: false, isLast: false, hasMark: false });
  assert.deepEqual(silence, { start: 0, end: 100 });
});

test("only a streamed piece is cut, and only with pieces: clauses", NEEDS_ESPEAK, async () => {
  const { chunking: _, ...whole } = STREAMED;
  const parts = async (fields: Json, job: SynthesisJob) => (await spoken(fields, job)).parts.length;
  assert.ok((await parts({}, STREAMED)) > 1);
  assert.equal(await parts({ pieces: "sentence" }, STREAMED), 1);
  assert.equal(await parts({}, whole), 1);
});

test("words keep their times across parts", NEEDS_ESPEAK, async () => {
  const [cutUp, whole] = [await spoken({}), await spoken({ pieces: "sentence" })];
  assert.ok(cutUp.parts.length > 1, String(cutUp.parts));
  const { bounds } = cutUp;
  assert.equal(bounds!.length, STREAMED.spokenText.length + 1);
  for (let i = 1; i < bounds!.length; i++) assert.ok(bounds![i]! >= bounds![i - 1]!, `character ${i}`);
  assert.ok(bounds!.at(-1)! <= cutUp.samples.length);
  for (const { 0: word, index } of STREAMED.spokenText.matchAll(/\p{L}+/gu)) {
    const length = (of: Int32Array) => of[index + word.length]! - of[index]!;
    assert.equal(length(bounds!), length(whole.bounds!), word);
  }
});
