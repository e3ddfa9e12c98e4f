import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathOfProgram, runsProgram } from "../../../core/child-processes/find-program.js";
import type { ChannelHandling } from "../../../core/domain/audio/channels.js";
import { CONTAINER_HEAD_BYTES, detectContainer, id3Bytes } from "../../../core/domain/audio/container.js";
import { audioTooLong } from "../../../core/domain/audio/too-long.js";
import { LONGEST_WAV_HEADER_BYTES, parseWavHeader, type WavHeader } from "../../../core/domain/audio/wav.js";
import { asServiceError, ServiceError } from "../../../core/domain/errors.js";
import type { Log } from "../../../core/observe/log.js";
import type { AudioDecoder } from "../../../core/ports/audio-decoder.js";
import type { SpoolRoom } from "../../../core/ports/spool-room.js";
import { type ContainerDecoder, ffmpegDecoder, LimitedChildren, wasmDecoder } from "./container-decoder.js";

export interface FileDecoderOptions {
  readonly decoder: ContainerDecoder;
  readonly permits: DecoderPermits;
  readonly maxSeconds: number;
}

/** Leaves plain WAV files unchanged, and decodes all others in a decoder process. */
export class FileDecoder implements AudioDecoder {
  readonly #options: FileDecoderOptions;

  constructor(options: FileDecoderOptions) {
    this.#options = options;
  }

  async decode(
    sourcePath: string,
    targetPath: string,
    signal: AbortSignal,
    channels: ChannelHandling = "mix",
  ): Promise<string> {
    const { decoder, permits, maxSeconds } = this.#options;
    const head = await headOf(sourcePath);
    const container = detectContainer(head);
    if (container === null) throw unknownContainer();
    if (container === "wav") {
      const header = await plainWav(sourcePath);
      if (header !== null) {
        this.#checkLength(header);
        return sourcePath;
      }
    }
    const job = { container, head, sourcePath, targetPath, maxSeconds, channels };
    await permits.use(signal, () => decoder.decode(job, signal));
    this.#checkLength(await wavHeader(targetPath));
    return targetPath;
  }

  /** A header cannot claim too much: the parser limits the length to the size of the file. */
  #checkLength({ dataBytes, blockBytes, sampleRateHz }: WavHeader): void {
    const samples = (dataBytes ?? 0) / blockBytes;
    if (samples > this.#options.maxSeconds * sampleRateHz) throw audioTooLong(this.#options.maxSeconds);
  }
}

/** Reads the first bytes after the tags, which may contain pictures of many megabytes. */
async function headOf(path: string): Promise<Uint8Array> {
  return withFile(path, async (file) => {
    const first = await readAt(file, 0, CONTAINER_HEAD_BYTES);
    const tagBytes = id3Bytes(first);
    return tagBytes === 0 ? first : readAt(file, tagBytes, CONTAINER_HEAD_BYTES);
  });
}

/** Reads the header of a WAV file that needs no decoder; returns null for other files. */
async function plainWav(path: string): Promise<WavHeader | null> {
  return wavHeader(path).catch((thrown: unknown) => {
    if (asServiceError(thrown).code === "AUDIO_UNREADABLE") return null;
    throw thrown;
  });
}

async function wavHeader(path: string): Promise<WavHeader> {
  return withFile(path, async (file) => {
    const { size } = await file.stat();
    const header =
      parseWavHeader(await readAt(file, 0, CONTAINER_HEAD_BYTES), size) ??
      parseWavHeader(await readAt(file, 0, LONGEST_WAV_HEADER_BYTES), size);
    if (header === null) throw new Error("Cannot read a WAV header that was neither parsed nor rejected");
    return header;
  });
}

async function withFile<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, "r");
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

function unknownContainer(): ServiceError {
  return new ServiceError(
    "AUDIO_UNREADABLE",
    "Cannot decode the audio: it must be WAV, MP3, AAC, M4A, MP4, FLAC, Ogg, WebM, AIFF, CAF, AMR or AU, received something else",
  );
}

