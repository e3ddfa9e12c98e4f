import { fileURLToPath } from "node:url";
import { type Container, isOggOpus } from "../../../core/domain/audio/container.js";
import { ServiceError } from "../../../core/domain/errors.js";
import {
  type ContainerDecoder,
  DECODE_LIMITS,
  type DecodeJob,
  failureOf,
  OVERTIME_SECONDS,
} from "./container-decoder.js";
import type { LimitedChildren } from "./limited-child.js";
import type { WasmCodec } from "./wasm-process.js";

const PROGRAM = fileURLToPath(new URL("./wasm-process.js", import.meta.url));
/** Node reserves far more address space than it uses, so limit its heap; each module limits its memory. */
const LIMITS = { ...DECODE_LIMITS, memoryBytes: null };
const HEAP_MEBIBYTES = 256;

/** Decodes MP3, FLAC and Ogg Opus in a child process without ffmpeg. */
export class WasmDecoder implements ContainerDecoder {
  readonly #children: LimitedChildren;

  constructor(children: LimitedChildren) {
    this.#children = children;
  }

  async decode(job: DecodeJob, signal: AbortSignal): Promise<void> {
    const codec = wasmCodec(job);
    if (codec === null) throw needsFfmpeg(job.container);
    const node = [process.execPath, `--max-old-space-size=${HEAP_MEBIBYTES}`, PROGRAM];
    const seconds = String(job.maxSeconds + OVERTIME_SECONDS);
    const command = [...node, codec, job.sourcePath, job.targetPath, seconds];
    const failure = failureOf(await this.#children.run(command, LIMITS, signal), job.container);
    if (failure !== null) throw failure;
  }
}

function wasmCodec({ container, head }: DecodeJob): WasmCodec | null {
  if (container === "mp3" || container === "flac") return container;
  return container === "ogg" && isOggOpus(head) ? "opus" : null;
}

function needsFfmpeg(container: Container): ServiceError {
  return new ServiceError(
    "AUDIO_UNREADABLE",
    `Cannot decode this ${container}: the server has no ffmpeg; send PCM WAV, MP3, FLAC or Ogg Opus, or install ffmpeg there`,
  );
}
