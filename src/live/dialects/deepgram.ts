import { createHash } from "node:crypto";
import { LIVE_RATE_HZ } from "../../../core/domain/audio/frame.js";
import { StreamedChannels } from "../../../core/domain/audio/streamed-channels.js";
import type { StreamedFormat } from "../../../core/domain/audio/streamed-pcm.js";
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
import { pickedDefaults } from "../../../core/protocol/organization-defaults.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import {
  type AnnouncedForm,
  announcedForm,
  channelsText,
  deepgramHeaders,
  type ErrorMessage,
  type LiveDialect,
  type LiveTranslation,
  listenCredential,
  unfitWav,
  type WireMessage,
} from "./dialect.js";

/**
 * Deepgram's protocol for live transcription, which lets Deepgram's clients work with this service.
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

interface ChannelState {
  /** Number of the utterance in the last partial or final. */
  utterance: number;
  /** Finals that ended with a `Finalize` that the session has not confirmed yet. */
  finalizedCount: number;
  /** The end of the last word if its silence may still cause an `UtteranceEnd`, else null. */
  lastWordEnd: number | null;
}

class ListenTranslation implements LiveTranslation {
  readonly options: LiveWishes;
  readonly ignored: readonly string[];
  readonly mayBeFile: boolean;
  readonly announced: AnnouncedForm | null;
  readonly #asked: ListenOptions;
  readonly #requestId: string;
  readonly channelCount?: number;
  readonly #channels: readonly ChannelState[];
  #pcm: StreamedChannels;
  readonly #digest = createHash("sha256");
  /** True if the client sent compressed audio: its bytes are then hashed instead of the samples. */
  #isDecoded = false;
  readonly #createdAt = new Date();
  #modelId = "";
  #sessionSamples = 0;
  /** Where the client requested `Finalize`, in seconds; the session confirms each. */
  readonly #marks: number[] = [];
  #lastMark = 0;
  /** Whether the metadata, with the hash of all audio, was sent. */
  #isDone = false;

