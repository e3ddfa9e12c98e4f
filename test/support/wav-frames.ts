import { riffChunk } from "../../core/domain/audio/wav-chunks.js";
import type { WordTime } from "../../core/domain/synthesis/word-time.js";
import { WORDS_CHUNK } from "../../core/protocol/wav-frames.js";

/** Returns a frame of `/v1/tts/stream`: the length of `wav` as 4 bytes, big-endian, and `wav`. */
export function encodeWavFrame(wav: Uint8Array): Uint8Array {
  const frame = new Uint8Array(4 + wav.length);
  new DataView(frame.buffer).setUint32(0, wav.length);
  frame.set(wav, 4);
  return frame;
}

/** Adds words to the WAV of a sentence, with times from its start. */
export function wavWithWords(wav: Uint8Array, words: readonly WordTime[]): Uint8Array {
  const chunk = riffChunk(WORDS_CHUNK, new TextEncoder().encode(JSON.stringify({ words })));
  const file = new Uint8Array(wav.length + chunk.length);
  file.set(wav);
  file.set(chunk, wav.length);
  new DataView(file.buffer).setUint32(4, file.length - 8, true);
  return file;
}
