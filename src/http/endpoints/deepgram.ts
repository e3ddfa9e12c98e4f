import { createHash } from "node:crypto";
import type { RawAudio } from "../../../core/domain/audio/channels.js";
import { EncodedPcm } from "../../../core/domain/audio/encoded-pcm.js";
import { streamedWavHead } from "../../../core/domain/audio/wav.js";
import { requireDiarization } from "../../../core/domain/catalog/catalog.js";
import type { BilledTranscript } from "../../../core/domain/decoding/transcript.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Departure, FrontRequest } from "../../../core/ports/front.js";
import { ENDLESS_ROOM } from "../../../core/ports/spool-room.js";
import type { UrlSource } from "../../../core/ports/url-source.js";
import { ignoredHeader } from "../../../core/protocol/ignored-names.js";
import {
  type ListenFileOptions,
  parseListenFileQuery,
  parseListenUrl,
} from "../../../core/protocol/listen-file-query.js";
import { toListenTranscript } from "../../../core/protocol/listen-file-response.js";
import { pickedDefaults } from "../../../core/protocol/organization-defaults.js";
import { parseSpeakQuery, parseSpeakRequest, type SpeechFormat } from "../../../core/protocol/speak-query.js";
import { toTranscription, usageHeaders } from "../../../core/protocol/transcription-response.js";
import { admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import { endWithBody, jsonInTurns, SLICE_BYTES, writeBody } from "../long-body.js";
import { idempotencyKey, modelForFingerprint, speechForFingerprint } from "../once-by-key.js";
import { withHeader } from "../raw-samples.js";
import { paced, readJson, UPLOAD_PACE } from "../read-body.js";
import type { Handlers, RouteDeps } from "../router.js";
import { answerSpeech, type HeldSpeech, noteText, type SpeechDeps, speechHeaders } from "../speech-answer.js";
import { LONGEST_FETCH_BYTES } from "../spool.js";
import { admitFile, checkRoom, type FileDeps, transcribeUpload, type Upload } from "../transcribed-upload.js";

/** Handlers for file transcription by Deepgram's clients. */
export function listenFileHandlers(deps: FileDeps & Pick<RouteDeps, "urls">): Handlers<"POST /v1/listen"> {
  return { "POST /v1/listen": (exchange) => listen(exchange, deps) };
}

async function listen(exchange: Exchange, deps: FileDeps & Pick<RouteDeps, "urls">): Promise<void> {
  const { request, requestId } = exchange;
  const { caller, key } = await admitFile(exchange, deps);
  const options = parseListenFileQuery(request.query, deps.conversations.catalog.hearing);
  if (options.diarize) requireDiarization(deps.conversations.catalog);
  const createdAt = new Date();
  const hash = createHash("sha256");
  const upload = await uploadOf(request, options.raw, deps);
  const bytes = hashed(upload.bytes, (chunk) => hash.update(chunk));
  exchange.addHeaders({ ...ignoredHeader(options.ignored), "dg-request-id": requestId });
  const answer = async (transcript: BilledTranscript, departure: Departure) => {
    const facts = { requestId, sha256: hash.digest("hex"), createdAt };
    const body = await jsonInTurns(toListenTranscript(transcript, options, facts));
    exchange.start(200, {
      "content-type": "application/json",
      "content-length": String(body.bytes),
      ...usageHeaders(toTranscription(transcript, false)),
    });
    await endWithBody(exchange, body, departure);
  };
  const wishes = {
    ...{ model: options.model.name, hotWords: options.hotWords, reading: options.reading },
    channels: options.channels,
    ...pickedDefaults(options),
    ...(options.diarize && { speakers: { count: null } }),
  };
  const wanted = () => ({ fingerprintParts: fingerprintOf(options), wishes, answer });
  await transcribeUpload({ exchange, deps, caller, key, upload: { ...upload, bytes }, wanted });
}

/** Returns everything except the audio that determines the response. */
function fingerprintOf({
  model,
  isModelNamed,
  ignored: _,
  diarize,
  ...rest
}: ListenFileOptions): readonly unknown[] {
  // Without speakers, the fingerprint equals that from before the parameter existed.
  return [diarize ? { ...rest, diarize } : rest, ...modelForFingerprint({ model, isModelNamed })];
}

async function uploadOf(
  request: FrontRequest,
  raw: RawAudio | null,
  { urls, room = ENDLESS_ROOM }: { readonly urls: UrlSource } & Pick<RouteDeps, "room">,
): Promise<Upload> {
  if (/^application\/json\b/i.test(request.header("content-type")?.trim() ?? "")) {
    const url = parseListenUrl(await readJson(request));
    const bytes = urls.fetch(url, request.signal);
    return { bytes, url, fileName: undefined, maxBytes: LONGEST_FETCH_BYTES };
  }
  await checkRoom(request, room);
  const bytes = paced(request.body, UPLOAD_PACE);
  return { bytes: raw === null ? bytes : withHeader(bytes, raw), fileName: undefined };
}

async function* hashed(
  bytes: AsyncIterable<Uint8Array>,
  update: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of bytes) {
    update(chunk);
    yield chunk;
  }
}