  constructor(asked: ListenOptions, requestId: string) {
    this.#asked = asked;
    this.#requestId = requestId;
    this.announced = announcedForm(asked.encoding);
    if (asked.channelCount !== null) this.channelCount = asked.channelCount;
    this.#channels = Array.from({ length: asked.channelCount ?? 1 }, () => ({
      ...{ utterance: -1, finalizedCount: 0, lastWordEnd: null },
    }));
    this.#pcm = this.#streamOf(sampleFormat(asked.encoding), asked.sampleRateHz);
    this.ignored = asked.ignored;
    this.mayBeFile = !asked.saysEncoding;
    const { model, endOfUtteranceMs } = asked;
    this.options = {
      model: model.name,
      endOfUtteranceMs,
      partials: needsPartials(asked),
      words: true,
      hotWords: asked.hotWords,
      ...pickedDefaults(asked),
      ...(asked.reading !== null && { reading: asked.reading }),
    };
  }

  beginWav(header: WavHeader): void {
    const { format, channels, bitsPerSample, sampleRateHz } = header;
    const encoding = format === "pcm" ? "linear16" : format;
    const { min, max } = SAMPLE_RATE_HZ;
    const isWide = encoding === "linear16" && bitsPerSample !== 16;
    if (
      encoding === "float" ||
      isWide ||
      channels !== this.#count ||
      sampleRateHz < min ||
      sampleRateHz > max
    ) {
      throw unfitWav(
        header,
        `${channelsText(this.#count)} of 16-bit pcm, mulaw or alaw at ${min} to ${max} Hz`,
      );
    }
    this.#pcm = this.#streamOf(encoding, sampleRateHz);
  }

  #streamOf(encoding: StreamedFormat, fromHz: number): StreamedChannels {
    return new StreamedChannels(encoding, this.#count, { fromHz, toHz: LIVE_RATE_HZ });
  }

  get #count(): number {
    return this.#channels.length;
  }

  beginDecoded(): void {
    this.#isDecoded = true;
    this.#pcm = this.#streamOf("linear16", LIVE_RATE_HZ);
  }

  submitted(bytes: Uint8Array): void {
    if (!this.#isDone) this.#digest.update(bytes);
  }

  toClient(message: StreamServerMessage): readonly WireMessage[] {
    return this.#translate(message).map((translated) => JSON.stringify(translated));
  }

  /** A `Finalize` that ended no utterance gets an empty final, because clients wait for its answer. */
  finalized(): readonly WireMessage[] {
    const mark = this.#marks.shift() ?? this.#seconds;
    return this.#channels.flatMap((state, channel) => {
      if (state.finalizedCount > 0) {
        state.finalizedCount--;
        return [];
      }
      const empty = { type: "final", utterance: -1, text: "", words: [], start: mark, end: mark } as const;
      return [JSON.stringify(this.#results({ ...empty, channel, from_finalize: true }))];
    });
  }

  text(conversation: LiveConversation, text: string): readonly WireMessage[] {
    const message = parseListenClientMessage(text);
    if (message === null) conversation.badMessage("a text message must be JSON");
    else if (message.type === "KeepAlive") conversation.keepalive();
    else if (message.type === "Finalize") {
      this.#mark();
      conversation.finalize();
    } else if (message.type === "CloseStream") this.#close(conversation);
    return [];
  }

  binary(conversation: LiveConversation, bytes: Uint8Array): readonly WireMessage[] {
    // This message was in flight when the session ended.
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

  /** The session ignores a `finalize` without new audio, and does not confirm it. */
  #mark(): void {
    if (this.#seconds === this.#lastMark) return;
    this.#lastMark = this.#seconds;
    this.#marks.push(this.#seconds);
  }

  #close(conversation: LiveConversation): void {
    this.#accept(conversation, this.#pcm.flush());
    conversation.close();
  }

  #accept(conversation: LiveConversation, pcm: Int16Array): void {
    if (pcm.length === 0) return;
    this.#sessionSamples += pcm.length / this.#count;
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
        const state = this.#stateOf(message);
        state.lastWordEnd = message.words?.at(-1)?.end ?? null;
        if (message.from_finalize === true) state.finalizedCount++;
        return [...started, results];
      }
      case "error":
        return [toError(message)];
      case "done":
        return [this.#metadata(message.audio_seconds)];
      case "going_away":
        // Deepgram has no such message; the close code reports the reason.
        return [];
    }
  }

  #stateOf({ channel = 0 }: Utterance): ChannelState {
    return this.#channels[channel]!;
  }

  #started(message: Utterance): readonly ListenServerMessage[] {
    const { utterance, start, channel = 0 } = message;
    const state = this.#stateOf(message);
    if (utterance === state.utterance) return [];
    state.utterance = utterance;
    state.lastWordEnd = null;
    const index = this.channelCount === undefined ? [channel] : [channel, this.#count];
    return this.#asked.vadEvents ? [{ type: "SpeechStarted", channel: index, timestamp: start }] : [];
  }

  #results(message: Utterance): ListenResults {
    const isFinal = message.type === "final";
    const words = isFinal ? this.#words(message) : [];
    const isFromFinalize = isFinal && message.from_finalize === true;
    return {
      type: "Results",
      channel_index: [message.channel ?? 0, this.#count],
      start: seconds(message.start),
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

  /**
   * Returns the text. Deepgram's messages have no place for punctuation that only the next final can supply.
   */
  #text({ text, display_text = text, display_words = [] }: Final): string {
    if (this.#asked.reading?.display !== true || this.#asked.hasMarks) return display_text;
    return displayLine(display_words.map(({ word }) => plainWord(word)));
  }

  #utteranceEnd(): readonly ListenServerMessage[] {
    const { utteranceEndMs } = this.#asked;
    if (utteranceEndMs === null) return [];
    return this.#channels.flatMap((state, channel) => {
      const { lastWordEnd } = state;
      if (lastWordEnd === null || this.#seconds < lastWordEnd + utteranceEndMs / 1_000) return [];
      state.lastWordEnd = null;
      return [{ type: "UtteranceEnd", channel: [channel, this.#count], last_word_end: lastWordEnd } as const];
    });
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
      channels: this.#count,
      models: [this.#modelId],
    };
  }
}

/**
 * Partials are also needed for `SpeechStarted` and `UtteranceEnd`, which start at an utterance's first
 * partial.
 */
function needsPartials({ interimResults, vadEvents, utteranceEndMs }: ListenOptions): boolean {
  return interimResults || vadEvents || utteranceEndMs !== null;
}

/** Returns the mean confidence; 0 without words, as in partials. */
function meanConfidence(words: readonly { readonly confidence: number }[]): number {
  return words.reduce((sum, { confidence }) => sum + confidence, 0) / Math.max(1, words.length);
}

function toError({ code, detail }: ErrorMessage): ListenServerMessage {
  return { type: "Error", variant: code, description: detail, message: detail };
}
