import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { AudioDecoder } from "../ports/audio-decoder.js";
import type { FileTranscript, Transcriber } from "../ports/transcriber.js";

/** A transcriber of any container, made of a decoder and a transcriber of WAV files. */
export class DecodingTranscriber implements Transcriber {
  readonly #decoder: AudioDecoder;
  readonly #transcriber: Transcriber;
  readonly #spoolFolder: string;

  constructor(decoder: AudioDecoder, transcriber: Transcriber, spoolFolder: string) {
    this.#decoder = decoder;
    this.#transcriber = transcriber;
    this.#spoolFolder = spoolFolder;
  }

  async transcribe(
    ...[path, signal, ...rest]: Parameters<Transcriber["transcribe"]>
  ): Promise<FileTranscript> {
    const decodedPath = join(this.#spoolFolder, `${randomUUID()}.wav`);
    try {
      const wavPath = await this.#decoder.decode(path, decodedPath, signal);
      return await this.#transcriber.transcribe(wavPath, signal, ...rest);
    } finally {
      await rm(decodedPath, { force: true });
    }
  }
}
