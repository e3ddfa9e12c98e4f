import { EncodedPcm } from "../../../core/domain/audio/encoded-pcm.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { seconds } from "../../../core/domain/rounded.js";
import type { WordTime } from "../../../core/domain/synthesis/word-time.js";
import { WrittenWords } from "../../../core/domain/synthesis/word-times.js";
import type {
  SentSpeech,
  SpeakConversation,
  SpeakMessageOut,
  SpeakReceipt,
  SpokenPlace,
} from "../../../core/ports/conversations.js";
import {
  parseTtsLiveClientMessage,
  parseTtsLiveSettings,
  type TtsLiveServerMessage,
} from "../../../core/protocol/tts-live-messages.js";
import { parseTtsLiveQuery, type TtsLiveOptions } from "../../../core/protocol/tts-live-query.js";
import { type SpeakDialect, type SpeakTranslation, streamCredential, type WireMessage } from "./dialect.js";
import { HeardText, type Played } from "./heard-text.js";

/** Longest text of one message, in UTF-16 units. */
const LONGEST_PIECE = 5_000;

/** Our own protocol for speaking text that arrives in pieces. */
export const TTS_LIVE_DIALECT: SpeakDialect = {
  path: "/v1/tts/live",
  work: "synthesis",
  credential: streamCredential,
  refusalHeaders: () => ({}),
  refusal: (_query, error) => JSON.stringify(error),
  begin: (query, requestId, models) => new TtsLiveTranslation(parseTtsLiveQuery(query, models), requestId),
};

class TtsLiveTranslation implements SpeakTranslation {
  readonly wishes: SpeakTranslation["wishes"];
  readonly ignored: readonly string[] = [];
  readonly #options: TtsLiveOptions;
  readonly #requestId: string;
  readonly #bytesPerSecond: number;
  readonly #heard = new HeardText();
  #encoder: EncodedPcm;
  /** Bytes sent of the current sentence, and bytes of its turn before it. */
  #sentenceBytes = 0;
  #turnBytes = 0;
  #turn = 0;
  /** Written words of the current sentence; null between two sentences. */
  #written: WrittenWords | null = null;
  /** Words whose samples the resampler still holds back. */
  #words: WordTime[] = [];
  /** Whether the text of the sentence was already sent. */
  #hasText = false;
  /** Playback position from the `cancel` that is answered next. */
  #played: Played | null = null;
  /** The client has sent text or `options`. */
  #hasBegun = false;

  constructor(options: TtsLiveOptions, requestId: string) {
    const { manner, encoding, sampleRateHz } = options;
    this.wishes = { ...manner, startsEarly: true };
    this.#options = options;
    this.#requestId = requestId;
    this.#bytesPerSecond = sampleRateHz * (encoding === "linear16" ? 2 : 1);
    this.#encoder = this.#newEncoder();
  }

  opened(): readonly WireMessage[] {
    const { model, voice, encoding, sampleRateHz } = this.#options;
    return rendered({
      type: "ready",
      session_id: this.#requestId,
      ...{ model: model.name, voice, encoding, sample_rate: sampleRateHz },
    });
  }

