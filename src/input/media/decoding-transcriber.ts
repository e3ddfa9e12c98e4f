import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { FileTranscript } from "../../domain/decoding/transcript.js";
import type { ServiceError } from "../../domain/errors.js";
import type { AudioDecoder } from "../../ports/audio-decoder.js";
import { ENDLESS_ROOM, type SpoolRoom } from "../../ports/spool-room.js";
import type { Transcriber } from "../../ports/transcriber.js";

/** A transcriber of any container, made of a decoder and a transcriber of WAV files. */
export class DecodingTranscriber implements Transcriber {
  readonly #decoder: AudioDecoder;
  readonly #transcriber: Transcriber;
  readonly #spoolFolder: string;
  readonly #room: SpoolRoom;

  constructor(
    decoder: AudioDecoder,
    transcriber: Transcriber,
    spoolFolder: string,
    room: SpoolRoom = ENDLESS_ROOM,
  ) {
    this.#decoder = decoder;
    this.#transcriber = transcriber;
    this.#spoolFolder = spoolFolder;
    this.#room = room;
  }

  async transcribe(
    ...[path, signal, ...rest]: Parameters<Transcriber["transcribe"]>
  ): Promise<FileTranscript> {
    const decodedPath = join(this.#spoolFolder, `${randomUUID()}.wav`);
    const share = this.#room.open();
    const full = new AbortController();
    // What the decoder writes is counted as it grows: how much that will be is in no header.
    share.watch(decodedPath, (error) => full.abort(error));
    try {
      const wavPath = await this.#decoder.decode(path, decodedPath, AbortSignal.any([signal, full.signal]));
      return await this.#transcriber.transcribe(wavPath, signal, ...rest);
    } catch (thrown) {
      throw full.signal.aborted ? (full.signal.reason as ServiceError) : thrown;
    } finally {
      await rm(decodedPath, { force: true });
      share.release();
    }
  }
}