/** Handlers for speech synthesis by Deepgram's clients. */
export function speakHandlers(deps: SpeechDeps): Handlers<"POST /v1/speak"> {
  return { "POST /v1/speak": (exchange) => speak(exchange, deps) };
}

/** Media types of raw samples. */
const SAMPLES = { linear16: "audio/l16", mulaw: "audio/basic", alaw: "audio/x-alaw-basic" } as const;

async function speak(exchange: Exchange, deps: SpeechDeps): Promise<void> {
  const { request, requestId } = exchange;
  const caller = await admit(exchange, deps, "synthesis");
  const key = idempotencyKey(request);
  const options = parseSpeakQuery(request.query, deps.conversations.catalog.speaking);
  const { manner, container, ignored, encoding, sampleRateHz } = options;
  const synthesis = { ...manner, text: parseSpeakRequest(await readJson(request)) };
  exchange.addHeaders(ignoredHeader(ignored));
  noteText(exchange, synthesis, deps.conversations.catalog);
  const fingerprintParts = [speechForFingerprint(synthesis), encoding, sampleRateHz, container];
  const wanted = { caller, key, request: synthesis, fingerprintParts, delivery: "chunks" } as const;
  await answerSpeech(exchange, deps, wanted, (speech) =>
    answerEncoded(exchange, speech, {
      ...{ encoding, sampleRateHz },
      head: container === "wav" ? streamedWavHead(encoding, sampleRateHz) : null,
      headers: {
        "content-type": container === "wav" ? "audio/wav" : `${SAMPLES[encoding]};rate=${sampleRateHz}`,
        "dg-char-count": String(speech.conversation.billedCharacters),
        "dg-model-name": manner.voice ?? "",
        "dg-model-uuid": speech.conversation.modelId,
        "dg-request-id": requestId,
      },
    }),
  );
}

interface EncodedAnswer extends SpeechFormat {
  /** Bytes to send before the samples. */
  readonly head: Uint8Array | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** Streams speech in the client's format as it is synthesized. */
async function answerEncoded(
  exchange: Exchange,
  { conversation }: HeldSpeech,
  { encoding, sampleRateHz, head, headers }: EncodedAnswer,
): Promise<void> {
  const encoder = new EncodedPcm(encoding, conversation.sampleRateHz, sampleRateHz);
  for await (const { pcm, endsSentence } of conversation.chunks()) {
    const parts = [encoder.push(pcm), ...(endsSentence ? [encoder.flush()] : [])];
    if (exchange.status === null) {
      await conversation.charge();
      exchange.start(200, { ...headers, ...speechHeaders(conversation) });
      if (head !== null) parts.unshift(head);
    }
    const bytes = Buffer.concat(parts);
    // An empty write would end the response.
    if (bytes.length === 0) continue;
    const departure = endsSentence ? conversation.sentence : undefined;
    // A cached piece arrives as a whole, with up to half a minute of audio.
    if (bytes.length <= SLICE_BYTES) await exchange.write(bytes, departure);
    else await writeBody(exchange, { bytes: bytes.length, parts: [bytes] }, departure);
  }
  if (exchange.status === null) throw new ServiceError("INTERNAL", "a synthesis ended without a sentence");
  await exchange.end();
  conversation.complete();
}
