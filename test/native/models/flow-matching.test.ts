import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { integratedLoudness } from "../../../bench/support/loudness.js";
import { addedClickDb } from "../../../bench/support/seams.js";
import { paddedPatches } from "../../../core/domain/synthesis/solver-schedule.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { readPackage } from "../../../native/models/find-packages.js";
import { FlowMatching } from "../../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../../native/models/flow-matching/manifest.js";
import type { SolverPiece } from "../../../native/models/flow-matching/solver-piece.js";
import { speakAlone } from "../../../native/models/flow-matching/speak-alone.js";
import type { MelSynthesizerManifest } from "../../../native/models/manifest.js";
import { changeManifest, copyOfPackage, type Json, SYNTHESIZER_FOLDER } from "../../support/folders.js";

const RATE_HZ = 24_000;
const HOP = 256;
const JOB: SynthesisJob = {
  modelId: "svc-kk-v1",
  voice: "aigul",
  spokenText: "қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  speed: 1,
  nfe: 4,
  seed: 1,
};
const OTHERS: readonly SynthesisJob[] = [
  { ...JOB, spokenText: "сәлем.", voice: "dauren", nfe: 6, seed: 2 },
  { ...JOB, spokenText: "кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.", seed: 3 },
];
/**
 * Matrices of other shapes are multiplied in another order. The difference is 32-bit rounding, far below
 * 16-bit resolution.
 */
const ROUNDING = 1e-4;

let model: FlowMatching;

before(async () => {
  const modelPackage = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(
    SYNTHESIZER_FOLDER,
    "synthesis",
  );
  model = await FlowMatching.load(modelPackage, { intraOpThreads: 1 });
});

after(() => model.release());

