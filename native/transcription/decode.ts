import { HotWords } from "../../core/domain/decoding/hot-words.js";
import { asServiceError } from "../../core/domain/errors.js";
import { USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import { type RowsOfLength, sharedRuns } from "../../core/domain/placement/shared-passes.js";
import type { LogProbs } from "../models/log-probs.js";
import type { RecognizerModel } from "../models/recognizer.js";
import type { Recognizer } from "../recognition/load-recognizer.js";
import type { AudioSource, DecodedPiece, FileAnswer, FilePiece } from "../threads/protocol.js";
import { type FileAudio, openAudio } from "./file-audio.js";
import { LEAD_FRAMES } from "./read-spans.js";
import { obeyCell } from "./task-cell.js";

/**
 * Runs the second pass over pieces of files. Pieces of similar length share a run, and the searches of a run
 * overlap with the graphs of the next. Each piece succeeds or fails separately.
 * @param rows pieces per run, see `BatchRows.fileRows`
 */
export async function decodePieces(
  pieces: readonly FilePiece[],
  recognizer: Recognizer,
  rows: readonly RowsOfLength[] = USUAL_ROWS.fileRows,
): Promise<FileAnswer<DecodedPiece>[]> {
  const { model } = recognizer;
  const hotWordsOf = compiledOnce(model.vocabulary);
  const files = new OpenFiles(model.manifest.sampleRateHz);
  const outcomes: Promise<FileAnswer<DecodedPiece>>[] = [];
  try {
    const leads = await encodeLeads(pieces, files, model);
    for (const run of sharedRuns(pieces.map(framesOf), model.refinesTogether ? rows : [])) {
      const encoded = new Map<number, Float32Array>();
      for (const index of run) {
        const piece = pieces[index]!;
        try {
          obeyCell(new Int32Array(piece.cell));
          if (leads.failures.has(index)) throw leads.failures.get(index);
          const own = await encodedOf(piece, await files.open(piece.source), model);
          const lead = leads.encoded.subarray(index * leads.size, (index + 1) * leads.size);
          if (!piece.isCutBefore) own.set(lead.subarray(0, own.length));
          encoded.set(index, own);
        } catch (error) {
          outcomes[index] = Promise.resolve(outcomeOf(error));
        }
      }
      if (encoded.size === 0) continue;
      try {
        const refined = await model.refine([...encoded.values()]);
        for (const [nth, index] of [...encoded.keys()].entries()) {
          const piece = pieces[index]!;
          const decoded = searchPiece(piece, refined[nth]!, recognizer, hotWordsOf(piece));
          outcomes[index] = decoded.then((value) => ({ ok: true, value }), failureOf);
        }
      } catch (error) {
        for (const index of encoded.keys()) outcomes[index] = Promise.resolve(outcomeOf(error));
      }
    }
    return await Promise.all(outcomes);
  } finally {
    await files.close();
  }
}

/** Returns the frames of a piece without the flush. */
function framesOf({ startFrame, endFrame }: FilePiece): number {
  return endFrame - startFrame;
}

/** @throws {ProviderError} if all pieces must move to another worker */
function outcomeOf(error: unknown): FileAnswer<never> {
  if (error instanceof ProviderError) throw error;
  return failureOf(error);
}

interface Leads {
  /** `[pieces, size]` */
  readonly encoded: Float32Array;
  readonly size: number;
  /** Errors of pieces whose audio could not be read, by index. */
  readonly failures: ReadonlyMap<number, unknown>;
}

/** Encodes the first frames of all pieces in one run. */
async function encodeLeads(
  pieces: readonly FilePiece[],
  files: OpenFiles,
  model: RecognizerModel,
): Promise<Leads> {
  const frames = Math.min(LEAD_FRAMES, model.reachFrames);
  const failures = new Map<number, unknown>();
  if (frames === 0) return { encoded: new Float32Array(0), size: 0, failures };
  const batch = model.speechBatch(pieces.length, frames);
  const samples = frames * model.manifest.frameSamples;
  for (const [row, { source, startFrame }] of pieces.entries()) {
    const start = startFrame * model.manifest.frameSamples;
    try {
      const audio = await files.open(source);
      batch.pcm.set(await audio.read({ start, end: start + samples }), row * samples);
    } catch (error) {
      failures.set(row, error);
    }
  }
  await batch.run();
  return { encoded: batch.encoded, size: frames * model.encodedSize, failures };
}

/** The files of a task's pieces. */
class OpenFiles {
  readonly #rateHz: number;
  /** Files by path and channel, or by source for audio in memory. */
  readonly #files = new Map<unknown, Promise<FileAudio>>();

  constructor(rateHz: number) {
    this.#rateHz = rateHz;
  }

  open(source: AudioSource): Promise<FileAudio> {
    const name = "path" in source ? `${source.channel ?? ""} ${source.path}` : source;
    const known = this.#files.get(name);
    if (known !== undefined) return known;
    const opening = openAudio(source, this.#rateHz);
    this.#files.set(name, opening);
    return opening;
  }

  async close(): Promise<void> {
    for (const opening of this.#files.values()) {
      // Pieces report the failure to open a file.
      await opening.then((audio) => audio.close()).catch(() => {});
    }
  }
}

async function searchPiece(
  piece: FilePiece,
  { logProbs, frames }: LogProbs,
  { model, utterances }: Recognizer,
  hotWords: HotWords | null,
): Promise<DecodedPiece> {
  const { frameSamples, sampleRateHz } = model.manifest;
  const decoded = await utterances.search(logProbs, frames, {
    offsetSeconds: (piece.startFrame * frameSamples) / sampleRateHz,
    endSeconds: piece.endSample / sampleRateHz,
    speechMean: piece.speechMean,
    hotWords,
    // A search takes longer than the graphs: a file that makes way for another must not finish it first.
    stop: new Int32Array(piece.cell),
  });
  return { text: decoded.text, words: decoded.words };
}

function failureOf(error: unknown): FileAnswer<never> {
  const { code, message } = asServiceError(error);
  return { ok: false, code, message };
}

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

/** Assembles the input of the second pass, `[frames, encodedSize]`. */
async function encodedOf(piece: FilePiece, audio: FileAudio, model: RecognizerModel): Promise<Float32Array> {
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
  if (isCutBefore) {
    const freshFrames = Math.min(model.reachFrames, endFrame - startFrame);
    const fresh = { startFrame, endFrame: startFrame + freshFrames, flushFrames: 0 };
    encoded.set(await encodeAlone(audio, model, fresh));
  }
  if (isCutBehind) {
    const from = Math.max(isCutBefore ? startFrame : 0, endFrame - model.reachFrames);
    const rows = await encodeAlone(audio, model, { startFrame: from, endFrame, flushFrames });
    encoded.set(rows.subarray((endFrame - from) * encodedSize), (endFrame - startFrame) * encodedSize);
  }
  return encoded;
}

/** Encodes frames without earlier context, followed by some silence. */
async function encodeAlone(
  audio: FileAudio,
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
