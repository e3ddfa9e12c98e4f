import { availableParallelism } from "node:os";
import { pathOfProgram, runsProgram } from "../../../core/child-processes/find-program.js";
import type { Log } from "../../../core/observe/log.js";
import type { AudioDecoder } from "../../../core/ports/audio-decoder.js";
import type { ContainerDecoder, DecodeJob } from "./container-decoder.js";
import { DecoderPermits } from "./decoder-permits.js";
import { FfmpegDecoder } from "./ffmpeg-decoder.js";
import { FileDecoder } from "./file-decoder.js";
import { LimitedChildren } from "./limited-child.js";
import { WasmDecoder } from "./wasm-decoder.js";

const WITHOUT = "only WAV, MP3, FLAC and Ogg Opus files can be transcribed";

/** Creates a decoder that uses ffmpeg if one is on `searchPath` and runs, else the bundled packages. */
export function openDecoder(options: {
  readonly searchPath: string;
  readonly maxSeconds: number;
  readonly log: Log;
}): AudioDecoder {
  const children = new LimitedChildren();
  const program = pathOfProgram("ffmpeg", options.searchPath);
  if (program === null) options.log.warn(`no ffmpeg on PATH: ${WITHOUT}`);
  const packaged = new WasmDecoder(children);
  return new FileDecoder({
    decoder: program === null ? packaged : new TriedFfmpeg(program, children, packaged, options.log),
    // Decoding is a few percent of the work on a file; more processes would only compete with speech.
    permits: new DecoderPermits(Math.max(2, Math.floor(availableParallelism() / 4))),
    maxSeconds: options.maxSeconds,
  });
}

/**
 * Tries ffmpeg with the first file that needs it, and falls back to the packages. Trying it at the start
 * would cost 0.15 s of CPU, and many services never need it.
 */
class TriedFfmpeg implements ContainerDecoder {
  readonly #program: string;
  readonly #children: LimitedChildren;
  readonly #packaged: ContainerDecoder;
  readonly #log: Log;
  #chosen: Promise<ContainerDecoder> | null = null;

  constructor(program: string, children: LimitedChildren, packaged: ContainerDecoder, log: Log) {
    this.#program = program;
    this.#children = children;
    this.#packaged = packaged;
    this.#log = log;
  }

  async decode(job: DecodeJob, signal: AbortSignal): Promise<void> {
    this.#chosen ??= this.#choose();
    const decoder = await this.#chosen;
    await decoder.decode(job, signal);
  }

  async #choose(): Promise<ContainerDecoder> {
    if (await runsProgram(this.#program, "-version")) return new FfmpegDecoder(this.#program, this.#children);
    this.#log.warn({ program: this.#program }, `ffmpeg does not run: ${WITHOUT}`);
    return this.#packaged;
  }
}