  toClient(message: SpeakMessageOut, receipt?: SpeakReceipt): readonly WireMessage[] {
    switch (message.type) {
      case "flushed":
        return rendered({ type: "flushed", turn: message.turn, ...this.#delivered(receipt?.turn) });
      case "cleared":
        return rendered({
          ...{ type: "cancelled", turn: message.turn, ...this.#delivered(receipt?.turn) },
          ...this.#endOfAudio(),
        });
      case "done":
        return rendered({ type: "done", ...this.#delivered(receipt?.session) });
      default:
        return rendered(message);
    }
  }

  sound(pcm: Int16Array, isLast: boolean, place: SpokenPlace): readonly WireMessage[] {
    const { turn, sentence, text, from } = place;
    this.#written ??= new WrittenWords(text, this.#options.model.sample_rate);
    if (turn !== this.#turn) this.#turnBytes = 0;
    this.#turn = turn;
    const made = this.#encoder.push(pcm);
    // Sentences start and end with silence, so none needs samples of the next one.
    const bytes = isLast ? Buffer.concat([made, this.#encoder.flush()]) : made;
    const before = this.#sentenceBytes / this.#bytesPerSecond;
    const start = (this.#turnBytes + this.#sentenceBytes) / this.#bytesPerSecond;
    const said = this.#written.timesOf(place.words, -Math.round(before * this.#options.model.sample_rate));
    this.#words.push(...said.map((word) => ({ ...word, from: word.from + from, to: word.to + from })));
    if (bytes.length === 0 && !isLast) return [];
    const message: TtsLiveServerMessage = {
      ...{ type: "audio", turn, sentence, ...(!this.#hasText && { text }), from, start: seconds(start) },
      ...{ bytes: bytes.length, words: this.#words, last: isLast },
    };
    this.#heard.add(turn, start, this.#words);
    this.#words = [];
    this.#hasText = true;
    this.#sentenceBytes += bytes.length;
    if (isLast) this.#endSentence();
    return [...rendered(message), bytes];
  }

  goingAway(deadlineSeconds: number): readonly WireMessage[] {
    return rendered({ type: "going_away", deadline_s: deadlineSeconds });
  }

  text(conversation: SpeakConversation, text: string): void {
    const message = parseTtsLiveClientMessage(text);
    if (message === null) conversation.badMessage("a text message must be JSON");
    else if (message.type === "text") this.#speak(conversation, message.text);
    else if (message.type === "options") this.#configure(conversation, message);
    else if (message.type === "flush") conversation.flush();
    else if (message.type === "cancel") {
      const { played_seconds: playedSeconds, played_turn: turn } = message;
      this.#played = playedSeconds === undefined ? null : { playedSeconds, turn };
      conversation.clear();
    } else if (message.type === "close") {
      conversation.flush();
      conversation.close();
    } else if (message.type === "keepalive") conversation.keepalive();
    else {
      conversation.badMessage(
        'a message must be {"type": "text", "text": "..."} or have the type options, flush, cancel, keepalive or close',
      );
    }
  }

  binary(conversation: SpeakConversation): void {
    conversation.badMessage("messages must be text, received a binary message");
  }

  /** Ends the session if they are invalid: its words would sound wrong. */
  #configure(conversation: SpeakConversation, message: object): void {
    try {
      if (this.#hasBegun) {
        const rule = "options must be sent once, before the first text: open another socket to change them";
        throw new ServiceError("INVALID_REQUEST", rule);
      }
      this.#hasBegun = true;
      conversation.pronounce(parseTtsLiveSettings(message).pronunciations);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      conversation.refuse(error);
    }
  }

  #speak(conversation: SpeakConversation, text: string): void {
    this.#hasBegun = true;
    if (text.length <= LONGEST_PIECE) {
      conversation.speak(text);
      return;
    }
    const rule = `text of a message must be at most ${LONGEST_PIECE} characters`;
    conversation.badMessage(`${rule}, received ${text.length}`);
  }

  /** Drops the samples held back, because they belong to cancelled audio. */
  #endOfAudio() {
    this.#encoder = this.#newEncoder();
    this.#endSentence();
    const heard = this.#played === null ? null : this.#heard.until(this.#played);
    this.#played = null;
    return heard === null ? {} : { heard };
  }

  #endSentence(): void {
    this.#turnBytes += this.#sentenceBytes;
    this.#sentenceBytes = 0;
    this.#written = null;
    this.#words = [];
    this.#hasText = false;
  }

  #delivered({ samples, characters, credits }: SentSpeech = { samples: 0, characters: 0, credits: 0 }) {
    const audioSeconds = seconds(samples / this.#options.model.sample_rate);
    return { audio_seconds: audioSeconds, characters, credits_charged: credits };
  }

  #newEncoder(): EncodedPcm {
    const { encoding, sampleRateHz, model } = this.#options;
    return new EncodedPcm(encoding, model.sample_rate, sampleRateHz);
  }
}

function rendered(message: TtsLiveServerMessage): readonly WireMessage[] {
  return [JSON.stringify(message)];
}