/** A file in any container, and the folder for its decoded audio. */
export interface SubmittedFile {
  readonly path: string;
  readonly spoolFolder: string;
  readonly room: SpoolRoom;
  /** How to treat channels; `mix` by default. */
  readonly channels?: ChannelHandling;
}

/**
 * Calls `work` with the audio of a file as PCM WAV. A decoded file is deleted afterwards.
 *
 * @throws {ServiceError} whatever the decoder throws, `STORAGE_FULL` if the audio outgrows its room, and
 *   whatever `work` throws
 */
export async function withDecodedFile<T>(
  decoder: AudioDecoder,
  { path, spoolFolder, room, channels }: SubmittedFile,
  signal: AbortSignal,
  work: (wavPath: string) => Promise<T>,
): Promise<T> {
  const decodedPath = join(spoolFolder, `${randomUUID()}.wav`);
  const share = room.open();
  const full = new AbortController();
  // No header says how much the decoder will write, so its file is watched as it grows.
  const seenWhole = share.watch(decodedPath, (error) => full.abort(error));
  try {
    const either = AbortSignal.any([signal, full.signal]);
    const wavPath = await decoder.decode(path, decodedPath, either, channels);
    await seenWhole();
    full.signal.throwIfAborted();
    return await work(wavPath);
  } catch (thrown) {
    throw full.signal.aborted ? (full.signal.reason as ServiceError) : thrown;
  } finally {
    await rm(decodedPath, { force: true });
    share.release();
  }
}

/** Most files that wait for a decoder; further ones are rejected. */
const LONGEST_QUEUE = 256;

/** Limits how many files are decoded at the same time. First come, first served. */
export class DecoderPermits {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** @throws {ServiceError} `CANCELLED` if `signal` aborts the wait, `ENGINE_BUSY` if too many files wait */
  async use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#take(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw cancelled();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    if (this.#waiting.length >= LONGEST_QUEUE) {
      throw new ServiceError("ENGINE_BUSY", `at most ${LONGEST_QUEUE} files wait to be decoded, try again`);
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(onTurn), 1);
        reject(cancelled());
      };
      const onTurn = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(onTurn);
    });
  }
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "transcription was cancelled");
}

const WITHOUT = "only WAV, MP3, FLAC and Ogg Opus files can be transcribed";

/**
 * Creates a decoder that uses ffmpeg if there is a working one on `searchPath`, otherwise the bundled
 * packages.
 */
export function openDecoder(options: {
  readonly searchPath: string;
  readonly maxSeconds: number;
  readonly log: Log;
}): AudioDecoder {
  const children = new LimitedChildren();
  const program = pathOfProgram("ffmpeg", options.searchPath);
  if (program === null) options.log.warn(`no ffmpeg on PATH: ${WITHOUT}`);
  const packaged = wasmDecoder(children);
  return new FileDecoder({
    decoder: program === null ? packaged : ffmpegOr(packaged, program, children, options.log),
    // Decoding is a few per cent of the work on a file; more processes would only compete with speech.
    permits: new DecoderPermits(Math.max(2, Math.floor(availableParallelism() / 4))),
    maxSeconds: options.maxSeconds,
  });
}

/**
 * Tries ffmpeg with the first file that needs it, and otherwise falls back to the packages. Trying it at
 * startup would cost 0.15 s of CPU, and many services never need it.
 */
function ffmpegOr(
  packaged: ContainerDecoder,
  program: string,
  children: LimitedChildren,
  log: Log,
): ContainerDecoder {
  const choose = async () => {
    if (await runsProgram(program, "-version")) return ffmpegDecoder(program, children);
    log.warn({ program }, `ffmpeg does not run: ${WITHOUT}`);
    return packaged;
  };
  let chosen: Promise<ContainerDecoder> | null = null;
  return {
    decode: async (job, signal) => {
      chosen ??= choose();
      await (await chosen).decode(job, signal);
    },
  };
}
