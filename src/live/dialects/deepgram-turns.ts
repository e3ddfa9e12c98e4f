import { LIVE_RATE_HZ } from "../../../core/domain/audio/frame.js";
import { StreamedPcm } from "../../../core/domain/audio/streamed-pcm.js";
import type { WavHeader } from "../../../core/domain/audio/wav.js";
import type { LiveConversation, LiveWishes } from "../../../core/ports/conversations.js";
import { SAMPLE_RATE_HZ, sampleFormat } from "../../../core/protocol/listen-query.js";
import { listenWords } from "../../../core/protocol/listen-words.js";
import { pickedDefaults } from "../../../core/protocol/organization-defaults.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import { parseTurnsClientMessage, type TurnsServerMessage } from "../../../core/protocol/turns-messages.js";
import { parseTurnsQuery, type TurnsOptions } from "../../../core/protocol/turns-query.js";
import {
  type AnnouncedForm,
  announcedForm,
  deepgramHeaders,
  type LiveDialect,
  type LiveTranslation,
  listenCredential,
  unfitWav,
  type WireMessage,
} from "./dialect.js";
import { type TurnEvent, Turns } from "./turns.js";

/**
 * Deepgram's protocol for conversation turns.
 * @see https://developers.deepgram.com/reference/speech-to-text/listen-flux
 */
export const TURNS_DIALECT: LiveDialect = {
  path: "/v2/listen",
  work: "live",
  credential: listenCredential,
  refusalHeaders: deepgramHeaders,
  refusal: (_query, { code, detail }) =>
    JSON.stringify({ type: "Error", sequence_id: 0, code, description: detail } satisfies TurnsServerMessage),
  begin: (query, requestId, models) => new TurnsTranslation(parseTurnsQuery(query, models), requestId),
};

type Final = Extract<StreamServerMessage, { readonly type: "final" }>;
type WithoutSequence<M> = M extends unknown ? Omit<M, "sequence_id"> : never;

class TurnsTranslation implements LiveTranslation {
  readonly options: LiveWishes;
  readonly ignored: readonly string[];
  readonly mayBeFile = true;
  readonly announced: AnnouncedForm | null;
  readonly #requestId: string;
  readonly #turns: Turns;
  readonly #hasMarks: boolean;
  #pcm: StreamedPcm;
  #sequence = 0;
  #sessionSamples = 0;

  constructor(options: TurnsOptions, requestId: string) {
    const { model, encoding, sampleRateHz, hotWords, utteranceMs } = options;
    this.options = {
      model: model.name,
      endOfUtteranceMs: utteranceMs,
      endpointing: "adaptive",
      partials: true,
      words: true,
      hotWords,
      ...pickedDefaults(options),
      ...(options.reading !== null && { reading: options.reading }),
    };
    this.#hasMarks = options.hasMarks;
    this.ignored = options.ignored;
    this.#requestId = requestId;
    this.#turns = new Turns(options);
    this.announced = announcedForm(encoding);
    this.#pcm = new StreamedPcm(sampleFormat(encoding), sampleRateHz, LIVE_RATE_HZ);
  }

  beginWav(header: WavHeader): void {
    const { format, channels, bitsPerSample, sampleRateHz } = header;
    const { min, max } = SAMPLE_RATE_HZ;
    const isFit = format === "pcm" && bitsPerSample === 16 && channels === 1;
    if (!isFit || sampleRateHz < min || sampleRateHz > max)
      throw unfitWav(header, `one channel of 16-bit pcm at ${min} to ${max} Hz`);
    this.#pcm = new StreamedPcm("linear16", sampleRateHz, LIVE_RATE_HZ);
  }

  beginDecoded(): void {
    this.#pcm = new StreamedPcm("linear16", LIVE_RATE_HZ, LIVE_RATE_HZ);
  }

  toClient(message: StreamServerMessage): readonly WireMessage[] {
    switch (message.type) {
      case "ready":
        return [this.#message({ type: "Connected", request_id: this.#requestId })];
      case "partial":
        return this.#events(this.#turns.partial(message, this.#heardSeconds));
      case "final":
        return this.#events(this.#turns.final(this.#readable(message), this.#heardSeconds));
      case "done":
        return this.#events(this.#turns.finish(this.#heardSeconds));
      case "error":
        return [this.#message({ type: "Error", code: message.code, description: message.detail })];
      case "going_away":
        // The close code reports the reason.
        return [];
    }
  }

  finalized(): readonly WireMessage[] {
    return this.#events(this.#turns.force(this.#heardSeconds));
  }

  text(conversation: LiveConversation, text: string): readonly WireMessage[] {
    const message = parseTurnsClientMessage(text);
    if (message === null) conversation.badMessage("a text message must be JSON");
    else if (message.type === "KeepAlive") conversation.keepalive();
    else if (message.type === "ForceEndTurn") {
      const events = this.#turns.force(this.#heardSeconds);
      if (events.length === 0) conversation.finalize();
      return this.#events(events);
    } else if (message.type === "CloseStream") this.#close(conversation);
    else if (message.type === "Configure")
      return [this.#message({ type: "ConfigureFailure", request_id: this.#requestId })];
    return [];
  }

  binary(conversation: LiveConversation, bytes: Uint8Array): readonly WireMessage[] {
    if (bytes.length === 0) {
      this.#close(conversation);
      return [];
    }
    this.#accept(conversation, this.#pcm.push(bytes));
    return this.#events(this.#turns.heard(this.#heardSeconds));
  }

  /** Replaces a final's words with the displayed ones, if the client requested them. */
  #readable(message: Final): Final & { readonly mark?: string } {
    const { words = [], display_words, display_before = "" } = message;
    if (display_words === undefined) return message;
    const shown = listenWords(words, display_words, this.#hasMarks);
    return {
      ...message,
      words: shown.map(({ punctuated_word, ...word }) => ({ ...word, word: punctuated_word ?? word.word })),
      ...(this.#hasMarks && { mark: display_before.trimEnd() }),
    };
  }

  get #heardSeconds(): number {
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

  #events(events: readonly TurnEvent[]): readonly WireMessage[] {
    return events.map((event) => this.#message({ type: "TurnInfo", request_id: this.#requestId, ...event }));
  }

  #message(message: WithoutSequence<TurnsServerMessage>): WireMessage {
    const { type, ...rest } = message;
    const sequence_id = this.#sequence;
    // An error with number 0 may be one prepared for a flood, and never sent.
    if (type !== "Error" || sequence_id > 0) this.#sequence++;
    return JSON.stringify({ type, sequence_id, ...rest });
  }
}
