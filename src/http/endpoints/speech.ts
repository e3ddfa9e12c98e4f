import { littleEndianBytes } from "../../domain/audio/pcm.js";
import { ServiceError } from "../../domain/errors.js";
import type { CatalogModel } from "../../ports/conversations.js";
import { ignoredHeader } from "../../protocol/ignored-names.js";
import { parseSpeechRequest } from "../../protocol/speech-request.js";
import type { SynthesisRequest } from "../../protocol/synthesis-request.js";
import { admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import { SLICE_BYTES, writeBody } from "../long-body.js";
import { idempotencyKey } from "../once-by-key.js";
import { readJson } from "../read-json.js";
import type { Handlers } from "../route.js";
import {
  answerSpeech,
  answerWithWav,
  charsHeader,
  type HeldSpeech,
  noteText,
  type SpeechDeps,
} from "../speech-answer.js";

/** Text-to-speech for clients of the OpenAI shape. */
export function speechHandlers(deps: SpeechDeps): Handlers<"POST /v1/audio/speech"> {
  return { "POST /v1/audio/speech": (exchange) => speak(exchange, deps) };
}

async function speak(exchange: Exchange, deps: SpeechDeps): Promise<void> {
  const caller = await admit(exchange, deps, "synthesis");
  const key = idempotencyKey(exchange.request);
  const { synthesis, format, ignored } = parseSpeechRequest(await readJson(exchange.request));
  checkNames(synthesis, deps.conversations.models);
  exchange.addHeaders(ignoredHeader(ignored));
  noteText(exchange, synthesis, deps.conversations.models);
  const isPcm = format === "pcm";
  const answer = isPcm ? answerWithPcm : answerWithWav;
  const delivery = isPcm ? "chunks" : "whole";
  const wanted = { caller, key, request: synthesis, decides: [synthesis, format], delivery } as const;
  await answerSpeech(exchange, deps, wanted, (speech) => answer(exchange, speech));
}

/** On this path a wrong name is a wrong value (400), and the message says which are right. */
function checkNames(request: SynthesisRequest, models: readonly CatalogModel[]): void {
  const speaking = models.filter((model) => model.task === "synthesis");
  const model = speaking.find((candidate) => candidate.name === request.model);
  if (model === undefined) throw wrongName("model", request.model, speaking);
  if (request.voice === null || model.voices.some((voice) => voice.name === request.voice)) return;
  throw wrongName("voice", request.voice, model.voices);
}

function wrongName(field: string, value: string, known: readonly { readonly name: string }[]): ServiceError {
  const names = known.map(({ name }) => name).join(", ");
  return new ServiceError(
    "INVALID_REQUEST",
    `${field} must be one of ${names}, received ${JSON.stringify(value.slice(0, 60))}`,
    { param: field },
  );
}

/** Samples as they are made: 16-bit, little-endian, mono. */
async function answerWithPcm(exchange: Exchange, { conversation }: HeldSpeech): Promise<void> {
  const start = () =>
    exchange.start(200, {
      "content-type": "audio/pcm",
      "x-sample-rate": String(conversation.sampleRateHz),
      "x-channels": "1",
      "x-bit-depth": "16",
      ...charsHeader(conversation),
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
    // A piece that was kept comes at once: half a minute.
    if (bytes.length <= SLICE_BYTES) await exchange.write(bytes, departure);
    else await writeBody(exchange, { bytes: bytes.length, parts: [bytes] }, departure);
  }
  if (exchange.status === null) start();
  await exchange.end();
  conversation.complete();
}
