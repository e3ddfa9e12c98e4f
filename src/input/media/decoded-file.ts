import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ServiceError } from "../../../core/domain/errors.js";
import type { AudioDecoder } from "../../../core/ports/audio-decoder.js";
import type { SpoolRoom } from "../../../core/ports/spool-room.js";

/** A file of any container, and where its audio may be put. */
export interface SubmittedFile {
  readonly path: string;
  readonly spoolFolder: string;
  readonly room: SpoolRoom;
}

/**
 * Does `work` with a file's audio as PCM WAV, which is gone afterwards if it had to be decoded.
 *
 * @throws {ServiceError} what the decoder throws, `STORAGE_FULL` when the audio outgrows its room, and whatever `work` throws
 */
export async function withDecodedFile<T>(
  decoder: AudioDecoder,
  { path, spoolFolder, room }: SubmittedFile,
  signal: AbortSignal,
  work: (wavPath: string) => Promise<T>,
): Promise<T> {
  const decodedPath = join(spoolFolder, `${randomUUID()}.wav`);
  const share = room.open();
  const full = new AbortController();
  // What the decoder writes is counted as it grows: how much that will be is in no header.
  const seenWhole = share.watch(decodedPath, (error) => full.abort(error));
  try {
    const wavPath = await decoder.decode(path, decodedPath, AbortSignal.any([signal, full.signal]));
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
