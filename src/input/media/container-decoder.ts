import type { Container } from "../../../core/domain/audio/container.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { ChildEnd, ChildLimits } from "./limited-child.js";

/** One file to be decoded. */
export interface DecodeJob {
  readonly container: Container;
  /** The first bytes of the file after its tags. */
  readonly head: Uint8Array;
  readonly sourcePath: string;
  /** Becomes a mono 16-bit WAV at the rate of the source. */
  readonly targetPath: string;
  /** Decoding ends a little behind this much audio. */
  readonly maxSeconds: number;
}

/** A program that decodes containers in a process of its own. */
export interface ContainerDecoder {
  /** @throws {ServiceError} `AUDIO_UNREADABLE`, `BODY_TOO_LARGE`, `CANCELLED` */
  decode(job: DecodeJob, signal: AbortSignal): Promise<void>;
}

/** Decoded this far beyond the longest audio, so that too long can be told from just right. */
export const OVERTIME_SECONDS = 0.5;

/** Two hours take a decoder some ten seconds; a hundred times real time still pass. */
export const DECODE_LIMITS = {
  cpuSeconds: 180,
  wallMs: 900_000,
  memoryBytes: 1 << 30,
  /** Two hours of mono at 192 kHz. */
  fileBytes: 2 * 3_600 * 192_000 * 2 + 1_000_000,
} as const satisfies ChildLimits;

/** The refusal that an ending stands for, null when the decoder was content. */
export function refusalOf(end: ChildEnd, container: Container): ServiceError | null {
  // A decoder that ran out of disk may be content all the same.
  const hasNoRoom = /no space left on device|disk quota exceeded|read-only file system/i.test(end.stderr);
  if (end.code === 0 && !hasNoRoom) return null;
  const cause = new Error(`decoder ended with ${end.signal ?? end.code}: ${end.stderr.trim()}`);
  if (end.signal === "SIGXFSZ") {
    const limit = `at most ${DECODE_LIMITS.fileBytes} bytes of PCM`;
    return new ServiceError("BODY_TOO_LARGE", `Cannot decode the audio: it must decode to ${limit}`, {
      cause,
    });
  }
  if (hasNoRoom) {
    return new ServiceError("STORAGE_FULL", "the service has no room for this file now: try again later", {
      cause,
    });
  }
  const why =
    end.isTimedOut || end.signal === "SIGKILL" || end.signal === "SIGXCPU"
      ? "decoding it takes too long"
      : "it is damaged, or holds no audio stream of a known codec";
  return new ServiceError("AUDIO_UNREADABLE", `Cannot decode the audio as ${container}: ${why}`, { cause });
}
