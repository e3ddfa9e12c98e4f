import type { Caller } from "../../actors/session/conversation.js";
import { SpeechError } from "../domain/errors.js";
import { parseFlag } from "../protocol/flags.js";
import { type TimedTranscript, toTranscription, usageHeaders } from "../protocol/transcription-response.js";
import { admit, converse } from "./converse.js";
import type { Exchange } from "./exchange.js";
import { FormUpload, isMultipart } from "./multipart-upload.js";
import type { Route, RouteDeps } from "./routes.js";
import { LONGEST_UPLOAD_BYTES, safeExtension, uploadTooLarge, withUpload } from "./spool.js";

/** File transcription. */
export function transcribeRoutes(deps: RouteDeps): readonly Route[] {
  return [{ method: "POST", path: "/v1/transcribe", handle: (exchange) => transcribe(exchange, deps) }];
}

async function transcribe(exchange: Exchange, deps: RouteDeps): Promise<void> {
  const { request } = exchange;
  const caller = await admit(exchange, deps);
  await deps.conversations.requireCredit(caller, "file");
  const wantsTimes = parseFlag("timestamps", request.query.get("timestamps"), false);
  const hasBody = (request.contentLength ?? 0) > 0 || request.header("transfer-encoding") !== undefined;
  if (request.query.has("url")) {
    if (hasBody)
      throw new SpeechError("INVALID_REQUEST", "supply exactly one of url, a file part and a raw body");
    throw new SpeechError("INVALID_REQUEST", "fetching by url is not available yet");
  }
  checkLength(request.contentLength);
  const upload = isMultipart(request)
    ? await FormUpload.open(request)
    : { bytes: request.body, fileName: request.header("x-filename") };
  await transcribeUpload({ exchange, deps, caller, upload }, async (transcript) => {
    const transcription = toTranscription(transcript, wantsTimes);
    await exchange.json(200, transcription, usageHeaders(transcription));
  });
}

/** An upload that is still arriving. */
export interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly fileName: string | undefined;
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
    maxBytes: LONGEST_UPLOAD_BYTES,
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
