import { createHash } from "node:crypto";
import type { BilledTranscript } from "../../core/domain/decoding/transcript.js";
import type { Caller, FileWishes } from "../../core/ports/conversations.js";
import type { Departure, FrontRequest } from "../../core/ports/front.js";
import { ENDLESS_ROOM, type SpoolRoom } from "../../core/ports/spool-room.js";
import { type AdmitDeps, admit } from "./admit.js";
import type { Exchange } from "./exchange.js";
import {
  fingerprintOf,
  idempotencyKey,
  type OnceDeps,
  onceByKey,
  requireCreditForFile,
} from "./once-by-key.js";
import type { RouteDeps } from "./route.js";
import { converse } from "./running-work.js";
import { LONGEST_UPLOAD_BYTES, safeExtension, uploadTooLarge, withUpload } from "./spool.js";

/** Room for the parts of a form around its file. */
const FORM_BYTES = 64 * 1024;

export type FileDeps = AdmitDeps & OnceDeps & Pick<RouteDeps, "conversations" | "spoolDir" | "room">;

/** Audio that is still arriving. */
export interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Set if the audio is fetched while `bytes` is read. It then stands for the audio in the fingerprint. */
  readonly url?: string;
  readonly fileName: string | undefined;
  /** Default: the limit of uploads. */
  readonly maxBytes?: number;
}

/** How to transcribe a file and how to respond. */
interface WantedAnswer {
  /** What determines the response besides the audio. */
  readonly decides: readonly unknown[];
  readonly wishes: FileWishes;
  /** Called during the conversation. */
  answer(transcript: BilledTranscript, departure: Departure): Promise<void>;
}

export interface WantedTranscript {
  readonly exchange: Exchange;
  readonly deps: FileDeps;
  readonly caller: Caller;
  /** From `idempotencyKey`. */
  readonly key: string | null;
  readonly upload: Upload;
  /** Called once: after an upload is complete, or before a URL is fetched. */
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

/** Rejects a body of known length that is too long, or does not fit on the disk, before it is read. */
export async function checkRoom({ contentLength }: FrontRequest, room?: SpoolRoom): Promise<void> {
  const bytes = contentLength ?? 0;
  if (bytes > LONGEST_UPLOAD_BYTES + FORM_BYTES) throw uploadTooLarge(LONGEST_UPLOAD_BYTES);
  await room?.check(bytes);
}

/** Spools an upload, transcribes it once per idempotency key, and responds during the conversation. */
export async function transcribeUpload(request: WantedTranscript): Promise<void> {
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
    const { decides, ...file } = wanted();
    const fingerprint = () => fingerprintOf(exchange.request, decides, { url });
    // A kept response needs no fetch. Paid work is repeated with a new fetch, which may return another file
    // by now.
    return onceByKey(exchange, deps, { ...billed, fingerprint, isAudioOpen: true }, (_caller, hears) =>
      withUpload(upload.bytes, options, async (path) => {
        const payer = hash === undefined ? caller : await hears(() => hash.digest());
        return transcribeFile(request, payer, path, file);
      }),
    );
  }
  await withUpload(upload.bytes, options, (path) => {
    const { decides, ...file } = wanted();
    const fingerprint = () =>
      fingerprintOf(exchange.request, decides, { extension, sha256: hash?.digest("hex") });
    return onceByKey(exchange, deps, { ...billed, fingerprint }, (payer) =>
      transcribeFile(request, payer, path, file),
    );
  });
}

function transcribeFile(
  { exchange, deps }: WantedTranscript,
  payer: Caller,
  path: string,
  { wishes, answer }: Omit<WantedAnswer, "decides">,
): Promise<void> {
  const conversation = deps.conversations.transcription(payer, path, wishes);
  return converse(exchange, deps, conversation, async () => {
    await answer(await conversation.transcript, conversation.answer);
    conversation.complete();
  });
}
