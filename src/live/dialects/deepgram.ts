import { createHash } from "node:crypto";
import { LIVE_RATE_HZ } from "../../../core/domain/audio/frame.js";
import { StreamedPcm } from "../../../core/domain/audio/streamed-pcm.js";
import type { WavHeader } from "../../../core/domain/audio/wav.js";
import { ratio, seconds } from "../../../core/domain/rounded.js";
import { displayLine } from "../../../core/domain/text/display/display-text.js";
import type { LiveConversation, LiveWishes } from "../../../core/ports/conversations.js";
import type { ListenFileWord } from "../../../core/protocol/listen-file-schemas.js";
import {
  type ListenResults,
  type ListenServerMessage,
  parseListenClientMessage,
} from "../../../core/protocol/listen-messages.js";
import {
  type ListenOptions,
  parseListenQuery,
  SAMPLE_RATE_HZ,
  sampleFormat,
} from "../../../core/protocol/listen-query.js";
import { listenWords, plainWord } from "../../../core/protocol/listen-words.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import {
  type AnnouncedForm,
  announcedForm,
  deepgramHeaders,
  type ErrorMessage,
  type LiveDialect,
  type LiveTranslation,
  listenCredential,
  unfitWav,
  type WireMessage,
} from "./dialect.js";

const CHANNEL = 0;

/**
 * Deepgram's protocol for live transcription, so that its clients work with this service.
 *
 * @see https://developers.deepgram.com/reference/speech-to-text/listen-streaming
 */
export const LISTEN_DIALECT: LiveDialect = {
  path: "/v1/listen",
  work: "live",
  credential: listenCredential,
  refusalHeaders: deepgramHeaders,
  refusal: (_query, error) => JSON.stringify(toError(error)),
  begin: (query, requestId, models) => new ListenTranslation(parseListenQuery(query, models), requestId),
};

type Utterance = Extract<StreamServerMessage, { readonly type: "partial" | "final" }>;
type Final = Extract<StreamServerMessage, { readonly type: "final" }>;

class ListenTranslation implements LiveTranslation {
  readonly options: LiveWishes;
  readonly ignored: readonly string[];
  readonly mayBeFile: boolean;
  readonly announced: AnnouncedForm | null;
  readonly #asked: ListenOptions;
  readonly #requestId: string;
  #pcm: StreamedPcm;
  readonly #digest = createHash("sha256");
  /** Samples are hashed unless the client sent something else, which was hashed instead. */
  #isDecoded = false;
  readonly #createdAt = new Date();
  #modelId = "";
  #sessionSamples = 0;
  /** The utterance of the last partial or final. */
  #utterance = -1;
  /** The client requested `Finalize` at this second; null if not. */
  #finalizedSeconds: number | null = null;
  /** The end of the last word if its silence may still cause an `UtteranceEnd`, else null. */
  #lastWordEnd: number | null = null;
  /** Whether the metadata, with the hash of all audio, was sent. */
  #isDone = false;

  constructor(asked: ListenOptions, requestId: string) {
    this.#asked = asked;
    this.#requestId = requestId;
    this.announced = announcedForm(asked.encoding);
    this.#pcm = new StreamedPcm(sampleFormat(asked.encoding), asked.sampleRateHz, LIVE_RATE_HZ);
    this.ignored = asked.ignored;
    this.mayBeFile = !asked.saysEncoding;
    const { model, endOfUtteranceMs } = asked;
    this.options = {
      model: model.name,
      endOfUtteranceMs,
      partials: needsPartials(asked),
      words: true,
      hotWords: asked.hotWords,
      ...(asked.reading !== null && { reading: asked.reading }),
    };
  }

  beginWav(header: WavHeader): void {
    const { format, channels, bitsPerSample, sampleRateHz } = header;
    const encoding = format === "pcm" ? "linear16" : format;
    const { min, max } = SAMPLE_RATE_HZ;
    const isWide = encoding === "linear16" && bitsPerSample !== 16;
    if (encoding === "float" || isWide || channels !== 1 || sampleRateHz < min || sampleRateHz > max) {
      throw unfitWav(header, `one channel of 16-bit pcm, mulaw or alaw at ${min} to ${max} Hz`);
    }
    this.#pcm = new StreamedPcm(encoding, sampleRateHz, LIVE_RATE_HZ);
  }

  beginDecoded(): void {
    this.#isDecoded = true;
    this.#pcm = new StreamedPcm("linear16", LIVE_RATE_HZ, LIVE_RATE_HZ);
  }

