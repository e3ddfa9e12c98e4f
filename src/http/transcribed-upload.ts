import { createHash } from "node:crypto";
import type { BilledTranscript } from "../../core/domain/decoding/transcript.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { Caller, FileWishes, TranscriptionConversation } from "../../core/ports/conversations.js";
import type { Departure, FrontRequest } from "../../core/ports/front.js";
import { ENDLESS_ROOM, type SpoolRoom } from "../../core/ports/spool-room.js";
import { requireKnownNames, shownName } from "../../core/protocol/fields.js";
import { type MultipartEvent, MultipartReader, multipartBoundary } from "../../core/protocol/multipart.js";
import { type AdmitDeps, admit } from "./admit.js";
import type { Exchange } from "./exchange.js";
import {
  fingerprintOf,
  idempotencyKey,
  type OnceDeps,
  onceByKey,
  requireCreditForFile,
} from "./once-by-key.js";
import { paced, UPLOAD_PACE } from "./read-body.js";
import type { RouteDeps } from "./router.js";
import { converse } from "./running-work.js";
import { LONGEST_UPLOAD_BYTES, safeExtension, uploadTooLarge, withUpload } from "./spool.js";

/** Room for the parts of a form other than its file. */
const FORM_BYTES = 64 * 1024;

export type FileDeps = AdmitDeps & OnceDeps & Pick<RouteDeps, "conversations" | "spoolDir" | "room">;

export interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  /**
   * Set if the audio is fetched while `bytes` is read. The URL then represents the audio in the fingerprint.
   */
  readonly url?: string;
  readonly fileName: string | undefined;
  /** Limit on the size; by default the limit for uploads. */
  readonly maxBytes?: number;
}

export interface WantedAnswer {
  /** Everything except the audio that determines the response. */
  readonly fingerprintParts: readonly unknown[];
  readonly wishes: FileWishes;
  /** Called when the work has started, before any of its callbacks. */
  begun?(conversation: TranscriptionConversation): void;
  answer(transcript: BilledTranscript, departure: Departure): Promise<void>;
}

export interface WantedTranscript {
  readonly exchange: Exchange;
  readonly deps: FileDeps;
  readonly caller: Caller;
  readonly key: string | null;
  readonly upload: Upload;
  /** Called once, after an upload is complete or before a URL is fetched. */
  readonly wanted: () => WantedAnswer;
}

/**
 * Admits a caller before any of the file is read, and reads the idempotency key.
 * @throws {ServiceError} as `admit`, `idempotencyKey` and `requireCreditForFile`
 */
export async function admitFile(
  exchange: Exchange,
  deps: FileDeps,
): Promise<{ readonly caller: Caller; readonly key: string | null }> {
  const caller = await admit(exchange, deps, "files");
  const key = idempotencyKey(exchange.request);
  await requireCreditForFile(deps, caller, key);
  return { caller, key };
}

/** Rejects a body of known length that is too long or does not fit on the disk, before it is read. */
export async function checkRoom({ contentLength }: FrontRequest, room?: SpoolRoom): Promise<void> {
  const bytes = contentLength ?? 0;
  if (bytes > LONGEST_UPLOAD_BYTES + FORM_BYTES) throw uploadTooLarge(LONGEST_UPLOAD_BYTES);
  await room?.check(bytes);
}

/** Spools an upload, transcribes it once per idempotency key, and responds during the conversation. */
export async function transcribeUpload(request: WantedTranscript): Promise<void> {
  const leave = request.deps.conversations.expectFile();
  let isTranscribed = false;
  try {
    await receiveUpload(request, () => {
      isTranscribed = true;
    });
  } finally {
    leave(isTranscribed);
  }
}

