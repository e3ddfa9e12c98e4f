import { type FileHandle, open } from "node:fs/promises";
import { littleEndianBytes, roundedTo16Bits, toInt16 } from "../../core/domain/audio/pcm.js";
import { inputSpan, resampleSpan, type SampleSpan } from "../../core/domain/audio/resample.js";
import { LONGEST_WAV_HEADER_BYTES, parseWavHeader } from "../../core/domain/audio/wav.js";
import { decodeBlocks } from "../../core/domain/audio/wav-samples.js";
import { ServiceError } from "../../core/domain/errors.js";
import { loadBinding } from "../beam/binding.js";
import type { WavSource } from "../threads/protocol.js";

/** Three times as fast as in TypeScript, where resampling 44.1 kHz takes longer than the encoder. */
const convolve = loadBinding().binding?.resample ?? null;
/** Most headers have 44 bytes. */
const FIRST_BYTES = 4_096;

/** @throws {ServiceError} `AUDIO_UNREADABLE` */
export async function openWav(path: string): Promise<WavSource> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    for (const byteCount of [FIRST_BYTES, LONGEST_WAV_HEADER_BYTES]) {
      const header = parseWavHeader(await bytesOf(file, 0, Math.min(byteCount, size)), size);
      if (header !== null) return { path, header, sampleCount: (header.dataBytes ?? 0) / header.blockBytes };
    }
    throw new Error("a WAVE header is there or refused once all of it could be read");
  } finally {
    await file.close();
  }
}

/** Samples that a source has at another rate. */
export function samplesAt({ header, sampleCount }: WavSource, rateHz: number): number {
  return Math.ceil((sampleCount * rateHz) / header.sampleRateHz);
}

/** Samples of a WAV file at a model's rate, from any place on: each is the same wherever reading began. */
export class WavAudio {
  /** At the model's rate. */
  readonly sampleCount: number;
  readonly #file: FileHandle;
  readonly #source: WavSource;
  readonly #rates: { readonly fromHz: number; readonly toHz: number };

  private constructor(file: FileHandle, source: WavSource, rateHz: number) {
    this.#file = file;
    this.#source = source;
    this.#rates = { fromHz: source.header.sampleRateHz, toHz: rateHz };
    this.sampleCount = samplesAt(source, rateHz);
  }

  static async open(source: WavSource, rateHz: number): Promise<WavAudio> {
    return new WavAudio(await open(source.path, "r"), source, rateHz);
  }

  /**
   * Mono samples, -1 to 1, of 16 bits as live audio has them; silence behind the end.
   * @throws {ServiceError} `INTERNAL` when the file has become shorter
   */
  async read({ start, end }: SampleSpan): Promise<Float32Array> {
    const samples = new Float32Array(end - start);
    const heard = { start, end: Math.min(end, this.sampleCount) };
    if (heard.end <= start) return samples;
    const inputs = await this.#inputs(inputSpan(heard, this.#rates));
    samples.set(roundedTo16Bits(resampleSpan(inputs, heard, this.#rates, convolve)));
    return samples;
  }

  /** As `read`, as bytes of 16-bit samples, little-endian: without a number touched where the file holds just that. */
  async readPcm({ start, end }: SampleSpan): Promise<Uint8Array> {
    const { header } = this.#source;
    const { fromHz, toHz } = this.#rates;
    const isPcm16 = header.format === "pcm" && header.bitsPerSample === 16 && header.channels === 1;
    if (!isPcm16 || fromHz !== toHz || end > this.sampleCount)
      return littleEndianBytes(toInt16(await this.read({ start, end })));
    return bytesOf(
      this.#file,
      header.dataOffset + start * header.blockBytes,
      (end - start) * header.blockBytes,
    );
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** Samples at the file's own rate; silence where it has none. */
  async #inputs(span: SampleSpan): Promise<Float32Array> {
    const { header, sampleCount } = this.#source;
    const start = Math.max(0, span.start);
    const end = Math.min(span.end, sampleCount);
    const { dataOffset, blockBytes } = header;
    const bytes = await bytesOf(this.#file, dataOffset + start * blockBytes, (end - start) * blockBytes);
    const there = decodeBlocks(header, bytes);
    if (start === span.start && end === span.end) return there;
    const inputs = new Float32Array(span.end - span.start);
    inputs.set(there, start - span.start);
    return inputs;
  }
}

async function bytesOf(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0)
      throw new ServiceError("INTERNAL", `Cannot read the audio: ${filled} of ${length} bytes`);
    filled += bytesRead;
  }
  return bytes;
}
