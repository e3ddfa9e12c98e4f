import { littleEndianBytes } from "../../../core/domain/audio/pcm.js";
import type { Catalog } from "../../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { shown } from "../../../core/protocol/fields.js";
import { ignoredHeader } from "../../../core/protocol/ignored-names.js";
import { parseSpeechRequest } from "../../../core/protocol/speech-request.js";
import type { SynthesisRequest } from "../../../core/protocol/synthesis-request.js";
import { admit } from "../admit.js";
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

/** Text-to-speech for OpenAI clients. */
export function speechHandlers(deps: SpeechDeps): Handlers<"POST /v1/audio/speech"> {
  return { "POST /v1/audio/speech": (exchange) => speak(exchange, deps) };
}

async function speak(exchange: Exchange, deps: SpeechDeps): Promise<void> {
  const caller = await admit(exchange, deps, "synthesis");
  const key = idempotencyKey(exchange.request);
  const { synthesis, format, ignored } = parseSpeechRequest(await readJson(exchange.request));
  checkNames(synthesis, deps.conversations.catalog);
  exchange.addHeaders(ignoredHeader(ignored));
  noteText(exchange, synthesis, deps.conversations.catalog);
  const isPcm = format === "pcm";
  const answer = isPcm ? answerWithPcm : answerWithWav;
  const delivery = isPcm ? "chunks" : "whole";
  const wanted = {
    caller,
    key,
    request: synthesis,
    fingerprintParts: [speechForFingerprint(synthesis), format],
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
    // An empty write would end the answer.
    if (pcm.length === 0) continue;
    if (exchange.status === null) {
      await conversation.charge();
      start();
    }
    const bytes = littleEndianBytes(pcm);
    const departure = endsSentence ? conversation.sentence : undefined;
    // A cached piece arrives as a whole: up to half a minute.
    if (bytes.length <= SLICE_BYTES) await exchange.write(bytes, departure);
    else await writeBody(exchange, { bytes: bytes.length, parts: [bytes] }, departure);
  }
  if (exchange.status === null) start();
  await exchange.end();
  conversation.complete();
}