async function receiveUpload(request: WantedTranscript, onTranscribed: () => void): Promise<void> {
  const { exchange, deps, caller, key, upload, wanted } = request;
  const billed = { caller, key, kind: "file", units: 0 } as const;
  const extension = safeExtension(upload.fileName);
  const hash = key === null ? undefined : createHash("sha256");
  const options = {
    spoolDir: deps.spoolDir,
    room: deps.room ?? ENDLESS_ROOM,
    name: exchange.requestId,
    extension,
    maxBytes: upload.maxBytes ?? LONGEST_UPLOAD_BYTES,
    hash,
  };
  const { url } = upload;
  if (url !== undefined) {
    const { fingerprintParts, ...file } = wanted();
    const fingerprint = () => fingerprintOf(exchange.request, fingerprintParts, { url });
    // A stored response needs no fetch. Paid work is repeated with a new fetch, which may return a different
    // file by now.
    return onceByKey(
      exchange,
      deps,
      { ...billed, fingerprint, isAudioKnownLater: true },
      (_caller, reportAudio) =>
        withUpload(upload.bytes, options, async (path) => {
          const payer = hash === undefined ? caller : await reportAudio(() => hash.digest());
          return transcribeFile(request, payer, path, { ...file, onTranscribed });
        }),
    );
  }
  await withUpload(upload.bytes, options, (path) => {
    const { fingerprintParts, ...file } = wanted();
    const fingerprint = () =>
      fingerprintOf(exchange.request, fingerprintParts, { extension, sha256: hash?.digest("hex") });
    return onceByKey(exchange, deps, { ...billed, fingerprint }, (payer) =>
      transcribeFile(request, payer, path, { ...file, onTranscribed }),
    );
  });
}

function transcribeFile(
  { exchange, deps }: WantedTranscript,
  payer: Caller,
  path: string,
  {
    wishes,
    begun,
    answer,
    onTranscribed,
  }: Omit<WantedAnswer, "fingerprintParts"> & { readonly onTranscribed: () => void },
): Promise<void> {
  const conversation = deps.conversations.transcription(payer, path, wishes);
  begun?.(conversation);
  return converse(exchange, deps, conversation, async () => {
    const transcript = await conversation.transcript;
    onTranscribed();
    await answer(transcript, conversation.answer);
    conversation.complete();
  });
}

const FILE_PART = "file";
/** Limit for all fields of a form together. */
const LONGEST_FIELDS_BYTES = 64 * 1024;

export function isMultipart(request: FrontRequest): boolean {
  return /^multipart\/form-data\b/i.test(request.header("content-type")?.trim() ?? "");
}

/** A form with one file, which is read as it arrives. Fields may come before and after the file. */
export class FormUpload {
  /**
   * Complete once `bytes` was read to its end. A trailing `[]` is dropped from names, and the values of such
   * a list are joined.
   */
  readonly fields = new Map<string, string>();
  readonly #events: AsyncGenerator<MultipartEvent, void, undefined>;
  readonly #known: readonly string[] | null;
  #fieldBytes = 0;
  /** Name of a file part that is not called `file`. */
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
   * Reads a form up to the start of its file.
   *
   * @param options.fields names of the allowed fields; any name if absent
   * @throws {ServiceError} `NO_AUDIO` if there is no file, `INVALID_REQUEST`, `UNKNOWN_PARAMETER`,
   *   `BODY_TOO_LARGE`
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

  /** The bytes of the file. Reading them also reads the rest of the form. */
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

  /** Collects fields up to the next file part. Returns false at the end of the form. */
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
      } else if (event.type === "part-end") this.#set(name, Buffer.concat(value).toString());
      else value.push(this.#counted(name, event.bytes));
    }
  }

  /** If a field is repeated, its last value counts; if its name is that of a list, all values count. */
  #set(name: string, value: string): void {
    const base = name.replace(/\[\]$/, "");
    const before = base === name ? undefined : this.fields.get(base);
    this.fields.set(base, before === undefined ? value : `${before},${value}`);
  }

  /** Rejects an unknown name immediately, before the audio that follows is sent. */
  #checkName({ name, fileName }: { readonly name: string; readonly fileName: string | undefined }): void {
    if (fileName !== undefined) this.#misnamed ??= name;
    if (this.#known === null) return;
    if (fileName !== undefined) throw misnamed(name);
    requireKnownNames("field", [name], this.#known);
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
