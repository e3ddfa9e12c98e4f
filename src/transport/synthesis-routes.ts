import type {
  CatalogModel,
  Delivery,
  SpeechChunk,
  SynthesisConversation,
} from "../../actors/session/conversation.js";
import { concatenatePcm } from "../domain/audio/pcm.js";
import { writeWav } from "../domain/audio/wav.js";
import { SpeechError } from "../domain/errors.js";
import type { WordTime } from "../domain/synthesis/word-time.js";
import { type SaidWord, WrittenWords } from "../domain/synthesis/word-times.js";
import { textNotes } from "../domain/text/notes.js";
import { parseQuery } from "../protocol/fields.js";
import {
  countCodePoints,
  parseSynthesisRequest,
  type SynthesisRequest,
} from "../protocol/synthesis-request.js";
import { SPEECH_QUERY, type TimedSpeech } from "../protocol/timed-speech.js";
import { encodeWavFrame, WAV_FRAMES, wavWithWords } from "../protocol/wav-frames.js";
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
      handle: (exchange) =>
        speak(exchange, deps, { delivery: "whole", answer: answerWithWav, answerTimed: answerWithJson }),
    },
    {
      method: "POST",
      path: "/v1/tts/stream",
      handle: (exchange) =>
        speak(exchange, deps, {
          delivery: "sentences",
          answer: answerWithFrames,
          answerTimed: answerWithFrames,
        }),
    },
  ];
}

interface Answers {
  readonly delivery: Delivery;
  readonly answer: (exchange: Exchange, conversation: SynthesisConversation) => Promise<void>;
  readonly answerTimed: (
    exchange: Exchange,
    conversation: SynthesisConversation,
    words: WrittenWords,
  ) => Promise<void>;
}

async function speak(
  exchange: Exchange,
  deps: RouteDeps,
  { delivery, answer, answerTimed }: Answers,
): Promise<void> {
  const caller = await admit(exchange, deps, "synthesis");
  const key = idempotencyKey(exchange.request);
  const { timestamps } = parseQuery(SPEECH_QUERY, exchange.request.query);
  const request = parseSynthesisRequest(await readJson(exchange.request));
  if (timestamps) requireWordTimes(request.model, deps.conversations.models);
  noteText(exchange, request, deps.conversations.models);
  // A request without times has the fingerprint it had before there were any.
  const fingerprint = () => fingerprintOf(exchange.request, request, ...(timestamps ? ["timestamps"] : []));
  const billed = {
    caller,
    key,
    kind: "synthesis",
    units: countCodePoints(request.text),
    fingerprint,
  } as const;
  await onceByKey(exchange, deps, billed, async (payer) => {
    const conversation = deps.conversations.synthesis(payer, request, delivery);
    await converse(exchange, deps, conversation, () => {
      if (!timestamps) return answer(exchange, conversation);
      return answerTimed(exchange, conversation, new WrittenWords(request.text, conversation.sampleRateHz));
    });
  });
}

/** Tells in a header what the caller should know about a text; nothing when there is nothing. */
export function noteText(
  exchange: Exchange,
  { text, model }: SynthesisRequest,
  models: readonly CatalogModel[],
): void {
  const languages = models.find(({ name }) => name === model)?.lang.split("-") ?? [];
  const notes = languages.includes("ru") ? [] : textNotes(text);
  if (notes.length > 0) exchange.addHeaders({ "x-svc-notes": notes.join(",") });
}

/** @throws {SpeechError} `INVALID_REQUEST` */
function requireWordTimes(name: string, models: readonly CatalogModel[]): void {
  const model = models.find((candidate) => candidate.task === "synthesis" && candidate.name === name);
  if (model === undefined || model.tells_word_times) return;
  throw new SpeechError(
    "INVALID_REQUEST",
    `timestamps must be false: ${name} does not tell when it says its words`,
  );
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

/** The same WAV inside of JSON, with its words. */
async function answerWithJson(
  exchange: Exchange,
  conversation: SynthesisConversation,
  written: WrittenWords,
): Promise<void> {
  const sentences: Int16Array[] = [];
  const words: WordTime[] = [];
  let samples = 0;
  for await (const sentence of sentencesOf(conversation.chunks())) {
    words.push(...written.timesOf(sentence.words, samples));
    sentences.push(sentence.pcm);
    samples += sentence.pcm.length;
  }
  const { sampleRateHz } = conversation;
  const wav = writeWav(concatenatePcm(sentences), sampleRateHz);
  const speech: TimedSpeech = {
    audio: Buffer.from(wav.buffer).toString("base64"),
    format: "wav",
    sample_rate: sampleRateHz,
    duration: samples / sampleRateHz,
    words,
  };
  await conversation.charge();
  await exchange.json(200, speech, charsHeader(conversation), conversation.answer);
  conversation.complete();
}

/** @param written adds its words to each frame */
async function answerWithFrames(
  exchange: Exchange,
  conversation: SynthesisConversation,
  written?: WrittenWords,
): Promise<void> {
  const start = () =>
    exchange.start(200, {
      "content-type": "application/octet-stream",
      "x-svc-stream": WAV_FRAMES,
      ...charsHeader(conversation),
    });
  for await (const { pcm, words } of sentencesOf(conversation.chunks())) {
    // Until the first sentence is there a failure can still be told by its status.
    if (exchange.status === null) {
      await conversation.charge();
      start();
    }
    const wav = writeWav(pcm, conversation.sampleRateHz);
    const frame = written === undefined ? wav : wavWithWords(wav, written.timesOf(words));
    await exchange.write(encodeWavFrame(frame), conversation.sentence);
  }
  if (exchange.status === null) start();
  await exchange.end();
  conversation.complete();
}

interface Sentence {
  readonly pcm: Int16Array;
  readonly words: readonly SaidWord[];
}

/** Chunks joined to sentences. The next sentence is asked for when the one before was taken. */
async function* sentencesOf(chunks: AsyncIterable<SpeechChunk>): AsyncGenerator<Sentence, void, undefined> {
  let parts: Int16Array[] = [];
  for await (const { pcm, endsSentence, words = [] } of chunks) {
    parts.push(pcm);
    if (!endsSentence) continue;
    yield { pcm: concatenatePcm(parts), words };
    parts = [];
  }
}
