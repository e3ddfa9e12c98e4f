import { parseWavHeader, writeWav } from "../../core/domain/audio/wav.js";
import { CommandError } from "./command.js";

const OPEN_SIZE = 0xffff_ffff;

/** Returns a WAV header for `pcmBytes` bytes of 16-bit mono samples. */
export function wavHeader(sampleRateHz: number, pcmBytes: number): Uint8Array {
  const header = Buffer.from(writeWav(new Int16Array(0), sampleRateHz));
  header.writeUInt32LE(36 + pcmBytes, 4);
  header.writeUInt32LE(pcmBytes, 40);
  return header;
}

/** Returns a WAV header for a stream of unknown length; players read it to the end. */
export function openWavHeader(sampleRateHz: number): Uint8Array {
  const header = Buffer.from(writeWav(new Int16Array(0), sampleRateHz));
  header.writeUInt32LE(OPEN_SIZE, 4);
  header.writeUInt32LE(OPEN_SIZE, 40);
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
