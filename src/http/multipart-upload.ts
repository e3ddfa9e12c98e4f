import { ServiceError } from "../../core/domain/errors.js";
import type { FrontRequest } from "../../core/ports/front.js";
import { requireKnownNames, shownName } from "../../core/protocol/fields.js";
import { type MultipartEvent, MultipartReader, multipartBoundary } from "../../core/protocol/multipart.js";
import { paced, UPLOAD_PACE } from "./paced-body.js";

const FILE_PART = "file";
/** All fields of a form together. */
const LONGEST_FIELDS_BYTES = 64 * 1024;

export function isMultipart(request: FrontRequest): boolean {
  return /^multipart\/form-data\b/i.test(request.header("content-type")?.trim() ?? "");
}

/** A form with one file that is still arriving. Fields may stand before and after the file. */
export class FormUpload {
  /** Complete once `bytes` has been read to its end. A name that ends in `[]` counts without it. */
  readonly fields = new Map<string, string>();
  readonly #events: AsyncGenerator<MultipartEvent, void, undefined>;
  readonly #known: readonly string[] | null;
  #fieldBytes = 0;
  /** A part that looks like the file and has another name. */
  #misnamed: string | null = null;
  #fileName: string | undefined;

  private constructor(request: FrontRequest, known: readonly string[] | null) {
    this.#events = eventsOf(request);
    this.#known = known;
  }

  get fileName(): string | undefined {
    return this.#fileName;
  }

  /**
   * Reads up to the beginning of the file.
   *
   * @param options.fields names that the form may hold beside the file; any name when absent
   * @throws {ServiceError} `NO_AUDIO` when there is none, `INVALID_REQUEST`, `UNKNOWN_PARAMETER`, `BODY_TOO_LARGE`
   */
  static async open(
    request: FrontRequest,
    { fields }: { readonly fields?: readonly string[] } = {},
  ): Promise<FormUpload> {
    const form = new FormUpload(request, fields === undefined ? null : [...fields, FILE_PART]);
    if (await form.#readFields()) return form;
    if (form.#misnamed !== null) throw misnamed(form.#misnamed);
    throw new ServiceError("NO_AUDIO", "no audio supplied: the form has no part file", { param: FILE_PART });
  }

  /** The bytes of the file; reads the form to its end. */
  get bytes(): AsyncIterable<Uint8Array> {
    return this.#readFile();
  }

  async *#readFile(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const { value: event } = await this.#events.next();
      if (event?.type !== "data") break;
      yield event.bytes;
    }
    if (await this.#readFields()) {
      throw new ServiceError("INVALID_REQUEST", "supply exactly one file part, received several");
    }
  }

  /** Collects fields up to the next file part; false when the form is over. */
  async #readFields(): Promise<boolean> {
    let name = "";
    let value: Uint8Array[] = [];
    for (;;) {
      const { value: event, done } = await this.#events.next();
      if (done === true || event === undefined) return false;
      if (event.type === "part") {
        name = event.name;
        value = [];
        if (name === FILE_PART) {
          this.#fileName = event.fileName;
          return true;
        }
        this.#checkName(event);
      } else if (event.type === "part-end") this.#keep(name, Buffer.concat(value).toString());
      else value.push(this.#counted(name, event.bytes));
    }
  }

  /** Refused at once where the names are known: the audio behind a wrong one need not be sent. */
  #checkName({ name, fileName }: { readonly name: string; readonly fileName: string | undefined }): void {
    if (fileName !== undefined) this.#misnamed ??= name;
    if (this.#known === null) return;
    if (fileName !== undefined) throw misnamed(name);
    requireKnownNames("field", [name], this.#known);
  }

  #keep(name: string, value: string): void {
    this.fields.set(name.replace(/\[\]$/, ""), value);
  }

  #counted(name: string, bytes: Uint8Array): Uint8Array {
    this.#fieldBytes += bytes.length;
    if (this.#fieldBytes > LONGEST_FIELDS_BYTES) {
      if (this.#misnamed === name) throw misnamed(name);
      throw new ServiceError(
        "BODY_TOO_LARGE",
        `the fields of a form must be at most ${LONGEST_FIELDS_BYTES} bytes, and the audio in a part named file; ` +
          `${shownName(name)} went beyond`,
      );
    }
    return bytes;
  }
}

function misnamed(name: string): ServiceError {
  return new ServiceError(
    "UNKNOWN_PARAMETER",
    `the audio must be in a part named file, received ${shownName(name)}`,
  );
}

async function* eventsOf(request: FrontRequest): AsyncGenerator<MultipartEvent, void, undefined> {
  const reader = new MultipartReader(multipartBoundary(request.header("content-type") ?? ""));
  for await (const chunk of paced(request.body, UPLOAD_PACE)) yield* reader.push(chunk);
  reader.end();
}
