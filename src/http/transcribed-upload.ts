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

/** What stands in a form around its file, about. */
const FORM_BYTES = 64 * 1024;

/** What it takes to transcribe a file. */
export type FileDeps = AdmitDeps & OnceDeps & Pick<RouteDeps, "conversations" | "spoolDir" | "room">;

/** Audio that is still arriving. */
export interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Where it is fetched from, when it is read; a client that repeats the request means the same audio. */
  readonly url?: string;
  readonly fileName: string | undefined;
  /** An upload's usual limit when it is not said. */
  readonly maxBytes?: number;
}

/** What a file is transcribed with, and how it is answered. */
interface WantedAnswer {
  /** What decides about the answer beside the audio. */
  readonly decides: readonly unknown[];
  readonly wishes: FileWishes;
  /** Called while the conversation is on. */
  answer(transcript: BilledTranscript, departure: Departure): Promise<void>;
}

/** A file that is to be transcribed for a caller. */
export interface WantedTranscript {
  readonly exchange: Exchange;
  readonly deps: FileDeps;
  readonly caller: Caller;
  /** From `idempotencyKey`. */
  readonly key: string | null;
  readonly upload: Upload;
  /** Called once, when the upload is complete or its address is all there is; what it throws is answered. */
  readonly wanted: () => WantedAnswer;
}

/**
 * A caller who may hand in a file, before any of it is taken, and the request's idempotency key.
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

/** Refuses what is too long, or has no room on the disk, before it is sent, when its length is known. */
export async function checkRoom({ contentLength }: FrontRequest, room?: SpoolRoom): Promise<void> {
  const bytes = contentLength ?? 0;
  if (bytes > LONGEST_UPLOAD_BYTES + FORM_BYTES) throw uploadTooLarge(LONGEST_UPLOAD_BYTES);
  await room?.check(bytes);
}

/** Puts an upload on disk, transcribes it, and answers while the conversation is still on. */
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
    // What was answered before is not fetched again; what was paid for is, and may be another file by now.
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
