import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { TranscriptionEngine } from "../../actors/transcription/engine.js";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { createLog } from "../../core/observe/log.js";
import type { AudioDecoder } from "../../core/ports/audio-decoder.js";
import { recognizerFamilyOf } from "../../native/models/families.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import { openWav, WavAudio } from "../../native/transcription/file-audio.js";
import { performTask } from "../../native/transcription/perform.js";
import { openDecoder } from "../../src/input/media/file-decoder.js";

/** Length of the longest file that the service accepts. */
const MAX_SECONDS = 7_200;

export interface HeardFile {
  readonly text: string;
  readonly audioSeconds: number;
  /** Processing time without decoding of the container. */
  readonly workSeconds: number;
}

/**
 * Transcribes files as the service does: with its decoder processes and its engine, whose only worker is this
 * thread.
 */
export class FileListener {
  readonly #recognizer: Recognizer;
  readonly #folder: string;
  readonly #decoder: AudioDecoder;
  readonly #engine: TranscriptionEngine;
  #wavPath = "";

  private constructor(recognizer: Recognizer, folder: string) {
    const log = createLog({ level: "error" });
    const { manifest } = recognizer.model;
    this.#recognizer = recognizer;
    this.#folder = folder;
    this.#decoder = openDecoder({ searchPath: process.env["PATH"] ?? "", maxSeconds: MAX_SECONDS, log });
    this.#engine = new TranscriptionEngine({
      pool: {
        workerCount: 1,
        run: async (task) => ({ ok: true, value: await performTask(task, recognizer) }),
        close: async () => {},
      },
      modelId: manifest.id,
      sampleRateHz: manifest.sampleRateHz,
      frameSamples: manifest.frameSamples,
      forgets: recognizerFamilyOf(manifest).can.forget(manifest),
      maxSeconds: MAX_SECONDS,
      log,
    });
  }

  static async open(recognizer: Recognizer): Promise<FileListener> {
    return new FileListener(recognizer, await mkdtemp(join(tmpdir(), "dauys-listener-")));
  }

  /**
   * @param path file in any container format that the service accepts
   * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG`
   */
  async hear(path: string): Promise<HeardFile> {
    // Decoders run in a separate folder.
    const source = resolve(path);
    const decodedPath = join(this.#folder, "decoded.wav");
    // A decoder never overwrites a file.
    await rm(decodedPath, { force: true });
    const never = new AbortController().signal;
    this.#wavPath = await this.#decoder.decode(source, decodedPath, never);
    const startedAtMs = performance.now();
    const { segments, sampleCountIn, sampleRateInHz } = await this.#engine.transcribe(this.#wavPath, never);
    return {
      text: joined(segments.map(({ text }) => text)),
      audioSeconds: sampleCountIn / sampleRateInHz,
      workSeconds: (performance.now() - startedAtMs) / 1_000,
    };
  }

  /** Returns the samples of the last file, as the recogniser received them. */
  async samples(): Promise<Int16Array> {
    const { sampleRateHz } = this.#recognizer.model.manifest;
    const audio = await WavAudio.open(await openWav(this.#wavPath), sampleRateHz);
    try {
      return toInt16(await audio.read({ start: 0, end: audio.sampleCount }));
    } finally {
      await audio.close();
    }
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Joins the texts of pieces. */
export function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(" ");
}