function farthest(a: Float32Array, b: Float32Array): number {
  assert.equal(a.length, b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}

async function solve(piece: SolverPiece): Promise<SolverPiece> {
  while (model.isUnsolved(piece)) await model.solveChunk(piece);
  return piece;
}

test("a piece is bit-identical alone and in a batch that changes at each step", async () => {
  const alone = await solve(await model.begin(JOB));
  const piece = await model.begin(JOB);
  const others = await Promise.all(OTHERS.map((job) => model.begin(job)));
  const company = [[], [others[0]!], [others[0]!, others[1]!], [others[1]!]];
  for (const mates of company) {
    const rows = [...mates, piece];
    const unsolved = rows.filter((row) => model.isUnsolved(row));
    await model.step(unsolved, paddedPatches(Math.max(...rows.map(({ patches }) => patches))));
  }
  const length = piece.frames * model.manifest.melBins;
  assert.equal(farthest(piece.mel.subarray(0, length), alone.mel.subarray(0, length)), 0);
  assert.equal(others[0]!.solving?.stepsDone, 2);
  // The other pieces continue alone and end as they would have ended anyway.
  for (const [index, mate] of others.entries()) {
    const [together, apart] = [await solve(mate), await solve(await model.begin(OTHERS[index]!))];
    const mateLength = mate.frames * model.manifest.melBins;
    assert.equal(farthest(together.mel.subarray(0, mateLength), apart.mel.subarray(0, mateLength)), 0);
  }
});

test("adjacent windows equal one vocoder run over the piece, alone or in a batch", async () => {
  const piece = await solve(await model.begin(JOB));
  const trim = model.trimOf(piece);
  const whole = { start: trim.start, end: trim.stop, contextStart: 0, contextEnd: piece.frames };
  const [expected] = await model.vocode([{ piece, window: whole }]);
  const other = await solve(await model.begin(OTHERS[1]!));
  for (const isBatched of [false, true]) {
    const joined = new Float32Array(expected!.length);
    let windows = 0;
    for (let start = trim.start; start < trim.stop; windows++) {
      const window = model.windowOf(piece, start)!;
      const size = window.contextEnd - window.contextStart;
      const mate = { start: 20, end: 30, contextStart: 0, contextEnd: size };
      const rows = isBatched && size < other.frames ? [{ piece: other, window: mate }] : [];
      const parts = await model.vocode([...rows, { piece, window }]);
      joined.set(parts.at(-1)!, (start - trim.start) * HOP);
      start = window.end;
    }
    assert.ok(windows > 1, `${windows} windows`);
    assert.ok(farthest(joined, expected!) < ROUNDING);
  }
});

/**
 * Computes a piece in growing chunks, at the model's own level. Each chunk is vocoded as far as possible
 * before the next one is solved.
 */
async function inChunks(job: SynthesisJob) {
  const piece = await model.begin({ ...job, chunking: "growing" });
  const parts: Float32Array[] = [];
  let next = 0;
  while (model.isUnsolved(piece)) {
    await model.solveChunk(piece);
    piece.gain = [];
    if (parts.length === 0) next = model.trimOf(piece).start;
    for (let window = model.windowOf(piece, next); window !== null; window = model.windowOf(piece, next)) {
      parts.push(...(await model.vocode([{ piece, window }])));
      next = window.end;
    }
  }
  return { piece, pcm: Float32Array.from(parts.flatMap((part) => [...part])) };
}

function conditionOf({ condition, patches }: SolverPiece): Promise<Float32Array> {
  return condition.of(0, patches);
}

test("the condition of the first chunk and the rest is bit-identical to that of one run", async () => {
  const spokenText = LEVEL_TEXTS.slice(3, 6).join(" ");
  for (const job of [
    { ...JOB, spokenText, melody: 1.2 },
    { ...JOB, spokenText, voice: "saule", speed: 0.9 },
  ]) {
    const [whole, piece] = [await model.begin(job), await model.begin({ ...job, chunking: "growing" })];
    const { contextEnd } = piece.chunks[0]!;
    const isMade = (frame: number) => piece.f0[frame]! > 0;
    assert.ok(isMade(2 * contextEnd), "pulses need one more frame than the chunk");
    assert.ok(!isMade(piece.frames / 2), "half of the piece is not made yet");
    assert.equal(farthest(await conditionOf(piece), await conditionOf(whole)), 0);
    assert.equal(farthest(piece.f0, whole.f0), 0);
    assert.equal(farthest(piece.voicing, whole.voicing), 0);
  }
});

test("a piece in growing chunks sounds like the whole piece, without clicks", async () => {
  for (const job of [JOB, OTHERS[1]!, { ...JOB, voice: "dauren", spokenText: LEVEL_TEXTS[6]! }]) {
    const whole = await solve(await model.begin(job));
    whole.gain = [];
    const trim = model.trimOf(whole);
    const window = { start: trim.start, end: trim.stop, contextStart: 0, contextEnd: whole.frames };
    const [expected] = await model.vocode([{ piece: whole, window }]);
    const { piece, pcm } = await inChunks(job);
    assert.ok(piece.chunks.length > 2, `${piece.chunks.length} chunks`);
    assert.deepEqual(model.trimOf(piece), trim);
    assert.equal(pcm.length, expected!.length);
    const length = piece.frames * model.manifest.melBins;
    const distance =
      piece.mel.subarray(0, length).reduce((sum, value, i) => sum + Math.abs(value - whole.mel[i]!), 0) /
      length;
    // Integer products may round nearly equal inputs to different steps. For comparison, results with 16 and
    // with 32 steps differ by twice as much.
    assert.ok(distance < 5e-3, `mean distance ${distance}`);
    for (const { start } of piece.chunks.slice(1)) {
      const addedDb = addedClickDb(expected!, pcm, (2 * start - trim.start) * HOP, RATE_HZ);
      assert.ok(addedDb <= -45, `patch ${start}: ${addedDb.toFixed(1)} dB`);
    }
  }
});

test("the border measure detects a click", () => {
  const tone = Float32Array.from(
    { length: RATE_HZ },
    (_, i) => 0.3 * Math.sin((2 * Math.PI * 220 * i) / RATE_HZ),
  );
  const clicked = tone.map((sample, i) => (i < 12_000 ? sample : sample * 1.02));
  assert.ok(addedClickDb(tone, clicked, 12_000, RATE_HZ) > -45);
  assert.ok(addedClickDb(tone, tone, 12_000, RATE_HZ) < -100);
});

test("chunks that share steps with other pieces have the same result as alone", async () => {
  const alone = await inChunks(JOB);
  const [piece, mate] = [
    await model.begin({ ...JOB, chunking: "growing" }),
    await model.begin({ ...OTHERS[1]!, chunking: "growing" }),
  ];
  while (model.isUnsolved(piece) && model.isUnsolved(mate)) {
    const longest = Math.max(piece.solving.patches, mate.solving.patches);
    await model.step([mate, piece], paddedPatches(longest));
  }
  const known = Math.min(piece.solvedFrames, alone.piece.solvedFrames) * model.manifest.melBins;
  assert.ok(known > 0);
  assert.ok(farthest(piece.mel.subarray(0, known), alone.piece.mel.subarray(0, known)) < ROUNDING);
});

/** Converts a ratio of amplitudes to decibels. */
function decibels(share: number): number {
  return 20 * Math.log10(Math.max(share, 1e-9));
}

test("pieces join without an impulse above -45 dB of the speech around it", async () => {
  const texts = ["кітапхана сағат тоғызда ашылып,", "кешке дейін жұмыс істейді.", "ас-астың орны бар."];
  for (const voice of ["aigul", "dauren"]) {
    const pieces: Float32Array[] = [];
    for (const spokenText of texts) pieces.push(await speakAlone(model, { ...JOB, spokenText, voice }));
    for (const [left, right] of [
      [pieces[0]!, pieces[1]!],
      [pieces[1]!, pieces[2]!],
    ] as const) {
      const impulseDb = seamImpulseDb(left, right);
      assert.ok(impulseDb <= -45, `${voice}: ${impulseDb.toFixed(1)} dB`);
    }
  }
});

test("the seam measure detects a click", () => {
  const tone = Float32Array.from(
    { length: RATE_HZ },
    (_, i) => 0.3 * Math.sin((2 * Math.PI * 220 * i) / RATE_HZ),
  );
  const cut = tone.subarray(0, 12_027);
  assert.ok(seamImpulseDb(cut, tone) > -20);
});

/**
 * Compares the largest jump in slope within 1 ms of a seam with the largest one in the 300 ms on either side.
 * A click is a jump that the signal itself does not have.
 */
function seamImpulseDb(left: Float32Array, right: Float32Array): number {
  const joined = Float32Array.of(...left.subarray(-RATE_HZ * 0.3), ...right.subarray(0, RATE_HZ * 0.3));
  const seam = Math.min(left.length, RATE_HZ * 0.3);
  let [atSeam, around] = [0, 0];
  for (let i = 2; i < joined.length; i++) {
    const jump = Math.abs(joined[i]! - 2 * joined[i - 1]! + joined[i - 2]!);
    if (Math.abs(i - seam) <= RATE_HZ / 1_000) atSeam = Math.max(atSeam, jump);
    else around = Math.max(around, jump);
  }
  return decibels(atSeam / around);
}

test("pieces begin and end with silence of the same length at any speed", async () => {
  for (const job of [JOB, ...OTHERS, { ...JOB, speed: 2 }, { ...JOB, spokenText: "а." }]) {
    const pcm = await speakAlone(model, job);
    const isLoud = (sample: number) => Math.abs(sample) > 1e-3;
    const lead = (pcm.findIndex(isLoud) / RATE_HZ) * 1_000;
    const tail = ((pcm.length - 1 - pcm.findLastIndex(isLoud)) / RATE_HZ) * 1_000;
    // There are 21 to 43 ms of silent frames. Sound may start late within the first frame that is not silent.
    assert.ok(lead > 5 && lead < 60, `${lead} ms before ${job.spokenText}`);
    assert.ok(tail > 25 && tail < 90, `${tail} ms after ${job.spokenText}`);
  }
});

test("the loudness meter reads a tone as the standard specifies", () => {
  const tone = Float32Array.from({ length: 3 * RATE_HZ }, (_, i) =>
    Math.sin((2 * Math.PI * 997 * i) / RATE_HZ),
  );
  assert.ok(Math.abs(integratedLoudness(tone, RATE_HZ) + 3.01) < 0.1);
});

test("a package has a complete loudness model or none", async () => {
  const folder = await copyOfPackage(SYNTHESIZER_FOLDER);
  const load = async () => {
    const modelPackage = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(folder, "synthesis");
    return FlowMatching.load(modelPackage, { intraOpThreads: 1 });
  };
  const numbers = Array(model.manifest.melBins).fill(1);
  const good = { targetLufs: -22, ceiling: 2, slopes: numbers, intercepts: numbers, voiceLufs: {} };
  for (const [loudness, rule] of [
    [{ ...good, slopes: [1] }, /slopes must be 80 numbers/],
    [{ ...good, intercepts: numbers.map(String) }, /intercepts must be 80 numbers/],
    [{ ...good, ceiling: null }, /ceiling must be a number/],
  ] as const) {
    const bytes = JSON.stringify(loudness);
    await writeFile(join(folder, "loudness.json"), bytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    await changeManifest(folder, (manifest) => {
      const files = manifest["files"] as Json;
      return { ...manifest, files: { ...files, loudness: { path: "loudness.json", sha256 } } };
    });
    await assert.rejects(load(), rule);
  }
  await changeManifest(folder, ({ files, ...manifest }) => {
    const { loudness: _, ...others } = files as Json;
    return { ...manifest, files: others };
  });
  const silent = await load();
  const piece = await silent.begin(JOB);
  await silent.solveChunk(piece);
  assert.deepEqual(
    piece.gain.map(({ gain }) => gain),
    [1],
  );
  await silent.release();
});

/**
 * Sentences that were not used in training, in spoken form: statements, questions and exclamations, short and
 * long.
 */
const LEVEL_TEXTS = [
  "істі ине тікпейді, икемді қол тігеді.",
  "ас-астың орны бар.",
  "аш иттің артын сұқ ит жалайды.",
  "қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  "кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.",
  "біз ертең достарымызбен бірге көлге барамыз.",
  "бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады.",
  "сен қайда бара жатырсың?",
  "не деген сұлу қала!",
  "үйге тез кел, біз сені күтіп отырмыз.",
  "мектепте оқушылар ән салып, би биледі.",
  "ол маған ештеңе айтқан жоқ.",
  "жиырма бесінші маусымда емтихан басталады.",
  "аңдамай сөйлеген ауырмай өлер.",
];

for (const voice of ["aigul", "dauren", "saule", "timur"]) {
  test(`pieces of ${voice} are within 1 LU of their mean, without clipping`, async (context) => {
    const levels: number[] = [];
    for (const spokenText of LEVEL_TEXTS) {
      const pcm = await speakAlone(model, { ...JOB, voice, spokenText });
      assert.ok(pcm.every((sample) => Math.abs(sample) < 1));
      levels.push(integratedLoudness(pcm, RATE_HZ));
    }
    const mean = levels.reduce((sum, level) => sum + level, 0) / levels.length;
    const farthest = Math.max(...levels.map((level) => Math.abs(level - mean)));
    context.diagnostic(`${mean.toFixed(2)} LUFS, farthest ${farthest.toFixed(2)} LU`);
    assert.ok(farthest <= 1, `${farthest.toFixed(2)} LU from the mean`);
  });
}

/** The standard deviation of the pitch of voiced frames, in semitones. */
function deviationOf({ f0, voicing }: SolverPiece): number {
  const semitones = [...f0].filter((_, frame) => voicing[frame]! > 0.5).map((hz) => 12 * Math.log2(hz));
  const mean = semitones.reduce((sum, one) => sum + one, 0) / semitones.length;
  return Math.sqrt(semitones.reduce((sum, one) => sum + (one - mean) ** 2, 0) / semitones.length);
}

test("each voice's manner changes the duration and the pitch range of a sentence", async () => {
  const seconds = new Map<string, number>();
  for (const { name, pace, breath, melody = 1 } of model.manifest.voices) {
    const plain = await model.begin({ ...JOB, voice: name });
    const own = await model.begin({ ...JOB, voice: name, speed: pace ?? 1, breath, melody });
    seconds.set(name, (own.frames * HOP) / RATE_HZ);
    const ratio = deviationOf(own) / deviationOf(plain);
    // The pace also shifts the contour slightly.
    assert.ok(Math.abs(ratio / melody - 1) < 0.05, `${name}: ${ratio.toFixed(2)} for ${melody}`);
  }
  const [slowest, slow, quick, quickest] = ["saule", "dauren", "aigul", "timur"].map((v) => seconds.get(v)!);
  for (const [longer, shorter] of [
    [slowest, slow],
    [slow, quick],
    [quick, quickest],
  ] as const) {
    assert.ok(longer! / shorter! > 1.02, `${longer} s, then ${shorter} s`);
  }
});

test("a changed melody changes the condition, and pauses at commas have the voice's length", async () => {
  const spokenText = "иә, жоқ, бар.";
  const plain = await model.begin({ ...JOB, spokenText });
  const wide = await model.begin({ ...JOB, spokenText, melody: 1.2 });
  assert.deepEqual(wide.durations, plain.durations);
  const [values, plainValues] = [await conditionOf(wide), await conditionOf(plain)];
  assert.ok(values.some((value, i) => Math.abs(value - plainValues[i]!) > 1e-3));
  const calm = await model.begin({ ...JOB, spokenText, breath: 2 });
  const frames = (piece: SolverPiece, mark: string) =>
    [...spokenText].reduce((sum, letter, i) => sum + (letter === mark ? piece.durations[i + 1]! : 0), 0);
  assert.ok(Math.abs(frames(calm, ",") / frames(plain, ",") - 2) < 0.2);
  assert.ok(Math.abs(frames(calm, "а") - frames(plain, "а")) <= 1);
});

test("a voice with a melody needs its mean pitch and the columns of the condition", async () => {
  const folder = await copyOfPackage(SYNTHESIZER_FOLDER);
  const read = () => readPackage<MelSynthesizerManifest, FlowMatchingContents>(folder, "synthesis");
  await changeManifest(folder, ({ files, ...manifest }) => {
    const { melody: _, ...others } = files as Json;
    return { ...manifest, files: others };
  });
  await assert.rejects(read(), /melody/);
  await changeManifest(folder, ({ voices, ...manifest }) => ({
    ...manifest,
    voices: (voices as Json[]).map(({ pitchHz: _, ...voice }) => voice),
  }));
  await assert.rejects(read(), /voices\.0\.pitchHz must be given together with melody/);
});
