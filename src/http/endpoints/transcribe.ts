import { createHash } from "node:crypto";
import type { HotWord } from "../../domain/decoding/hot-words.js";
import type { BilledTranscript } from "../../domain/decoding/transcript.js";
import { ServiceError } from "../../domain/errors.js";
import type { Caller } from "../../ports/conversations.js";
import type { Departure, FrontRequest } from "../../ports/front.js";
import { ENDLESS_ROOM, type SpoolRoom } from "../../ports/spool-room.js";
import type { UrlSource } from "../../ports/url-source.js";
import { parseTranscribeQuery } from "../../protocol/transcribe-query.js";
import { toTranscription, usageHeaders } from "../../protocol/transcription-response.js";
import { admit, converse } from "../admit.js";
import type { Exchange } from "../exchange.js";
import { fingerprintOf, idempotencyKey, onceByKey, requireCreditForFile } from "../idempotent-answer.js";
import { jsonInTurns } from "../json-in-turns.js";
import { endWithBody } from "../long-body.js";
import { FormUpload, isMultipart } from "../multipart-upload.js";
import { paced, UPLOAD_PACE } from "../paced-body.js";
import type { Handlers, RouteDeps } from "../route.js";
import {
  LONGEST_FETCH_BYTES,
  LONGEST_UPLOAD_BYTES,
  safeExtension,
  uploadTooLarge,
  withUpload,
} from "../spool.js";

/** File transcription. */
export function transcribeHandlers(deps: RouteDeps): Handlers<"POST /v1/transcribe"> {
  return { "POST /v1/transcribe": (exchange) => transcribe(exchange, deps) };
}

async function transcribe(exchange: Exchange, deps: RouteDeps): Promise<void> {
  const { request } = exchange;
  const caller = await admit(exchange, deps, "files");
  const key = idempotencyKey(request);
  await requireCreditForFile(deps, caller, key);
  const asked = parseTranscribeQuery(request.query, deps.conversations.alphabet);
  const { timestamps: wantsTimes, hotWords } = asked;
  const upload = await uploadOf(request, asked.urls, { urls: deps.urls, room: deps.room ?? ENDLESS_ROOM });
  const wanted = () => [wantsTimes, hotWords];
  await transcribeUpload(
    { exchange, deps, caller, key, upload, wanted, hotWords },
    async (transcript, departure) => {
      const transcription = toTranscription(transcript, wantsTimes);
      const body = await jsonInTurns(transcription);
      const type = { "content-type": "application/json", "content-length": String(body.bytes) };
      exchange.start(200, { ...type, ...usageHeaders(transcription) });
      await endWithBody(exchange, body, departure);
    },
  );
}

/** The one source of audio that a request names. A body without bytes is none. */
async function uploadOf(
  request: FrontRequest,
  [url, ...others]: readonly string[],
  { urls, room }: { readonly urls: UrlSource; readonly room: SpoolRoom },
): Promise<Upload> {
  if (url !== undefined) {
    if (others.length > 0 || (await hasBytes(request))) {
      throw new ServiceError("INVALID_REQUEST", "supply exactly one of url, a file part and a raw body");
    }
    return {
      bytes: urls.fetch(url, request.signal),
      url,
      fileName: undefined,
      maxBytes: LONGEST_FETCH_BYTES,
    };
  }
  checkLength(request.contentLength);
  await room.check(request.contentLength ?? 0);
  if (isMultipart(request)) return FormUpload.open(request, { fields: [] });
  return { bytes: paced(request.body, UPLOAD_PACE), fileName: request.header("x-filename") };
}

/** A body whose length is not announced may still turn out to be empty. */
async function hasBytes(request: FrontRequest): Promise<boolean> {
  if (request.contentLength !== null) return request.contentLength > 0;
  if (request.header("transfer-encoding") === undefined) return false;
  for await (const chunk of paced(request.body, UPLOAD_PACE)) {
    if (chunk.length > 0) return true;
  }
  return false;
}

/** Audio that is still arriving. */
interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Where it is fetched from, when it is read; a client that repeats the request means the same audio. */
  readonly url?: string;
  readonly fileName: string | undefined;
  /** An upload's usual limit when it is not said. */
  readonly maxBytes?: number;
}

/** A file that is to be transcribed for somebody. */
interface WantedTranscript {
  readonly exchange: Exchange;
  readonly deps: RouteDeps;
  readonly caller: Caller;
  readonly key: string | null;
  readonly upload: Upload;
  /**
   * What decides about the answer beside the audio. Called when the upload is complete; what it throws is answered, and
   * nothing is transcribed.
   */
  readonly wanted: () => readonly unknown[];
  readonly hotWords?: readonly HotWord[];
}

/** Puts an upload on disk, transcribes it, and answers while the conversation is still on. */
export async function transcribeUpload(
  request: WantedTranscript,
  answer: (transcript: BilledTranscript, departure: Departure) => Promise<void>,
): Promise<void> {
  const { exchange, deps, caller, key, upload, wanted, hotWords = [] } = request;
  const transcribe = (payer: Caller) => (path: string) => {
    const conversation = deps.conversations.transcription(payer, path, hotWords);
    return converse(exchange, deps, conversation, async () => {
      await answer(await conversation.transcript, conversation.answer);
      conversation.complete();
    });
  };
  const billed = { caller, key, kind: "file", units: 0 } as const;
  const extension = safeExtension(upload.fileName);
  const options = {
    spoolDir: deps.spoolDir,
    room: deps.room ?? ENDLESS_ROOM,
    name: exchange.requestId,
    extension,
    maxBytes: upload.maxBytes ?? LONGEST_UPLOAD_BYTES,
  };
  const { url } = upload;
  const hash = key === null ? undefined : createHash("sha256");
  if (url !== undefined) {
    const fingerprint = () => fingerprintOf(exchange.request, wanted(), { url });
    // What was answered before is not fetched again; what was paid for is, and may be another file by now.
    return onceByKey(exchange, deps, { ...billed, fingerprint, isAudioOpen: true }, (_caller, hears) =>
      withUpload(upload.bytes, { ...options, hash }, async (path) => {
        const payer = hash === undefined ? caller : await hears(() => hash.digest());
        return transcribe(payer)(path);
      }),
    );
  }
  await withUpload(upload.bytes, { ...options, hash }, (path) => {
    const parts = wanted();
    const fingerprint = () =>
      fingerprintOf(exchange.request, parts, { extension, sha256: hash?.digest("hex") });
    return onceByKey(exchange, deps, { ...billed, fingerprint }, (payer) => transcribe(payer)(path));
  });
}

/** Refuses what is too long before it is sent, when its length is known. Multipart adds a little around the file. */
export function checkLength(contentLength: number | null): void {
  if ((contentLength ?? 0) > LONGEST_UPLOAD_BYTES + 64 * 1024) throw uploadTooLarge(LONGEST_UPLOAD_BYTES);
}
