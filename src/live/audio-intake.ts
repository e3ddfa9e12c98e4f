import { type Container, detectStreamedFile } from "../../core/domain/audio/container.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { StreamDecoder, StreamedForm } from "../../core/ports/stream-decoder.js";
import type { AnnouncedForm, LiveTranslation } from "./dialects/dialect.js";

/** Recorders write headers of a few dozen bytes, or a few hundred if they include tags. */
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

const RECEIVED_FORMS: Readonly<Record<StreamedForm, string>> = {
  webm: "a WebM file",
  ogg: "an Ogg file",
  opus: "Opus packets",
};

type IntakeTranslation = Pick<
  LiveTranslation,
  "mayBeFile" | "announced" | "channelCount" | "beginWav" | "beginDecoded" | "submitted"
>;

/**
 * Opens a decoder; null if none can run.
 * @throws {ServiceError} `ENGINE_BUSY`, `TOO_MANY_REQUESTS`
 */
export type OpenDecoder = ((form: StreamedForm) => StreamDecoder) | null;

/**
 * Detects what a live client sends: plain samples; a WAV file, whose header is stripped; WebM, Ogg or Opus,
 * which go to a decoder; or another file, which is rejected. Interpreted as samples, a file would silently
 * become noise.
 */
export class AudioIntake {
  readonly #translation: IntakeTranslation;
  readonly #open: OpenDecoder;
  #state: "first" | "wav-head" | "samples" | "decoded" | "refused";
  /** Bytes held back until the format is known, and after that the header of a WAV. */
  #head: Uint8Array = NO_BYTES;
  #decoder: StreamDecoder | null = null;

  constructor(translation: IntakeTranslation, open: OpenDecoder) {
    this.#translation = translation;
    this.#open = open;
    const isRead = translation.mayBeFile || (translation.announced ?? null) !== null;
    this.#state = isRead ? "first" : "samples";
  }

  /** True if each message is one packet, so that messages must not be joined. */
  get isPacketed(): boolean {
    return this.#translation.announced === "opus";
  }

  /** True if a decoder converts the client's bytes to samples, which arrive later. */
  get isDecoding(): boolean {
    return this.#decoder !== null;
  }

  /** Calls `then` once the decoder has decoded everything before it. */
  after(then: () => void): void {
    this.#decoder?.mark(then);
  }

  /** Ends the decoder, if there is one, and ignores anything that follows. */
  close(): void {
    this.#decoder?.close();
    if (this.#decoder !== null) this.#state = "refused";
  }

  /**
   * Returns the samples of a non-empty message; none if a decoder sends them later. Recorders may send their
   * first byte alone, so the first few bytes are held back while they could be the start of a file.
   *
   * @throws {ServiceError} once, for an unsupported file or a missing decoder; later bytes are ignored
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
      case "decoded":
        this.#translation.submitted?.(bytes);
        this.#decoder?.push(bytes);
        return NO_BYTES;
    }
  }

  /** Returns the bytes that were held back as samples, because they did not become a file. */
  rest(): Uint8Array {
    if (this.#state !== "first" || (this.#translation.announced ?? null) !== null) return NO_BYTES;
    const head = this.#head;
    if (head.length > 0) this.#state = "samples";
    this.#head = NO_BYTES;
    return head;
  }

  #detect(bytes: Uint8Array): Uint8Array {
    const head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    const container = detectStreamedFile(head);
    // A packet is complete, however short it is.
    if (container === "open" && !this.isPacketed) {
      // Copy the bytes, because they are borrowed.
      this.#head = Uint8Array.from(head);
      return NO_BYTES;
    }
    this.#head = NO_BYTES;
    this.#state = "refused";
    const found = container === "open" ? null : container;
    const { announced = null } = this.#translation;
    const form = formOf(found, announced);
    if (form !== null && this.#open !== null) {
      this.#requireOneChannel(form);
      this.#decoder = this.#open(form);
      this.#translation.beginDecoded?.();
      this.#state = "decoded";
    } else if (announced !== null) throw unlikeAnnounced(announced, found, this.#open !== null);
    else if (found !== null && found !== "wav") throw unsupported(FORMAT_NAMES[found], this.#open !== null);
    else this.#state = found === null ? "samples" : "wav-head";
    return this.samplesOf(head);
  }

  /** Rejects compressed audio with several channels, because a decoder mixes them. */
  #requireOneChannel(form: StreamedForm): void {
    const { channelCount = 1 } = this.#translation;
    if (channelCount === 1) return;
    const rule = `separate channels of live audio must be samples or a WAV with ${channelCount} channels`;
    throw new ServiceError("UNSUPPORTED_FORMAT", `${rule}, received ${RECEIVED_FORMS[form]}`);
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

/** Returns the form that a decoder must read; null if the bytes need no decoder, or none can read them. */
function formOf(found: Container | null, announced: AnnouncedForm | null): StreamedForm | null {
  // Earlier clients announce Ogg as `opus`.
  if (found === "ogg") return "ogg";
  if (announced === "opus") return found === "webm" ? "webm" : "opus";
  return announced === null && found === "webm" ? "webm" : null;
}

function unlikeAnnounced(
  announced: AnnouncedForm,
  found: Container | null,
  isDecoded: boolean,
): ServiceError {
  const received = found === null ? "something else" : FORMAT_NAMES[found];
  const message = isDecoded
    ? `encoding=${announced} must be Ogg with Opus, received ${received}`
    : `encoding=${announced} is not supported by this service; send encoding=linear16`;
  return new ServiceError("UNSUPPORTED_FORMAT", message, { param: "encoding" });
}

function unsupported(name: string, isDecoded: boolean): ServiceError {
  const rule = "live audio must be 16-bit little-endian mono PCM samples";
  const browser = "in a browser, use an AudioWorklet instead of a MediaRecorder";
  return new ServiceError(
    "UNSUPPORTED_FORMAT",
    isDecoded
      ? `${rule}, or WebM or Ogg with Opus, received ${name} ` +
          "(in a browser, create the MediaRecorder with audio/webm;codecs=opus, or use an AudioWorklet)"
      : `${rule}, received ${name} (${browser})`,
  );
}
