import type { Caller } from "../../actors/session/conversation.js";
import { SpeechError } from "../domain/errors.js";
import type { FrontRequest } from "../ports/front.js";
import type { UrlSource } from "../ports/url-source.js";
import { parseFlag } from "../protocol/flags.js";
import { type TimedTranscript, toTranscription, usageHeaders } from "../protocol/transcription-response.js";
import { admit, converse } from "./converse.js";
import type { Exchange } from "./exchange.js";
import { FormUpload, isMultipart } from "./multipart-upload.js";
import type { Route, RouteDeps } from "./routes.js";
import {
  LONGEST_FETCH_BYTES,
  LONGEST_UPLOAD_BYTES,
  safeExtension,
  uploadTooLarge,
  withUpload,
} from "./spool.js";

/** File transcription. */
export function transcribeRoutes(deps: RouteDeps): readonly Route[] {
  return [{ method: "POST", path: "/v1/transcribe", handle: (exchange) => transcribe(exchange, deps) }];
}

async function transcribe(exchange: Exchange, deps: RouteDeps): Promise<void> {
  const { request } = exchange;
  const caller = await admit(exchange, deps, "files");
  await deps.conversations.requireCredit(caller, "file");
  const wantsTimes = parseFlag("timestamps", request.query.get("timestamps"), false);
  const upload = await uploadOf(request, deps.urls);
  await transcribeUpload({ exchange, deps, caller, upload }, async (transcript) => {
    const transcription = toTranscription(transcript, wantsTimes);
    await exchange.json(200, transcription, usageHeaders(transcription));
  });
}

/** The one source of audio that a request names. A body without bytes is none. */
async function uploadOf(request: FrontRequest, urls: UrlSource): Promise<Upload> {
  const [url, ...others] = request.query.getAll("url").filter((value) => value !== "");
  if (url !== undefined) {
    if (others.length > 0 || (await hasBytes(request))) {
      throw new SpeechError("INVALID_REQUEST", "supply exactly one of url, a file part and a raw body");
    }
    return { bytes: urls.fetch(url, request.signal), fileName: undefined, maxBytes: LONGEST_FETCH_BYTES };
  }
  checkLength(request.contentLength);
  if (isMultipart(request)) return FormUpload.open(request);
  return { bytes: request.body, fileName: request.header("x-filename") };
}

/** A body whose length is not announced may still turn out to be empty. */
async function hasBytes(request: FrontRequest): Promise<boolean> {
  if (request.contentLength !== null) return request.contentLength > 0;
  if (request.header("transfer-encoding") === undefined) return false;
  for await (const chunk of request.body) {
    if (chunk.length > 0) return true;
  }
  return false;
}

/** Audio that is still arriving. */
export interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly fileName: string | undefined;
  /** An upload's usual limit when it is not said. */
  readonly maxBytes?: number;
}

/** Puts an upload on disk, transcribes it, and answers while the conversation is still on. */
export async function transcribeUpload(
  parts: {
    exchange: Exchange;
    deps: RouteDeps;
    caller: Caller;
    upload: Upload;
    /** The upload is complete; what it throws is answered, and nothing is transcribed. */
    onStored?: () => void;
  },
  answer: (transcript: TimedTranscript) => Promise<void>,
): Promise<void> {
  const { exchange, deps, caller, upload } = parts;
  const options = {
    spoolDir: deps.spoolDir,
    name: exchange.requestId,
    extension: safeExtension(upload.fileName),
    maxBytes: upload.maxBytes ?? LONGEST_UPLOAD_BYTES,
  };
  await withUpload(upload.bytes, options, async (path) => {
    parts.onStored?.();
    const conversation = deps.conversations.transcription(caller, path);
    await converse(exchange, deps, conversation, async () => answer(await conversation.transcript));
  });
}

/** Refuses what is too long before it is sent, when its length is known. Multipart adds a little around the file. */
export function checkLength(contentLength: number | null): void {
  if ((contentLength ?? 0) > LONGEST_UPLOAD_BYTES + 64 * 1024) throw uploadTooLarge(LONGEST_UPLOAD_BYTES);
}
