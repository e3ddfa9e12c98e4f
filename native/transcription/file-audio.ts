import { type FileHandle, open } from "node:fs/promises";
import { littleEndianBytes, roundedTo16Bits, toFloat, toInt16 } from "../../core/domain/audio/pcm.js";
import { inputSpan, resampleSpan, type SampleSpan } from "../../core/domain/audio/resample.js";
import { LONGEST_WAV_HEADER_BYTES, parseWavHeader } from "../../core/domain/audio/wav.js";
import { decodeBlocks } from "../../core/domain/audio/wav-samples.js";
import { ServiceError } from "../../core/domain/errors.js";
import { loadBinding } from "../beam/binding.js";
import type { AudioSource, PcmSource, WavSource } from "../threads/protocol.js";

/**
 * The native version is three times as fast as TypeScript, in which resampling 44.1 kHz takes longer than the
 * encoder.
 */
const convolve = loadBinding().binding?.resample ?? null;
/** Size of the first read; most headers have 44 bytes. */
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
    throw new Error("a WAV header must be parsed or rejected once all of it is read");
  } finally {
    await file.close();
  }
}

/** Returns the number of a source's samples at another rate. */
export function samplesAt({ header, sampleCount }: WavSource, rateHz: number): number {
  return Math.ceil((sampleCount * rateHz) / header.sampleRateHz);
}

/** Reads samples of a WAV file at a model's rate; results do not depend on where reading starts. */
export class WavAudio {
  /** Number of samples at the model's rate. */
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
   * Reads mono samples, -1 to 1, rounded to 16 bits like live audio; silence after the end.
   * @throws {ServiceError} `INTERNAL` if the file has become shorter
   */
  async read({ start, end }: SampleSpan): Promise<Float32Array> {
    const samples = new Float32Array(end - start);
    const span = { start, end: Math.min(end, this.sampleCount) };
    if (span.end <= start) return samples;
    const inputs = await this.#inputs(inputSpan(span, this.#rates));
    samples.set(roundedTo16Bits(resampleSpan(inputs, span, this.#rates, convolve)));
    return samples;
  }

  /** Like `read`, as 16-bit little-endian bytes; copies the file's bytes if they already have that form. */
  async readPcm({ start, end }: SampleSpan): Promise<Uint8Array> {
    const { header } = this.#source;
    const { fromHz, toHz } = this.#rates;
    const isPcm16 = header.format === "pcm" && header.bitsPerSample === 16 && header.channels === 1;
    if (!isPcm16 || fromHz !== toHz || end > this.sampleCount)
      return littleEndianBytes(toInt16(await this.read({ start, end })));
    return this.#blocks(start, end);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** Reads samples at the file's own rate; silence beyond its ends. */
  async #inputs(span: SampleSpan): Promise<Float32Array> {
    const { header, sampleCount, channel } = this.#source;
    const start = Math.max(0, span.start);
    const end = Math.min(span.end, sampleCount);
    const samples = decodeBlocks(header, await this.#blocks(start, end), channel);
    if (start === span.start && end === span.end) return samples;
    const inputs = new Float32Array(span.end - span.start);
    inputs.set(samples, start - span.start);
    return inputs;
  }

  #blocks(start: number, end: number): Promise<Uint8Array> {
    const { dataOffset, blockBytes } = this.#source.header;
    return bytesOf(this.#file, dataOffset + start * blockBytes, (end - start) * blockBytes);
  }
}

/** Audio of a file at the model's rate. */
export interface FileAudio {
  /** Number of samples at the model's rate. */
  readonly sampleCount: number;
  /** Reads mono, -1 to 1; silence after the end. @throws {ServiceError} `INTERNAL` if samples are missing */
  read(span: SampleSpan): Promise<Float32Array>;
  close(): Promise<void>;
}

export async function openAudio(source: AudioSource, rateHz: number): Promise<FileAudio> {
  return "path" in source ? WavAudio.open(source, rateHz) : new PcmAudio(source);
}

class PcmAudio implements FileAudio {
  readonly sampleCount: number;
  readonly #source: PcmSource;

  constructor(source: PcmSource) {
    this.sampleCount = source.sampleCount;
    this.#source = source;
  }

  async read({ start, end }: SampleSpan): Promise<Float32Array> {
    const { startSample, sampleCount } = this.#source;
    const samples = new Float32Array(end - start);
    const audioEnd = Math.min(end, sampleCount);
    if (audioEnd <= start) return samples;
    const available = new Int16Array(this.#source.samples);
    if (start < startSample || audioEnd > startSample + available.length) {
      const span = `${startSample} to ${startSample + available.length}`;
      throw new ServiceError("INTERNAL", `Cannot read the audio: ${start} to ${audioEnd} is not in ${span}`);
    }
    samples.set(toFloat(available.subarray(start - startSample, audioEnd - startSample)));
    return samples;
  }

  async close(): Promise<void> {}
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
