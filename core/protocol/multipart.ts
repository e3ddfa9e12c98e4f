import { invalid } from "../domain/errors.js";

/** Events of a multipart body, in order. Bytes of `data` belong to the last part. */
export type MultipartEvent =
  | { readonly type: "part"; readonly name: string; readonly fileName: string | undefined }
  | { readonly type: "data"; readonly bytes: Uint8Array }
  | { readonly type: "part-end" };

const LONGEST_PART_HEADER_BYTES = 16 * 1024;
const MAX_PARTS = 100;
const NEW_LINE = Buffer.from("\r\n");
const BLANK_LINE = Buffer.from("\r\n\r\n");

/** Returns a content type's multipart boundary. @throws {ServiceError} `INVALID_REQUEST` without one */
export function multipartBoundary(contentType: string): string {
  const match = /;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw invalid("multipart/form-data must name its boundary");
  return boundary;
}

/**
 * Parses a `multipart/form-data` body that arrives in any chunking. Between chunks it buffers less than a
 * delimiter or a part's headers.
 *
 * @see RFC 7578 and RFC 2046, section 5.1
 */
export class MultipartReader {
  readonly #delimiter: Buffer;
  /** Starts with a line break, so that a delimiter at the very start looks like the others. */
  #pending: Buffer = NEW_LINE;
  #state: "preamble" | "after-delimiter" | "headers" | "data" | "done" = "preamble";
  #parts = 0;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  /** @throws {ServiceError} `INVALID_REQUEST` when the body breaks the format */
  *push(chunk: Uint8Array): Generator<MultipartEvent, void, undefined> {
    this.#pending = this.#pending.length === 0 ? viewOf(chunk) : Buffer.concat([this.#pending, chunk]);
    for (;;) {
      const before = this.#state;
      const event = this.#step();
      if (event !== null) yield event;
      if (event === null && this.#state === before) return;
    }
  }

  /** @throws {ServiceError} `INVALID_REQUEST` when the last delimiter is missing */
  end(): void {
    if (this.#state !== "done") throw invalid("the multipart body ended before its last boundary");
  }

  /** Returns an event or changes the state; neither when more bytes are needed. */
  #step(): MultipartEvent | null {
    switch (this.#state) {
      case "preamble":
        return this.#skipPreamble();
      case "after-delimiter":
        return this.#readDelimiterEnd();
      case "headers":
        return this.#readHeaders();
      case "data":
        return this.#readData();
      case "done":
        this.#pending = Buffer.alloc(0);
        return null;
    }
  }

  #skipPreamble(): null {
    const at = this.#pending.indexOf(this.#delimiter);
    if (at < 0) {
      this.#take(Math.max(0, this.#pending.length - this.#delimiter.length + 1));
      return null;
    }
    this.#take(at + this.#delimiter.length);
    this.#state = "after-delimiter";
    return null;
  }

  #readDelimiterEnd(): null {
    if (this.#pending.length >= 2 && this.#pending[0] === 0x2d && this.#pending[1] === 0x2d) {
      this.#state = "done";
      return null;
    }
    const end = this.#pending.indexOf(NEW_LINE);
    if (end < 0) {
      if (this.#pending.length > 256) throw invalid("a multipart boundary must end with a line break");
      return null;
    }
    if (this.#pending.toString("latin1", 0, end).trim() !== "")
      throw invalid("a multipart boundary must end its line");
    // Keep the line break, so that a part without headers looks like any other.
    this.#take(end);
    this.#state = "headers";
    if (++this.#parts > MAX_PARTS) throw invalid(`a multipart body must have at most ${MAX_PARTS} parts`);
    return null;
  }

  #readHeaders(): MultipartEvent | null {
    const end = this.#pending.indexOf(BLANK_LINE);
    if (end > LONGEST_PART_HEADER_BYTES || (end < 0 && this.#pending.length > LONGEST_PART_HEADER_BYTES)) {
      throw invalid(`headers of a multipart part must be at most ${LONGEST_PART_HEADER_BYTES} bytes`);
    }
    if (end < 0) return null;
    const head = this.#pending.toString("utf8", 0, end);
    this.#take(end + BLANK_LINE.length);
    this.#state = "data";
    return partEvent(head);
  }

  #readData(): MultipartEvent | null {
    const at = this.#pending.indexOf(this.#delimiter);
    if (at === 0) {
      this.#take(this.#delimiter.length);
      this.#state = "after-delimiter";
      return { type: "part-end" };
    }
    // The end of the data may be the start of a delimiter.
    const size = at > 0 ? at : this.#pending.length - this.#delimiter.length + 1;
    if (size <= 0) return null;
    const bytes = this.#pending.subarray(0, size);
    this.#take(size);
    return { type: "data", bytes };
  }

  #take(bytes: number): void {
    this.#pending = this.#pending.subarray(bytes);
  }
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function partEvent(head: string): MultipartEvent {
  const disposition = /^content-disposition:(.*)$/im.exec(head)?.[1] ?? "";
  const name = parameter(disposition, NAME);
  if (name === undefined) throw invalid("every multipart part must have a name");
  return { type: "part", name, fileName: parameter(disposition, FILE_NAME) };
}

const NAME = parameterPattern("name");
const FILE_NAME = parameterPattern("filename");

function parameterPattern(name: string): RegExp {
  return new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, "i");
}

function parameter(disposition: string, pattern: RegExp): string | undefined {
  const match = pattern.exec(disposition);
  return match?.[1]?.replace(/\\(["\\])/g, "$1") ?? match?.[2];
}
