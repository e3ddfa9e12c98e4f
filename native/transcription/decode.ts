import { HotWords } from "../../src/domain/decoding/hot-words.js";
import { asServiceError } from "../../src/domain/errors.js";
import type { RecognizerModel } from "../models/recognizer.js";
import type { Recognizer } from "../recognition/load-recognizer.js";
import type { DecodedPiece, FileAnswer, FilePiece } from "../threads/protocol.js";
import { obeyCell } from "./task-cell.js";
import { WavAudio } from "./wav-audio.js";

/**
 * The second pass over some pieces of files: the search of each runs beside the graphs of the next. What goes wrong with one
 * is its own outcome.
 */
export async function decodePieces(
  pieces: readonly FilePiece[],
  recognizer: Recognizer,
): Promise<FileAnswer<DecodedPiece>[]> {
  const hotWordsOf = compiledOnce(recognizer.model.vocabulary);
  const searching: Promise<FileAnswer<DecodedPiece>>[] = [];
  for (const piece of pieces) {
    try {
      obeyCell(new Int32Array(piece.cell));
      const { decoded } = await beginPiece(piece, recognizer, hotWordsOf(piece));
      searching.push(decoded.then((value) => ({ ok: true, value }), failureOf));
    } catch (error) {
      searching.push(Promise.resolve(failureOf(error)));
    }
  }
  return Promise.all(searching);
}

/** Settles when the graphs have run. */
async function beginPiece(
  piece: FilePiece,
  { model, utterances }: Recognizer,
  hotWords: HotWords | null,
): Promise<{ readonly decoded: Promise<DecodedPiece> }> {
  const { frameSamples, sampleRateHz } = model.manifest;
  const encoded = await encodedOf(piece, model);
  const { logProbs, frames } = await model.refine(encoded, encoded.length / model.encodedSize);
  const decoded = utterances.search(logProbs, frames, {
    offsetSeconds: (piece.startFrame * frameSamples) / sampleRateHz,
    endSeconds: piece.endSample / sampleRateHz,
    speechMean: piece.speechMean,
    hotWords,
  });
  return { decoded };
}

function failureOf(error: unknown): FileAnswer<never> {
  const { code, message } = asServiceError(error);
  return { ok: false, code, message };
}

/** Pieces of a file have the same words. */
function compiledOnce(vocabulary: readonly string[]): (piece: FilePiece) => HotWords | null {
  const compiled = new Map<SharedArrayBuffer, HotWords | null>();
  return ({ cell, hotWords }) => {
    let words = compiled.get(cell);
    if (words === undefined) {
      words = HotWords.compile(hotWords, vocabulary);
      compiled.set(cell, words);
    }
    return words;
  };
}

/** What the second pass works on, `[frames, encodedSize]`. */
async function encodedOf(piece: FilePiece, model: RecognizerModel): Promise<Float32Array> {
  const { encodedSize, manifest } = model;
  const { startFrame, endFrame, isCutBefore, isCutBehind } = piece;
  const flushFrames = isCutBehind ? Math.ceil(manifest.flushSamples / manifest.frameSamples) : 0;
  const encoded = new Float32Array((endFrame - startFrame + flushFrames) * encodedSize);
  for (const part of piece.parts) {
    const first = Math.max(startFrame, part.startFrame);
    const rows = new Float32Array(part.encoded).subarray(
      (first - part.startFrame) * encodedSize,
      (Math.min(endFrame, part.endFrame) - part.startFrame) * encodedSize,
    );
    encoded.set(rows, (first - startFrame) * encodedSize);
  }
  if (!isCutBefore && !isCutBehind) return encoded;
  const audio = await WavAudio.open(piece.source, manifest.sampleRateHz);
  try {
    if (isCutBefore) {
      const frames = Math.min(model.reachFrames, endFrame - startFrame);
      encoded.set(
        await encodeAlone(audio, model, { startFrame, endFrame: startFrame + frames, flushFrames: 0 }),
      );
    }
    if (isCutBehind) {
      const from = Math.max(isCutBefore ? startFrame : 0, endFrame - model.reachFrames);
      const rows = await encodeAlone(audio, model, { startFrame: from, endFrame, flushFrames });
      encoded.set(rows.subarray((endFrame - from) * encodedSize), (endFrame - startFrame) * encodedSize);
    }
  } finally {
    await audio.close();
  }
  return encoded;
}

/** The encoder's output where nothing was before, and of silence behind it. */
async function encodeAlone(
  audio: WavAudio,
  model: RecognizerModel,
  { startFrame, endFrame, flushFrames }: { startFrame: number; endFrame: number; flushFrames: number },
): Promise<Float32Array> {
  const { frameSamples } = model.manifest;
  const frames = endFrame - startFrame + flushFrames;
  if (frames === 0) return new Float32Array(0);
  const batch = model.speechBatch(1, frames);
  batch.pcm.set(await audio.read({ start: startFrame * frameSamples, end: endFrame * frameSamples }));
  await batch.run();
  return batch.encoded;
}
