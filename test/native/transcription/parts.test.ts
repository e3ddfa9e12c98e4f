import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import type { FilePiece, HeardPart, WavSource } from "../../../native/threads/protocol.js";
import { decodePieces } from "../../../native/transcription/decode.js";
import { openWav, WavAudio } from "../../../native/transcription/file-audio.js";
import { hearPart } from "../../../native/transcription/hear.js";
import { joined, silence, speech, wavOf } from "../../support/audio.js";
import { RECOGNIZER_FOLDER, temporaryFolder } from "../../support/folders.js";

const FRAME_SAMPLES = 640;
const AUDIO = joined(
  silence(0.5, 24_000),
  speech("kazakh-speech-commands/example_1.flac", 24_000),
  silence(0.8, 24_000),
  speech("asterisk-ru-core/conf-getconfno.flac", 24_000),
  silence(0.6, 24_000),
);

let recognizer: Recognizer;
let source: WavSource;
let frameCount: number;

before(async () => {
  const path = join(await temporaryFolder(), "speech.wav");
  await writeFile(path, wavOf(AUDIO, 24_000, 1));
  source = await openWav(path);
  frameCount = Math.ceil((AUDIO.length * 16) / 24 / FRAME_SAMPLES) + 12;
  recognizer = await recognizerIn(RECOGNIZER_FOLDER);
});

after(() => recognizer.model.release());

function hear(startFrame: number, endFrame: number, state: HeardPart["state"] = null): Promise<HeardPart> {
  const task = { type: "hear", source, startFrame, endFrame, state, room: null, cell: cell() } as const;
  return hearPart(task, recognizer.model);
}

function cell(value = 0): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(4);
  new Int32Array(shared)[0] = value;
  return shared;
}

function rowsOf({ encoded, encodedSize }: HeardPart, startFrame: number, endFrame: number): Float32Array {
  return new Float32Array(encoded).slice(startFrame * encodedSize, endFrame * encodedSize);
}

test("parts of a file are bit-identical to the whole, encoded alone or from the previous state", async () => {
  const whole = await hear(0, frameCount);
  const borders = [0, 37, 50, 131, frameCount];
  let before: HeardPart | null = null;
  for (const [at, start] of borders.slice(0, -1).entries()) {
    const end = borders[at + 1]!;
    const alone: HeardPart = await hear(start, end);
    before = await hear(start, end, before?.state ?? null);
    for (const part of [alone, before]) {
      assert.deepEqual(part.speech, whole.speech.slice(start, end), `speech from frame ${start}`);
      const [found, expected] = [rowsOf(part, 0, end - start), rowsOf(whole, start, end)];
      assert.ok(
        Buffer.compare(Buffer.from(found.buffer), Buffer.from(expected.buffer)) === 0,
        `from ${start}`,
      );
    }
  }
});

async function pieceOf(
  startFrame: number,
  endFrame: number,
  changes: Partial<FilePiece>,
): Promise<FilePiece> {
  // The piece is decoded in two parts, as when a part of the file ends inside it.
  const middle = startFrame + 20;
  const parts = await Promise.all(
    [[startFrame, middle] as const, [middle, endFrame + 9] as const].map(async ([start, end]) => {
      return { encoded: (await hear(start, end)).encoded, startFrame: start, endFrame: end };
    }),
  );
  return {
    ...{ source, startFrame, endFrame, endSample: endFrame * FRAME_SAMPLES, speechMean: 1, parts },
    ...{ isCutBefore: false, isCutBehind: false, hotWords: [], cell: cell() },
    ...changes,
  };
}

test("a piece cut from speech is decoded like its audio alone", async () => {
  const [startFrame, endFrame] = [25, 95];
  const audio = await WavAudio.open(source, 16_000);
  const pcm = await audio.read({ start: startFrame * FRAME_SAMPLES, end: endFrame * FRAME_SAMPLES });
  await audio.close();
  const expected = await recognizer.utterances.decode(pcm, {
    offsetSeconds: startFrame * 0.04,
    speechMean: 1,
    hotWords: null,
  });
  assert.notEqual(expected.text, "");
  const cut = await pieceOf(startFrame, endFrame, { isCutBefore: true, isCutBehind: true });
  const [answer] = await decodePieces([cut], recognizer);
  assert.deepEqual(answer, { ok: true, value: expected });
});

test("pieces of several files that share runs are decoded like each alone", async () => {
  const path = join(await temporaryFolder(), "other.wav");
  await writeFile(path, wavOf(AUDIO, 24_000, 1));
  const other = await openWav(path);
  const pieces = [
    await pieceOf(5, 100, {}),
    await pieceOf(12, 60, { source: other }),
    await pieceOf(5, 100, { cell: cell(1) }),
    await pieceOf(8, 95, { source: other, isCutBefore: true }),
    await pieceOf(30, 90, { isCutBehind: true }),
  ];
  const alone = await decodePieces(pieces, recognizer);
  assert.ok(alone.filter((answer) => answer.ok && answer.value.text !== "").length >= 3);
  const { model } = recognizer;
  const ran: number[] = [];
  const refine = model.refine.bind(model);
  Object.assign(model, {
    refine: (utterances: readonly Float32Array[]) => {
      ran.push(utterances.length);
      return refine(utterances);
    },
  });
  try {
    assert.deepEqual(await decodePieces(pieces, recognizer, [{ frames: 250, rows: 4 }]), alone);
  } finally {
    Object.assign(model, { refine });
  }
  // The pieces are sorted by length: 95, 95 (cancelled) and 87, then 60 and 48.
  assert.deepEqual(ran, [2, 2]);
});

test("a cancelled file rejects only its own pieces", async () => {
  const piece = await pieceOf(5, 100, {});
  const [alone] = await decodePieces([piece], recognizer);
  assert.ok(alone?.ok === true && alone.value.text !== "");
  const answers = await decodePieces([{ ...piece, cell: cell(1) }, piece], recognizer);
  assert.deepEqual(answers[1], alone);
  assert.ok(answers[0]?.ok === false && answers[0].code === "CANCELLED");
});

test("an unreadable file fails only its own pieces", async () => {
  const piece = await pieceOf(5, 100, {});
  const [alone] = await decodePieces([piece], recognizer);
  const gone = { ...source, path: `${source.path}.gone` };
  // The samples would lie beyond the end of this file.
  const path = join(await temporaryFolder(), "shorter.wav");
  await writeFile(path, wavOf(AUDIO.subarray(0, 100), 24_000, 1));
  const pieces = [{ ...piece, source: gone }, piece, { ...piece, source: { ...source, path } }];
  const answers = await decodePieces(pieces, recognizer);
  assert.deepEqual([answers[0]?.ok, answers[2]?.ok], [false, false]);
  assert.deepEqual(answers[1], alone);
});

test("samples have 16 bits at the model's rate, followed by silence", async () => {
  const path = join(await temporaryFolder(), "same-rate.wav");
  const pcm = speech("asterisk-ru-core/conf-getconfno.flac");
  await writeFile(path, wavOf(joined(pcm, pcm), 16_000, 2));
  const audio = await WavAudio.open(await openWav(path), 16_000);
  assert.equal(audio.sampleCount, 2 * pcm.length);
  const span = { start: pcm.length - 10, end: 2 * pcm.length + 10 };
  const expected = joined(pcm.slice(-10), pcm, new Int16Array(10));
  assert.deepEqual(await audio.read(span), toFloat(expected));
  await audio.close();
});
