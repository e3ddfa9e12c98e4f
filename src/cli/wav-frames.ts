import { parseWavHeader, writeWav } from "../../core/domain/audio/wav.js";
import { CommandError } from "./command.js";

const OPEN_SIZE = 0xffff_ffff;

/**
 * Returns a WAV header for 16-bit mono samples.
 *
 * @param pcmBytes null for a stream of unknown length, which players read to the end
 */
export function wavHeader(sampleRateHz: number, pcmBytes: number | null): Uint8Array {
  const header = Buffer.from(writeWav(new Int16Array(0), sampleRateHz));
  header.writeUInt32LE(pcmBytes === null ? OPEN_SIZE : 36 + pcmBytes, 4);
  header.writeUInt32LE(pcmBytes ?? OPEN_SIZE, 40);
  return header;
}

/** Returns the samples of one sentence: 16-bit mono PCM, little-endian. */
export function pcmOf(wav: Uint8Array): Uint8Array {
  const header = parseWavHeader(wav, wav.length);
  if (header === null || header.format !== "pcm" || header.channels !== 1 || header.bitsPerSample !== 16) {
    throw new CommandError("cannot join sentences: each must be a WAV of 16-bit mono samples");
  }
  return wav.subarray(header.dataOffset, header.dataOffset + (header.dataBytes ?? 0));
}
