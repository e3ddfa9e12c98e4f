import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import { decodePieces } from "../../native/transcription/decode.js";
import { segmentFile } from "../../native/transcription/segment.js";
import { openDecoder } from "../../src/input/media/open-decoder.js";
import { createLog } from "../../src/observe/log.js";
import type { AudioDecoder } from "../../src/ports/audio-decoder.js";

/** The longest file that the service takes. */
const MAX_SECONDS = 7_200;

export interface HeardFile {
  readonly text: string;
  readonly audioSeconds: number;
  /** Decoding of the container left out. */
  readonly workSeconds: number;
}

/** Transcribes files as the service does: its decoder processes, and the two tasks of its file workers, in this thread. */
export class FileListener {
  readonly #recognizer: Recognizer;
  readonly #folder: string;
  readonly #decoder: AudioDecoder;

  private constructor(recognizer: Recognizer, folder: string) {
    this.#recognizer = recognizer;
    this.#folder = folder;
    const log = createLog({ level: "error" });
    this.#decoder = openDecoder({ searchPath: process.env["PATH"] ?? "", maxSeconds: MAX_SECONDS, log });
  }

  static async open(recognizer: Recognizer): Promise<FileListener> {
    return new FileListener(recognizer, await mkdtemp(join(tmpdir(), "dauys-listener-")));
  }

  /**
   * @param path of any container that the service takes
   * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG`
   */
  async hear(path: string): Promise<HeardFile> {
    // Decoders run in a folder of their own.
    const source = resolve(path);
    const decodedPath = join(this.#folder, "decoded.wav");
    // A decoder writes over no file.
    await rm(decodedPath, { force: true });
    const wavPath = await this.#decoder.decode(source, decodedPath, new AbortController().signal);
    const pcmPath = this.#pcmPath;
    const cell = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const startedAtMs = performance.now();
    const { pieces, sampleCountIn, sampleRateInHz } = await segmentFile(
      { type: "segment", wavPath, pcmPath, maxSeconds: MAX_SECONDS, cell },
      this.#recognizer.model,
    );
    const decoded = await decodePieces(
      { type: "decode", pcmPath, pieces, hotWords: [], cell },
      this.#recognizer,
    );
    return {
      text: joined(decoded.map(({ text }) => text)),
      audioSeconds: sampleCountIn / sampleRateInHz,
      workSeconds: (performance.now() - startedAtMs) / 1_000,
    };
  }

  /** The samples of the last file, as the recogniser heard them. */
  async samples(): Promise<Int16Array> {
    const spooled = await open(this.#pcmPath);
    const { buffer, byteOffset, byteLength } = await spooled.readFile().finally(() => spooled.close());
    return new Int16Array(buffer.slice(byteOffset, byteOffset + byteLength));
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #pcmPath(): string {
    return join(this.#folder, "spooled.pcm");
  }
}

/** Texts of pieces as one. */
export function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(" ");
}
