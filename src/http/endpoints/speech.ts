import { littleEndianBytes } from "../../../core/domain/audio/pcm.js";
import { streamedWavHead } from "../../../core/domain/audio/wav.js";
import type { Catalog } from "../../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Departure } from "../../../core/ports/front.js";
import { shown } from "../../../core/protocol/fields.js";
import { ignoredHeader } from "../../../core/protocol/ignored-names.js";
import { parseSpeechRequest, type SpeechRequest } from "../../../core/protocol/speech-request.js";
import type { SynthesisRequest } from "../../../core/protocol/synthesis-request.js";
import { admit } from "../admit.js";
import { OpenAiEvents } from "../events.js";
import type { Exchange } from "../exchange.js";
import { SLICE_BYTES, writeBody } from "../long-body.js";
import { idempotencyKey, speechForFingerprint } from "../once-by-key.js";
import { readJson } from "../read-body.js";
import type { Handlers } from "../router.js";
import {
  answerSpeech,
  answerWithWav,
  type HeldSpeech,
  noteText,
  type SpeechDeps,
  speechHeaders,
} from "../speech-answer.js";

/** Handlers for speech synthesis by OpenAI clients. */
export function speechHandlers(deps: SpeechDeps): Handlers<"POST /v1/audio/speech"> {
  return { "POST /v1/audio/speech": (exchange) => speakOpenAi(exchange, deps) };
}

async function speakOpenAi(exchange: Exchange, deps: SpeechDeps): Promise<void> {
  const caller = await admit(exchange, deps, "synthesis");
  const key = idempotencyKey(exchange.request);
  const { synthesis, format, isEvents, ignored } = parseSpeechRequest(await readJson(exchange.request));
  checkNames(synthesis, deps.conversations.catalog);
  exchange.addHeaders(ignoredHeader(ignored));
  noteText(exchange, synthesis, deps.conversations.catalog);
  const answer = isEvents ? answerWithEvents(format) : format === "pcm" ? answerWithPcm : answerWithWav;
  const delivery = isEvents || format === "pcm" ? "chunks" : "whole";
  const wanted = {
    caller,
    key,
    request: synthesis,
    // Without events, a request keeps the fingerprint that it had before events existed.
    fingerprintParts: [speechForFingerprint(synthesis), format, ...(isEvents ? ["events"] : [])],
    delivery,
  } as const;
  await answerSpeech(exchange, deps, wanted, (speech) => answer(exchange, speech));
}

/** Rejects unknown models and voices with 400 on this path, and lists the known ones. */
function checkNames(request: SynthesisRequest, { speaking }: Catalog): void {
  const { voices } = speaking.require(request.model, "INVALID_REQUEST");
  if (request.voice === null || voices.some(({ name }) => name === request.voice)) return;
  const names = voices.map(({ name }) => name).join(", ");
  const message = `voice must be one of ${names}, received ${shown(request.voice)}`;
  throw new ServiceError("INVALID_REQUEST", message, { param: "voice" });
}

/** Streams 16-bit little-endian mono samples as they are synthesized. */
async function answerWithPcm(exchange: Exchange, { conversation }: HeldSpeech): Promise<void> {
  const start = () =>
    exchange.start(200, {
      "content-type": "audio/pcm",
      "x-sample-rate": String(conversation.sampleRateHz),
      "x-channels": "1",
      "x-bit-depth": "16",
      ...speechHeaders(conversation),
    });
  for await (const { pcm, endsSentence } of conversation.chunks()) {
    // An empty write would end the response.
    if (pcm.length === 0) continue;
    if (exchange.status === null) {
      await conversation.charge();
      start();
    }
    const bytes = littleEndianBytes(pcm);
    const departure = endsSentence ? conversation.sentence : undefined;
    // A cached piece arrives as a whole, with up to half a minute of audio.
    if (bytes.length <= SLICE_BYTES) await exchange.write(bytes, departure);
    else await writeBody(exchange, { bytes: bytes.length, parts: [bytes] }, departure);
  }
  if (exchange.status === null) start();
  await exchange.end();
  conversation.complete();
}

/** Bytes of samples per event, for at most half a second. */
const EVENT_BYTES = 24_000;

/** Streams base64 samples; for a WAV, a header comes first. */
function answerWithEvents(format: SpeechRequest["format"]) {
  return async (exchange: Exchange, { conversation }: HeldSpeech): Promise<void> => {
    const events = new OpenAiEvents(exchange, () => speechHeaders(conversation));
    const send = (audio: Uint8Array, departure?: Departure) =>
      events.send({ type: "speech.audio.delta", audio: Buffer.from(audio).toString("base64") }, departure);
    for await (const { pcm, endsSentence } of conversation.chunks()) {
      if (pcm.length === 0) continue;
      if (!events.hasStarted) {
        await conversation.charge();
        if (format === "wav") await send(streamedWavHead("linear16", conversation.sampleRateHz));
      }
      const bytes = littleEndianBytes(pcm);
      for (let start = 0; start < bytes.length; start += EVENT_BYTES) {
        const end = start + EVENT_BYTES;
        const isLast = end >= bytes.length && endsSentence;
        await send(bytes.subarray(start, end), isLast ? conversation.sentence : undefined);
      }
    }
    const { billedCharacters } = conversation;
    const usage = { input_tokens: billedCharacters, output_tokens: 0, total_tokens: billedCharacters };
    await events.end({ type: "speech.audio.done", usage });
    conversation.complete();
  };
}
