import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
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
  const program = findProgram("ffmpeg", options.searchPath);
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

/** Absolute path of the first program of that name which runs. */
function findProgram(name: string, searchPath: string): string | null {
  const folders = searchPath.split(delimiter).filter((folder) => isAbsolute(folder));
  const found = folders.map((folder) => join(folder, name)).find(isExecutable);
  if (found === undefined) return null;
  return spawnSync(found, ["-version"], { stdio: "ignore", timeout: 30_000 }).status === 0 ? found : null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us: the next folder is asked.
    return false;
  }
}
