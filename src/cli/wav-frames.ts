import { parseWavHeader, writeWav } from "../domain/audio/wav.js";
import { CommandError } from "./command.js";

/** The samples of one sentence: 16-bit mono PCM, little-endian. */
export interface PcmFrame {
  readonly sampleRateHz: number;
  readonly pcm: Uint8Array;
}

const LENGTH_BYTES = 4;
const OPEN_SIZE = 0xffff_ffff;

/** Takes `wav-frames-v1` apart: a 4-byte big-endian length, then so many bytes of a whole WAV, again and again. */
export class FrameReader {
  #held: Buffer = Buffer.alloc(0);

  /** Whether the stream so far ends within a frame. */
  get isInsideFrame(): boolean {
    return this.#held.length > 0;
  }

  /** The frames that are complete with these bytes. */
  push(bytes: Uint8Array): PcmFrame[] {
    this.#held = Buffer.concat([this.#held, bytes]);
    const frames: PcmFrame[] = [];
    while (this.#held.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + this.#held.readUInt32BE(0);
      if (this.#held.length < end) break;
      frames.push(pcmOf(this.#held.subarray(LENGTH_BYTES, end)));
      this.#held = this.#held.subarray(end);
    }
    return frames;
  }
}

/** A WAV header for `pcmBytes` bytes of 16-bit mono samples. */
export function wavHeader(sampleRateHz: number, pcmBytes: number): Uint8Array {
  const header = Buffer.from(writeWav(new Int16Array(0), sampleRateHz));
  header.writeUInt32LE(36 + pcmBytes, 4);
  header.writeUInt32LE(pcmBytes, 40);
  return header;
}

/** A WAV header for a stream that cannot be corrected at its end; readers take it as "until the end". */
export function openWavHeader(sampleRateHz: number): Uint8Array {
  const header = Buffer.from(writeWav(new Int16Array(0), sampleRateHz));
  header.writeUInt32LE(OPEN_SIZE, 4);
  header.writeUInt32LE(OPEN_SIZE, 40);
  return header;
}

function pcmOf(wav: Uint8Array): PcmFrame {
  const header = parseWavHeader(wav, wav.length);
  if (header === null || header.format !== "pcm" || header.channels !== 1 || header.bitsPerSample !== 16) {
    throw new CommandError("Cannot join sentences: each must be a WAV of 16-bit mono samples");
  }
  const pcm = wav.subarray(header.dataOffset, header.dataOffset + (header.dataBytes ?? 0));
  return { sampleRateHz: header.sampleRateHz, pcm };
}
