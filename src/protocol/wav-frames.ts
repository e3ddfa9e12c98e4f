import { withChunk, withoutLastChunk } from "../domain/audio/wav-chunks.js";
import type { WordTime } from "../domain/synthesis/word-time.js";

/** Value of `X-Svc-Stream`. */
export const WAV_FRAMES = "wav-frames-v1";

/** RIFF chunk of a frame's WAV, behind the samples: JSON in UTF-8, `{"words": [...]}` of that sentence. */
export const WORDS_CHUNK = "wrds";

const LENGTH_BYTES = 4;

/** One frame of the stream: the length of `wav` as 4 bytes, big-endian, and `wav`. */
export function encodeWavFrame(wav: Uint8Array): Uint8Array {
  const frame = new Uint8Array(LENGTH_BYTES + wav.length);
  new DataView(frame.buffer).setUint32(0, wav.length);
  frame.set(wav, LENGTH_BYTES);
  return frame;
}

/** Cuts a stream of bytes back into frames, however it was cut on its way. */
export class WavFrameReader {
  #pending = new Uint8Array(0);

  /** True when nothing is left of a frame that has begun. */
  get isAtBoundary(): boolean {
    return this.#pending.length === 0;
  }

  /** The WAV files that `chunk` completes. */
  push(chunk: Uint8Array): Uint8Array[] {
    const bytes = new Uint8Array(this.#pending.length + chunk.length);
    bytes.set(this.#pending);
    bytes.set(chunk, this.#pending.length);
    const view = new DataView(bytes.buffer);
    const frames: Uint8Array[] = [];
    let offset = 0;
    while (bytes.length - offset >= LENGTH_BYTES) {
      const end = offset + LENGTH_BYTES + view.getUint32(offset);
      if (end > bytes.length) break;
      frames.push(bytes.subarray(offset + LENGTH_BYTES, end));
      offset = end;
    }
    this.#pending = bytes.slice(offset);
    return frames;
  }
}

/** The WAV of a sentence with its words in it, times from the begin of that WAV. */
export function wavWithWords(wav: Uint8Array, words: readonly WordTime[]): Uint8Array {
  return withChunk(wav, WORDS_CHUNK, new TextEncoder().encode(JSON.stringify({ words })));
}

/**
 * The WAV of a sentence without its words, and the words; null where it holds none.
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
