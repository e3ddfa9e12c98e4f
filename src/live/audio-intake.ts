import { type Container, detectStreamedFile } from "../../core/domain/audio/container.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { LiveTranslation } from "./dialects/dialect.js";

/** Recorders write headers of a few dozen bytes, or a few hundred with tags. */
const LONGEST_WAV_HEAD_BYTES = 4_096;
const NO_BYTES = new Uint8Array(0);

const FORMAT_NAMES: Readonly<Record<Container, string>> = {
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
 * Recognizes what a live client sends: plain samples, a WAV file, whose header it strips, or another file,
 * which it rejects. Interpreted as samples, such a file would be noise without an error.
 */
export class AudioIntake {
  readonly #translation: Pick<LiveTranslation, "mayBeFile" | "beginWav">;
  #state: "first" | "wav-head" | "samples" | "refused";
  /** Bytes held back until the format is known, and the header of a WAV. */
  #head: Uint8Array = NO_BYTES;

  constructor(translation: Pick<LiveTranslation, "mayBeFile" | "beginWav">) {
    this.#translation = translation;
    this.#state = translation.mayBeFile ? "first" : "samples";
  }

  /**
   * Returns the samples of a non-empty message. Recorders may send their first byte alone, so the first few
   * bytes are held back while they may be the start of a file.
   *
   * @throws {ServiceError} once, for an unsupported file; later bytes are ignored
   */
  samplesOf(bytes: Uint8Array): Uint8Array {
    switch (this.#state) {
      case "samples":
        return bytes;
      case "refused":
        return NO_BYTES;
      case "first":
        return this.#detect(bytes);
      case "wav-head":
        return this.#readHead(bytes);
    }
  }

  /** Returns bytes that were held back, as samples: they did not become a file. */
  rest(): Uint8Array {
    if (this.#state !== "first") return NO_BYTES;
    const head = this.#head;
    if (head.length > 0) this.#state = "samples";
    this.#head = NO_BYTES;
    return head;
  }

  #detect(bytes: Uint8Array): Uint8Array {
    const head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    const container = detectStreamedFile(head);
    if (container === "open") {
      // Copy: the bytes are borrowed.
      this.#head = Uint8Array.from(head);
      return NO_BYTES;
    }
    this.#head = NO_BYTES;
    this.#state = container === null ? "samples" : container === "wav" ? "wav-head" : "refused";
    if (container !== null && container !== "wav") throw unsupported(FORMAT_NAMES[container]);
    return this.samplesOf(head);
  }

  #readHead(bytes: Uint8Array): Uint8Array {
    const head = Buffer.concat([this.#head, bytes]);
    try {
      const header = parseWavHeader(head.subarray(0, LONGEST_WAV_HEAD_BYTES));
      if (header === null) {
        if (head.length >= LONGEST_WAV_HEAD_BYTES) {
          const message = `the header of a live WAV must be at most ${LONGEST_WAV_HEAD_BYTES} bytes`;
          throw new ServiceError("UNSUPPORTED_FORMAT", message);
        }
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

function unsupported(name: string): ServiceError {
  return new ServiceError(
    "UNSUPPORTED_FORMAT",
    `live audio must be 16-bit little-endian mono PCM samples, received a file of ${name} ` +
      "(in a browser, use an AudioWorklet instead of a MediaRecorder)",
  );
}
