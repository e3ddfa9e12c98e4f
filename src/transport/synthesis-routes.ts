import type { SynthesisConversation } from "../../actors/session/conversation.js";
import { concatenatePcm } from "../domain/audio/pcm.js";
import { writeWav } from "../domain/audio/wav.js";
import { parseSynthesisRequest } from "../protocol/synthesis-request.js";
import { encodeWavFrame, WAV_FRAMES } from "../protocol/wav-frames.js";
import { admit, converse } from "./converse.js";
import type { Exchange } from "./exchange.js";
import { readJson } from "./read-json.js";
import type { Route, RouteDeps } from "./routes.js";

/** Text-to-speech, whole and sentence by sentence. */
export function synthesisRoutes(deps: RouteDeps): readonly Route[] {
  return [
    { method: "POST", path: "/v1/tts", handle: (exchange) => speak(exchange, deps, answerWithWav) },
    { method: "POST", path: "/v1/tts/stream", handle: (exchange) => speak(exchange, deps, answerWithFrames) },
  ];
}

async function speak(
  exchange: Exchange,
  deps: RouteDeps,
  answer: (exchange: Exchange, conversation: SynthesisConversation) => Promise<void>,
): Promise<void> {
  const caller = await admit(exchange, deps, "synthesis");
  const request = parseSynthesisRequest(await readJson(exchange.request));
  const conversation = deps.conversations.synthesis(caller, request);
  await converse(exchange, deps, conversation, () => answer(exchange, conversation));
}

/** One WAV with a true length, which is known when the last sentence is. */
export async function answerWithWav(exchange: Exchange, conversation: SynthesisConversation): Promise<void> {
  const pieces: Int16Array[] = [];
  for await (const { pcm } of conversation.sentences()) pieces.push(pcm);
  const wav = writeWav(concatenatePcm(pieces), conversation.sampleRateHz);
  await conversation.charge("whole");
  exchange.start(200, {
    "content-type": "audio/wav",
    "content-length": String(wav.length),
    ...charsHeader(conversation),
  });
  await exchange.end(wav);
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
  for await (const { pcm, sampleRateHz } of conversation.sentences()) {
    // Until the first sentence is there a failure can still be told by its status.
    if (exchange.status === null) {
      await conversation.charge("begun");
      start();
    }
    await exchange.write(encodeWavFrame(writeWav(pcm, sampleRateHz)));
  }
  if (exchange.status === null) start();
  await conversation.complete();
  await exchange.end();
}
