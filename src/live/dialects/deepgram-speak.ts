import { EncodedPcm } from "../../../core/domain/audio/encoded-pcm.js";
import type { SpeakConversation, SpeakMessageOut } from "../../../core/ports/conversations.js";
import { parseSpeakClientMessage, type SpeakServerMessage } from "../../../core/protocol/speak-messages.js";
import { parseSpeakStreamQuery, type SpeakOptions } from "../../../core/protocol/speak-query.js";
import {
  deepgramHeaders,
  listenCredential,
  type SpeakDialect,
  type SpeakTranslation,
  type WireMessage,
} from "./dialect.js";

/** Longest text of a `Speak` message, in UTF-16 units. */
const LONGEST_PIECE = 5_000;

/**
 * Deepgram's protocol for speaking text that arrives in pieces.
 * @see https://developers.deepgram.com/reference/text-to-speech/speak-streaming
 */
export const SPEAK_DIALECT: SpeakDialect = {
  path: "/v1/speak",
  work: "synthesis",
  credential: listenCredential,
  refusalHeaders: deepgramHeaders,
  refusal: (_query, error, requestId) => JSON.stringify(toMessage(error, requestId)),
  begin: (query, requestId, models) =>
    new DeepgramSpeakTranslation(parseSpeakStreamQuery(query, models), requestId),
};

class DeepgramSpeakTranslation implements SpeakTranslation {
  readonly wishes: SpeakTranslation["wishes"];
  readonly ignored: readonly string[];
  readonly #options: SpeakOptions;
  readonly #requestId: string;
  #encoder: EncodedPcm;

  constructor(options: SpeakOptions, requestId: string) {
    this.wishes = options.manner;
    this.ignored = options.ignored;
    this.#options = options;
    this.#requestId = requestId;
    this.#encoder = this.#newEncoder();
  }

  opened(): readonly WireMessage[] {
    const { model, manner } = this.#options;
    const metadata: SpeakServerMessage = {
      type: "Metadata",
      request_id: this.#requestId,
      model_name: manner.voice ?? model.default_voice,
      model_version: model.name,
      model_uuid: model.name,
    };
    return [JSON.stringify(metadata)];
  }

  toClient(message: SpeakMessageOut): readonly WireMessage[] {
    // The resampler still holds samples of audio that the client has cleared.
    if (message.type === "cleared") this.#encoder = this.#newEncoder();
    // Deepgram's sockets close without a summary.
    return message.type === "done" ? [] : [JSON.stringify(toMessage(message, this.#requestId))];
  }

  sound(pcm: Int16Array, isLast: boolean): readonly WireMessage[] {
    const bytes = this.#encoder.push(pcm);
    // Sentences start and end with silence, so none needs samples of the next one.
    return isLast ? [bytes, this.#encoder.flush()] : [bytes];
  }

  text(conversation: SpeakConversation, text: string): void {
    const message = parseSpeakClientMessage(text);
    if (message === null) conversation.badMessage("a text message must be JSON");
    else if (message.type === "Speak") this.#speak(conversation, message.text);
    else if (message.type === "Flush") conversation.flush();
    else if (message.type === "Clear") conversation.clear();
    else if (message.type === "Close") conversation.close();
    else if (message.type === "KeepAlive") conversation.keepalive();
    else {
      conversation.badMessage(
        'a message must be {"type": "Speak", "text": "..."} or have the type Flush, Clear or Close',
      );
    }
  }

  binary(conversation: SpeakConversation): void {
    conversation.badMessage("messages must be text, received a binary message");
  }

  #speak(conversation: SpeakConversation, text: string): void {
    if (text.length <= LONGEST_PIECE) conversation.speak(text);
    else {
      const rule = `text of a Speak message must be at most ${LONGEST_PIECE} characters`;
      conversation.badMessage(`${rule}, received ${text.length}`);
    }
  }

  #newEncoder(): EncodedPcm {
    const { encoding, sampleRateHz, model } = this.#options;
    return new EncodedPcm(encoding, model.sample_rate, sampleRateHz);
  }
}

function toMessage(
  message: Exclude<SpeakMessageOut, { readonly type: "done" }>,
  requestId: string,
): SpeakServerMessage {
  switch (message.type) {
    case "flushed":
      return { type: "Flushed", sequence_id: message.sequence };
    case "cleared":
      return { type: "Cleared", sequence_id: message.sequence };
    case "warning": {
      const { code, detail } = message;
      return { type: "Warning", code, description: detail, warn_code: code, warn_msg: detail };
    }
    case "error": {
      const { code, detail } = message;
      const error = { code, description: detail, err_code: code, err_msg: detail };
      return { type: "Error", ...error, request_id: requestId };
    }
  }
}
