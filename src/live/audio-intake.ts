import { type Container, detectStreamedFile } from "../../core/domain/audio/container.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { LiveTranslation } from "./dialects/dialect.js";

/** Headers of recorders are some dozen bytes, with tags some hundred. */
const LONGEST_WAV_HEAD_BYTES = 4_096;
const NO_BYTES = new Uint8Array(0);

const CALLED: Readonly<Record<Container, string>> = {
  wav: "WAV",
  mp3: "MP3",
  aac: "AAC",
  mp4: "MP4",
  flac: "FLAC",
  ogg: "Ogg",
  webm: "WebM",
  aiff: "AIFF",
  caf: "CAF",
  amr: "AMR",
  au: "AU",
};

/**
 * What a live client's audio is made of: samples, samples behind the header of a WAV, or a file in whose place samples
 * should be. Heard as samples such a file is noise, and its client waits in vain.
 */
export class AudioIntake {
  readonly #translation: Pick<LiveTranslation, "mayBeFile" | "beginWav">;
  #state: "first" | "wav-head" | "samples" | "refused";
  /** What came before it is known what it is, and of a WAV up to its samples. */
  #head: Uint8Array = NO_BYTES;

  constructor(translation: Pick<LiveTranslation, "mayBeFile" | "beginWav">) {
    this.#translation = translation;
    this.#state = translation.mayBeFile ? "first" : "samples";
  }

  /**
   * The samples that are certain with this message, which is not empty. Recorders send their first byte alone, so the first
   * few are held back while they may become a file's.
   *
   * @throws {ServiceError} once, with the reason, for a file that is not taken; what comes after it is no audio
   */
  samplesOf(bytes: Uint8Array): Uint8Array {
    switch (this.#state) {
      case "samples":
        return bytes;
      case "refused":
        return NO_BYTES;
      case "first":
        return this.#begin(bytes);
      case "wav-head":
        return this.#readHead(bytes);
    }
  }

  /** Samples that were held back: nothing that came makes them a file's. */
  rest(): Uint8Array {
    if (this.#state !== "first") return NO_BYTES;
    const head = this.#head;
    if (head.length > 0) this.#state = "samples";
    this.#head = NO_BYTES;
    return head;
  }

  #begin(bytes: Uint8Array): Uint8Array {
    const head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    const container = detectStreamedFile(head);
    if (container === "open") {
      // The bytes are lent.
      this.#head = Uint8Array.from(head);
      return NO_BYTES;
    }
    this.#head = NO_BYTES;
    this.#state = container === null ? "samples" : container === "wav" ? "wav-head" : "refused";
    if (container !== null && container !== "wav") throw notTaken(CALLED[container]);
    return this.samplesOf(head);
  }

  #readHead(bytes: Uint8Array): Uint8Array {
    const head = Buffer.concat([this.#head, bytes]);
    try {
      const header = parseWavHeader(head.subarray(0, LONGEST_WAV_HEAD_BYTES));
      if (header === null) {
        if (head.length >= LONGEST_WAV_HEAD_BYTES) throw longHead();
        this.#head = head;
        return NO_BYTES;
      }
      this.#translation.beginWav(header);
      this.#state = "samples";
      this.#head = NO_BYTES;
      return head.subarray(header.dataOffset);
    } catch (error) {
      this.#state = "refused";
      throw error;
    }
  }
}

function notTaken(name: string): ServiceError {
  return new ServiceError(
    "UNSUPPORTED_FORMAT",
    `the audio begins as a file of ${name}, which is not taken live: send samples, 16-bit little-endian PCM, mono ` +
      "(in a browser from an AudioWorklet, not from a MediaRecorder)",
  );
}

function longHead(): ServiceError {
  return new ServiceError(
    "UNSUPPORTED_FORMAT",
    `the header of a live WAV must be at most ${LONGEST_WAV_HEAD_BYTES} bytes`,
  );
}
