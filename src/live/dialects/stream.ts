import { LIVE_RATE_HZ } from "../../../core/domain/audio/frame.js";
import type { WavHeader } from "../../../core/domain/audio/wav.js";
import type { LiveConversation } from "../../../core/ports/conversations.js";
import { encodeMessagePack } from "../../../core/protocol/stream-encoding.js";
import {
  parseStreamClientMessage,
  type StreamServerMessage,
} from "../../../core/protocol/stream-messages.js";
import { encodingOf, parseStreamQuery, splitCountOf } from "../../../core/protocol/stream-query.js";
import { channelsText, type LiveDialect, streamCredential, unfitWav, type WireMessage } from "./dialect.js";

const NO_MESSAGES: readonly WireMessage[] = [];

/** Our own protocol for live transcription. */
export const STREAM_DIALECT: LiveDialect = {
  path: "/v1/stream",
  work: "live",
  credential: streamCredential,
  refusalHeaders: () => ({}),
  refusal: (query, error) => encoderOf(query)(error),
  begin(query, _requestId, models) {
    const options = parseStreamQuery(query, models);
    const encode = encoderOf(query);
    const channelCount = splitCountOf(query);
    return {
      options,
      ...(channelCount !== null && { channelCount }),
      ignored: [],
      mayBeFile: true,
      beginWav: (header) => beginWav(header, channelCount ?? 1),
      toClient: (message) => [encode(message)],
      text(conversation, text) {
        onText(conversation, text);
        return NO_MESSAGES;
      },
      binary(conversation, bytes) {
        // An empty message is a keepalive.
        if (bytes.length === 0) conversation.keepalive();
        else conversation.audio(bytes);
        return NO_MESSAGES;
      },
    };
  },
};

/** Checks the format of a WAV, because this dialect does not resample. */
function beginWav(header: WavHeader, channelCount: number): void {
  const { format, channels, bitsPerSample, sampleRateHz } = header;
  if (format === "pcm" && channels === channelCount && bitsPerSample === 16 && sampleRateHz === LIVE_RATE_HZ)
    return;
  throw unfitWav(header, `${channelsText(channelCount)} of 16-bit pcm at ${LIVE_RATE_HZ} Hz`);
}

function encoderOf(query: URLSearchParams): (message: StreamServerMessage) => WireMessage {
  return encodingOf(query) === "msgpack" ? encodeMessagePack : JSON.stringify;
}

function onText(conversation: LiveConversation, text: string): readonly WireMessage[] {
  const message = parseStreamClientMessage(text);
  if (message === null) conversation.badMessage("a text message must be JSON");
  else if (message.type === "finalize") conversation.finalize();
  else if (message.type === "close") conversation.close();
  else if (message.type === "keepalive") conversation.keepalive();
  return NO_MESSAGES;
}
