import type { StreamedFormat } from "../domain/audio/streamed-pcm.js";
import { type WavPiece, wavInParts } from "../domain/audio/wav.js";
import { riffChunk, withoutLastChunk } from "../domain/audio/wav-chunks.js";
import type { WordTime } from "../domain/synthesis/word-time.js";

/** Value of `X-Svc-Stream`. */
export const WAV_FRAMES = "wav-frames-v1";

/** RIFF chunk after the samples of a frame's WAV: JSON in UTF-8, `{"words": [...]}` of that sentence. */
export const WORDS_CHUNK = "wrds";

const LENGTH_BYTES = 4;

/**
 * Writes a frame of the stream in parts: the length of a WAV as 4 bytes, big-endian, and the WAV.
 * @param pieces samples of the sentence; see `wavInParts`
 * @param words words of the sentence for the WAV's chunk, with times from its start
 */
export function wavFrame(
  pieces: WavPiece[],
  sampleRateHz: number,
  words?: readonly WordTime[],
  format?: StreamedFormat,
): { readonly bytes: number; readonly parts: Iterable<Uint8Array> } {
  const chunk = words === undefined ? undefined : wordsChunk(words);
  const { bytes, parts } = wavInParts(pieces, sampleRateHz, chunk, format);
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, bytes);
  return { bytes: LENGTH_BYTES + bytes, parts: concatenated(length, parts) };
}

/** Parses frames from a stream of bytes in any chunking. */
export class WavFrameReader {
  /** Received chunks of an incomplete frame, joined once when it is complete. */
  #chunks: Uint8Array[] = [];
  #pendingBytes = 0;
  /** Length of the first frame, once known. */
  #wantedBytes = LENGTH_BYTES;

  /** True if there is no incomplete frame. */
  get isAtBoundary(): boolean {
    return this.#pendingBytes === 0;
  }

  /** Returns the WAV files that `chunk` completes. */
  push(chunk: Uint8Array): Uint8Array[] {
    // Copy the chunk, because it may be borrowed.
    this.#chunks.push(new Uint8Array(chunk));
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes < this.#wantedBytes) return [];
    const bytes = joined(this.#chunks, this.#pendingBytes);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const frames: Uint8Array[] = [];
    let offset = 0;
    this.#wantedBytes = LENGTH_BYTES;
    while (bytes.length - offset >= LENGTH_BYTES) {
      this.#wantedBytes = LENGTH_BYTES + view.getUint32(offset);
      const end = offset + this.#wantedBytes;
      if (end > bytes.length) break;
      frames.push(bytes.subarray(offset + LENGTH_BYTES, end));
      offset = end;
      this.#wantedBytes = LENGTH_BYTES;
    }
    this.#chunks = offset === bytes.length ? [] : [bytes.slice(offset)];
    this.#pendingBytes = bytes.length - offset;
    return frames;
  }
}

function wordsChunk(words: readonly WordTime[]): Uint8Array {
  return riffChunk(WORDS_CHUNK, new TextEncoder().encode(JSON.stringify({ words })));
}

function* concatenated(
  first: Uint8Array,
  parts: Iterable<Uint8Array>,
): Generator<Uint8Array, void, undefined> {
  yield first;
  yield* parts;
}

function joined(chunks: readonly Uint8Array[], byteCount: number): Uint8Array {
  if (chunks.length === 1) return chunks[0]!;
  const whole = new Uint8Array(byteCount);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

/**
 * Splits the WAV of a sentence from its words; null without words.
 * @throws {SyntaxError} for a chunk that is not JSON
 */
export function takeWords(
  file: Uint8Array,
): { readonly wav: Uint8Array<ArrayBuffer>; readonly words: readonly WordTime[] } | null {
  const parts = withoutLastChunk(file, WORDS_CHUNK);
  if (parts === null) return null;
  const { words } = JSON.parse(new TextDecoder().decode(parts.body)) as {
    readonly words: readonly WordTime[];
  };
  return { wav: parts.wav, words };
}
