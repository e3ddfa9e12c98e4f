import { type WavPiece, wavInParts } from "../../../core/domain/audio/wav.js";
import type { Catalog } from "../../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { seconds } from "../../../core/domain/rounded.js";
import type { WordTime } from "../../../core/domain/synthesis/word-time.js";
import { type SaidWord, WrittenWords } from "../../../core/domain/synthesis/word-times.js";
import type { Delivery, SynthesisConversation } from "../../../core/ports/conversations.js";
import type { Departure } from "../../../core/ports/front.js";
import { readQuery } from "../../../core/protocol/query.js";
import type { SpeechFormat } from "../../../core/protocol/speak-query.js";
import { parseSynthesisRequest } from "../../../core/protocol/synthesis-request.js";
import {
  SPEECH_QUERY,
  SPEECH_STREAM_QUERY,
  speechFormatOf,
  type TimedSpeech,
} from "../../../core/protocol/timed-speech.js";
import { WAV_FRAMES, wavFrame } from "../../../core/protocol/wav-frames.js";
import { admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import { type FormattedChunk, type FormattedSpeech, formattedSpeech } from "../formatted-speech.js";
import { base64Body, endWithBody, joinedBody, textBody, writeBody } from "../long-body.js";
import { idempotencyKey, speechForFingerprint } from "../once-by-key.js";
import { readJson } from "../read-body.js";
import type { Handlers } from "../router.js";
import {
  answerSpeech,
  answerWithWav,
  type HeldSpeech,
  noteText,
  type SpeechDeps,
  sizedHead,
  speechHeaders,
} from "../speech-answer.js";

/** Handlers for speech synthesis: as a whole, by sentences, or in chunks as they are synthesized. */
export function synthesisHandlers(deps: SpeechDeps): Handlers<"POST /v1/tts" | "POST /v1/tts/stream"> {
  return {
    "POST /v1/tts": (exchange) => speak(exchange, deps, wholeSpeech),
    "POST /v1/tts/stream": (exchange) => speak(exchange, deps, streamedSpeech),
  };
}

interface Wishes {
  readonly timestamps: boolean;
  readonly delivery: Delivery;
  /** Null for the voice's own format. */
  readonly format: SpeechFormat | null;
  readonly answer: Answer;
  readonly answerTimed: (...given: [...Parameters<Answer>, words: WrittenWords]) => Promise<void>;
}

type Answer = (exchange: Exchange, speech: HeldSpeech, format: SpeechFormat | null) => Promise<void>;

function wholeSpeech(query: URLSearchParams): Wishes {
  const fields = readQuery(SPEECH_QUERY, query);
  const format = speechFormatOf(query, fields);
  const { timestamps } = fields;
  return { timestamps, delivery: "whole", format, answer: answerWithWav, answerTimed: answerWithJson };
}

function streamedSpeech(query: URLSearchParams): Wishes {
  const fields = readQuery(SPEECH_STREAM_QUERY, query);
  const { timestamps, frames } = fields;
  const format = speechFormatOf(query, fields);
  const answer = frames === "chunks" ? answerWithChunks : answerWithSentences;
  return { timestamps, delivery: frames, format, answer, answerTimed: answer };
}

async function speak(
  exchange: Exchange,
  deps: SpeechDeps,
  wishesOf: (query: URLSearchParams) => Wishes,
): Promise<void> {
  const caller = await admit(exchange, deps, "synthesis");
  const key = idempotencyKey(exchange.request);
  const { timestamps, delivery, format, answer, answerTimed } = wishesOf(exchange.request.query);
  const request = parseSynthesisRequest(await readJson(exchange.request));
  if (timestamps) requireWordTimes(request.model, deps.conversations.catalog);
  noteText(exchange, request, deps.conversations.catalog);
  // Without word times, chunks and a format, a request keeps the fingerprint from before these existed.
  const added = [timestamps && "timestamps", delivery === "chunks" && delivery, format ?? false].filter(
    (one) => one !== false,
  );
  const fingerprintParts = [speechForFingerprint(request), ...added];
  const wanted = { caller, key, request, fingerprintParts, delivery, format };
  await answerSpeech(exchange, deps, wanted, (speech) => {
    if (!timestamps) return answer(exchange, speech, format);
    const { sampleRateHz } = speech.conversation;
    return answerTimed(exchange, speech, format, new WrittenWords(request.text, sampleRateHz));
  });
}

/** @throws {ServiceError} `INVALID_REQUEST` if the model has no word times, `UNKNOWN_MODEL` */
function requireWordTimes(name: string | null, { speaking }: Catalog): void {
  const model = speaking.require(name);
  if (model.word_times) return;
  throw new ServiceError(
    "INVALID_REQUEST",
    `timestamps must be false: ${model.name} does not provide word times`,
  );
}

/** Responds with JSON that contains the WAV and its words. */
async function answerWithJson(
  exchange: Exchange,
  { conversation, share }: HeldSpeech,
  format: SpeechFormat | null,
  written: WrittenWords,
): Promise<void> {
  const speech = formattedSpeech(conversation, format);
  const pieces: WavPiece[] = [];
  const words: WordTime[] = [];
  let samples = 0;
  for await (const sentence of sentencesOf(speech.chunks())) {
    words.push(...written.timesOf(sentence.words, samples));
    pieces.push(...sentence.pieces);
    samples += sentence.sampleCount;
  }
  const sound = wavInParts(pieces, speech.sampleRateHz, undefined, speech.encoding);
  share.settle(sound.bytes);
  const wav = base64Body(sound);
  const rest: Omit<TimedSpeech, "audio"> = {
    format: "wav",
    sample_rate: speech.sampleRateHz,
    duration: seconds(samples / conversation.sampleRateHz),
    words,
  };
  // The audio is the first member, as in earlier versions. Base64 needs no escapes, so it is inserted
  // unchanged.
  const body = joinedBody(textBody('{"audio":"'), wav, textBody(`",${JSON.stringify(rest).slice(1)}`));
  await conversation.charge();
  exchange.start(200, sizedHead("application/json", body, conversation));
  await endWithBody(exchange, body, conversation.answer);
  conversation.complete();
}

/** Sends one frame per sentence. @param written adds the sentence's words to each frame */
async function answerWithSentences(
  exchange: Exchange,
  { conversation }: HeldSpeech,
  format: SpeechFormat | null,
  written?: WrittenWords,
): Promise<void> {
  const speech = formattedSpeech(conversation, format);
  const frames = framesTo(exchange, conversation, speech);
  for await (const { pieces, words } of sentencesOf(speech.chunks())) {
    await frames.send(pieces, written?.timesOf(words), conversation.sentence);
  }
  await frames.end();
}

/** Sends each chunk as a frame as it is synthesized. @param written adds the words that start in the chunk */
async function answerWithChunks(
  exchange: Exchange,
  { conversation }: HeldSpeech,
  format: SpeechFormat | null,
  written?: WrittenWords,
): Promise<void> {
  const speech = formattedSpeech(conversation, format);
  const frames = framesTo(exchange, conversation, speech);
  let sentenceSamples = 0;
  let waiting: SaidWord[] = [];
  for await (const { piece, sampleCount, endsSentence, words = [] } of speech.chunks()) {
    waiting.push(...words);
    const departure = endsSentence ? conversation.sentence : undefined;
    // The end of the last sentence may have no samples.
    if (piece.length > 0) {
      await frames.send([piece], written?.timesOf(waiting, -sentenceSamples), departure);
      // A resampler may hold back all of a short chunk; its words then belong to the next frame.
      waiting = [];
    }
    sentenceSamples = endsSentence ? 0 : sentenceSamples + sampleCount;
  }
  await frames.end();
}

/** Starts the response with the first frame, so that an earlier failure still gets its status. */
function framesTo(
  exchange: Exchange,
  conversation: SynthesisConversation,
  { sampleRateHz, encoding }: FormattedSpeech,
) {
  const start = () =>
    exchange.start(200, {
      "content-type": "application/octet-stream",
      "x-svc-stream": WAV_FRAMES,
      ...speechHeaders(conversation),
    });
  return {
    async send(pieces: WavPiece[], words: readonly WordTime[] | undefined, departure?: Departure) {
      if (exchange.status === null) {
        await conversation.charge();
        start();
      }
      await writeBody(exchange, wavFrame(pieces, sampleRateHz, words, encoding), departure);
    },
    async end() {
      if (exchange.status === null) start();
      await exchange.end();
      conversation.complete();
    },
  };
}

interface Sentence {
  readonly pieces: WavPiece[];
  /** Number of samples before conversion to the client's format. */
  readonly sampleCount: number;
  readonly words: readonly SaidWord[];
}

/** Groups chunks by sentence, and produces each sentence only when the reader requests it. */
async function* sentencesOf(
  chunks: AsyncIterable<FormattedChunk>,
): AsyncGenerator<Sentence, void, undefined> {
  let pieces: WavPiece[] = [];
  let words: SaidWord[] = [];
  let sampleCount = 0;
  for await (const chunk of chunks) {
    pieces.push(chunk.piece);
    words.push(...(chunk.words ?? []));
    sampleCount += chunk.sampleCount;
    if (!chunk.endsSentence) continue;
    yield { pieces, sampleCount, words };
    pieces = [];
    words = [];
    sampleCount = 0;
  }
}
