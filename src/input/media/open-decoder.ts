import { availableParallelism } from "node:os";
import { findProgram } from "../../children/find-program.js";
import type { Log } from "../../observe/log.js";
import type { AudioDecoder } from "../../ports/audio-decoder.js";
import { DecoderPermits } from "./decoder-permits.js";
import { FfmpegDecoder } from "./ffmpeg-decoder.js";
import { FileDecoder } from "./file-decoder.js";
import { LimitedChildren } from "./limited-child.js";
import { WasmDecoder } from "./wasm-decoder.js";

/** Decodes with ffmpeg when one is on `searchPath`, else with what comes in packages. */
export function openDecoder(options: {
  readonly searchPath: string;
  readonly maxSeconds: number;
  readonly log: Log;
}): AudioDecoder {
  const children = new LimitedChildren();
  const program = findProgram({ name: "ffmpeg", versionArgument: "-version" }, options.searchPath);
  if (program === null) {
    options.log.warn("no ffmpeg on PATH: only WAV, MP3, FLAC and Ogg Opus files can be transcribed");
  }
  return new FileDecoder({
    decoder: program === null ? new WasmDecoder(children) : new FfmpegDecoder(program, children),
    // Decoding is a few percent of the work on a file: more at a time would only compete with speech.
    permits: new DecoderPermits(Math.max(2, Math.floor(availableParallelism() / 4))),
    maxSeconds: options.maxSeconds,
  });
}
