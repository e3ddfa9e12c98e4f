import type { Delivery, SpeechChunk, SynthesisConversation } from "../../actors/session/conversation.js";
import { concatenatePcm } from "../domain/audio/pcm.js";
import { writeWav } from "../domain/audio/wav.js";
import { countCodePoints, parseSynthesisRequest } from "../protocol/synthesis-request.js";
import { encodeWavFrame, WAV_FRAMES } from "../protocol/wav-frames.js";
import { admit, converse } from "./converse.js";
import type { Exchange } from "./exchange.js";
import { fingerprintOf, idempotencyKey, onceByKey } from "./idempotency.js";
import { readJson } from "./read-json.js";
import type { Route, RouteDeps } from "./routes.js";

/** Text-to-speech, whole and sentence by sentence. */
export function synthesisRoutes(deps: RouteDeps): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/v1/tts",
      handle: (exchange) => speak(exchange, deps, { delivery: "whole", answer: answerWithWav }),
    },
    {
      method: "POST",
      path: "/v1/tts/stream",
      handle: (exchange) => speak(exchange, deps, { delivery: "sentences", answer: answerWithFrames }),
    },
  ];
}

async function speak(
  exchange: Exchange,
  deps: RouteDeps,
  {
    delivery,
    answer,
  }: {
    readonly delivery: Delivery;
    readonly answer: (exchange: Exchange, conversation: SynthesisConversation) => Promise<void>;
  },
): Promise<void> {
  const caller = await admit(exchange, deps, "synthesis");
  const key = idempotencyKey(exchange.request);
  const request = parseSynthesisRequest(await readJson(exchange.request));
  const fingerprint = () => fingerprintOf(exchange.request, request);
  const billed = {
    caller,
    key,
    kind: "synthesis",
    units: countCodePoints(request.text),
    fingerprint,
  } as const;
  await onceByKey(exchange, deps, billed, async (payer) => {
    const conversation = deps.conversations.synthesis(payer, request, delivery);
    await converse(exchange, deps, conversation, () => answer(exchange, conversation));
  });
}

/** One WAV with a true length, which is known when the last sentence is. */
export async function answerWithWav(exchange: Exchange, conversation: SynthesisConversation): Promise<void> {
  const pieces: Int16Array[] = [];
  for await (const { pcm } of conversation.chunks()) pieces.push(pcm);
  const wav = writeWav(concatenatePcm(pieces), conversation.sampleRateHz);
  await conversation.charge();
  exchange.start(200, {
    "content-type": "audio/wav",
    "content-length": String(wav.length),
    ...charsHeader(conversation),
  });
  await exchange.end(wav, conversation.answer);
  conversation.complete();
}

/** Billed characters of a synthesis. */
export function charsHeader(conversation: SynthesisConversation): Record<string, string> {
  return { "x-svc-chars": String(conversation.billedCharacters) };
}

async function answerWithFrames(exchange: Exchange, conversation: SynthesisConversation): Promise<void> {
  const start = () =>
    exchange.start(200, {
      "content-type": "application/octet-stream",
      "x-svc-stream": WAV_FRAMES,
      ...charsHeader(conversation),
    });
  for await (const pcm of sentencesOf(conversation.chunks())) {
    // Until the first sentence is there a failure can still be told by its status.
    if (exchange.status === null) {
      await conversation.charge();
      start();
    }
    const frame = encodeWavFrame(writeWav(pcm, conversation.sampleRateHz));
    await exchange.write(frame, conversation.sentence);
  }
  if (exchange.status === null) start();
  await exchange.end();
  conversation.complete();
}

/** Chunks joined to sentences. The next sentence is asked for when the one before was taken. */
async function* sentencesOf(chunks: AsyncIterable<SpeechChunk>): AsyncGenerator<Int16Array, void, undefined> {
  let parts: Int16Array[] = [];
  for await (const { pcm, endsSentence } of chunks) {
    parts.push(pcm);
    if (!endsSentence) continue;
    yield concatenatePcm(parts);
    parts = [];
  }
}
