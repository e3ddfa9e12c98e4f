import type { Container } from "../../../core/domain/audio/container.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { ChildEnd, ChildLimits } from "./limited-child.js";

export interface DecodeJob {
  readonly container: Container;
  /** The first bytes of the file after its tags. */
  readonly head: Uint8Array;
  readonly sourcePath: string;
  /** Becomes a mono 16-bit WAV at the rate of the source. */
  readonly targetPath: string;
  /** Decoding ends a little after this much audio. */
  readonly maxSeconds: number;
}

/** Decodes containers in a separate process. */
export interface ContainerDecoder {
  /** @throws {ServiceError} `AUDIO_UNREADABLE`, `BODY_TOO_LARGE`, `CANCELLED` */
  decode(job: DecodeJob, signal: AbortSignal): Promise<void>;
}

/** How far to decode beyond the longest allowed audio, to tell whether there is more. */
export const OVERTIME_SECONDS = 0.5;

/** A decoder takes some ten seconds for two hours of audio. */
export const DECODE_LIMITS = {
  cpuSeconds: 180,
  wallMs: 900_000,
  memoryBytes: 1 << 30,
  /** Two hours of mono at 192 kHz. */
  fileBytes: 2 * 3_600 * 192_000 * 2 + 1_000_000,
} as const satisfies ChildLimits;

/** Returns the client's error for how a decoder ended, null if it succeeded. */
export function failureOf(end: ChildEnd, container: Container): ServiceError | null {
  // A decoder that ran out of disk may still exit with 0.
  const hasNoRoom = /no space left on device|disk quota exceeded|read-only file system/i.test(end.stderr);
  if (end.code === 0 && !hasNoRoom) return null;
  const cause = new Error(`decoder ended with ${end.signal ?? end.code}: ${end.stderr.trim()}`);
  if (end.signal === "SIGXFSZ") {
    const limit = `at most ${DECODE_LIMITS.fileBytes} bytes of PCM`;
    const message = `Cannot decode the audio: it must decode to ${limit}`;
    return new ServiceError("BODY_TOO_LARGE", message, { cause });
  }
  if (hasNoRoom) {
    const message = "the service has no disk space for this file: try again later";
    return new ServiceError("STORAGE_FULL", message, { cause });
  }
  const why =
    end.isTimedOut || end.signal === "SIGKILL" || end.signal === "SIGXCPU"
      ? "decoding it takes too long"
      : "it is damaged, or holds no audio stream of a known codec";
  return new ServiceError("AUDIO_UNREADABLE", `Cannot decode the audio as ${container}: ${why}`, { cause });
}