  submitted(bytes: Uint8Array): void {
    if (!this.#isDone) this.#digest.update(bytes);
  }

  toClient(message: StreamServerMessage): readonly WireMessage[] {
    return this.#translate(message).map((translated) => JSON.stringify(translated));
  }

  text(conversation: LiveConversation, text: string): readonly WireMessage[] {
    const message = parseListenClientMessage(text);
    if (message === null) conversation.badMessage("a text message must be JSON");
    else if (message.type === "KeepAlive") conversation.keepalive();
    else if (message.type === "Finalize") {
      this.#finalizedSeconds = this.#seconds;
      conversation.finalize();
    } else if (message.type === "CloseStream") this.#close(conversation);
    return [];
  }

  binary(conversation: LiveConversation, bytes: Uint8Array): readonly WireMessage[] {
    // In flight when the session ended.
    if (this.#isDone) return [];
    // The older form of `CloseStream`.
    if (bytes.length === 0) {
      this.#close(conversation);
      return [];
    }
    if (!this.#isDecoded) this.#digest.update(bytes);
    this.#accept(conversation, this.#pcm.push(bytes));
    return this.#utteranceEnd().map((message) => JSON.stringify(message));
  }

  get #seconds(): number {
    return this.#sessionSamples / LIVE_RATE_HZ;
  }

  #close(conversation: LiveConversation): void {
    this.#accept(conversation, this.#pcm.flush());
    conversation.close();
  }

  #accept(conversation: LiveConversation, pcm: Int16Array): void {
    if (pcm.length === 0) return;
    this.#sessionSamples += pcm.length;
    conversation.audio(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength));
  }

  #translate(message: StreamServerMessage): readonly ListenServerMessage[] {
    switch (message.type) {
      case "ready":
        this.#modelId = message.model;
        return [];
      case "partial": {
        const started = this.#started(message);
        return this.#asked.interimResults ? [...started, this.#results(message)] : started;
      }
      case "final": {
        const started = this.#started(message);
        const results = this.#results(message);
        this.#lastWordEnd = message.words?.at(-1)?.end ?? null;
        return [...started, results];
      }
      case "error":
        return [toError(message)];
      case "done":
        return [this.#metadata(message.audio_seconds)];
      case "going_away":
        // Deepgram has no message for it; the close code reports it.
        return [];
    }
  }

  #started({ utterance, start }: Utterance): readonly ListenServerMessage[] {
    if (utterance === this.#utterance) return [];
    this.#utterance = utterance;
    this.#lastWordEnd = null;
    return this.#asked.vadEvents ? [{ type: "SpeechStarted", channel: [CHANNEL], timestamp: start }] : [];
  }

  #results(message: Utterance): ListenResults {
    const isFinal = message.type === "final";
    const words = isFinal ? this.#words(message) : [];
    const isFromFinalize =
      isFinal && this.#finalizedSeconds !== null && message.start < this.#finalizedSeconds;
    if (isFinal) this.#finalizedSeconds = null;
    return {
      type: "Results",
      channel_index: [CHANNEL, 1],
      start: message.start,
      duration: seconds(message.end - message.start),
      is_final: isFinal,
      speech_final: isFinal && !isFromFinalize,
      from_finalize: isFromFinalize,
      channel: {
        alternatives: [
          {
            transcript: isFinal ? this.#text(message) : message.text,
            confidence: ratio(meanConfidence(words)),
            words: words.map((word) => ({ ...word, punctuated_word: word.punctuated_word ?? word.word })),
          },
        ],
      },
      metadata: {
        request_id: this.#requestId,
        model_info: { name: this.#modelId, version: this.#modelId, arch: this.#asked.model.family },
        model_uuid: this.#modelId,
      },
    };
  }

  /** Returns one word per displayed word; none for models without word times. */
  #words({ words = [], display_words }: Final): readonly ListenFileWord[] {
    return words.length === 0 ? [] : listenWords(words, display_words ?? null, this.#asked.hasMarks);
  }

  /** Deepgram's messages have no place for a mark that only the next final can supply. */
  #text({ text, display_text = text, display_words = [] }: Final): string {
    if (this.#asked.reading?.display !== true || this.#asked.hasMarks) return display_text;
    return displayLine(display_words.map(({ word }) => plainWord(word)));
  }

  #utteranceEnd(): readonly ListenServerMessage[] {
    const { utteranceEndMs } = this.#asked;
    const lastWordEnd = this.#lastWordEnd;
    if (utteranceEndMs === null || lastWordEnd === null) return [];
    if (this.#seconds < lastWordEnd + utteranceEndMs / 1_000) return [];
    this.#lastWordEnd = null;
    return [{ type: "UtteranceEnd", channel: [CHANNEL, 1], last_word_end: lastWordEnd }];
  }

  #metadata(durationSeconds: number): ListenServerMessage {
    this.#isDone = true;
    return {
      type: "Metadata",
      transaction_key: "deprecated",
      request_id: this.#requestId,
      sha256: this.#digest.digest("hex"),
      created: this.#createdAt.toISOString(),
      duration: seconds(durationSeconds),
      channels: 1,
      models: [this.#modelId],
    };
  }
}

/** `SpeechStarted` and the end of a counted pause need the first partial of an utterance. */
function needsPartials({ interimResults, vadEvents, utteranceEndMs }: ListenOptions): boolean {
  return interimResults || vadEvents || utteranceEndMs !== null;
}

/** 0 without words, as in partials. */
function meanConfidence(words: readonly { readonly confidence: number }[]): number {
  return words.reduce((sum, { confidence }) => sum + confidence, 0) / Math.max(1, words.length);
}

function toError({ code, detail }: ErrorMessage): ListenServerMessage {
  return { type: "Error", variant: code, description: detail, message: detail };
}
