import { z } from "zod";
import type { HotWord } from "../domain/decoding/hot-words.js";
import type { Endpointing } from "../domain/endpointing/patience.js";
import type { ReadingOptions } from "../domain/text/display/reading.js";
import { type ClientMessage, parseClientMessage } from "./client-message.js";
import type { DeepReadonly } from "./fields.js";
import type { OrganizationDefaults } from "./organization-defaults.js";
import { DISPLAY_WORD, REDACTION, TIMED_WORD } from "./transcription-schemas.js";

/** Options of a live session. */
export interface StreamOptions extends OrganizationDefaults {
  readonly endOfUtteranceMs: number;
  /** `fixed` by default. */
  readonly endpointing?: Endpointing;
  readonly partials: boolean;
  readonly words: boolean;
  readonly hotWords: readonly HotWord[];
  /** Absent for plain text. */
  readonly reading?: ReadingOptions;
}

/** Text messages from the client. */
export const STREAM_CLIENT_MESSAGE = z.discriminatedUnion("type", [
  z.object({ type: z.literal("finalize") }).meta({ description: "End the utterance now" }),
  z
    .object({ type: z.literal("close") })
    .meta({ description: "Finish, settle, send `done`, and close with 1000" }),
  z.object({ type: z.literal("keepalive") }).meta({ description: "Keeps the silent session open" }),
]);

/** Channel number, only with `channels=split`. */
const CHANNEL = z.int().min(0).meta({ description: "Counts from 0; with `channels=split`. An extension" });

const UTTERANCE = {
  channel: CHANNEL.optional(),
  utterance: z.int().min(0).meta({ description: "Increases by one, per channel" }),
  text: z.string(),
  start: z.number().meta({ description: "Seconds of accepted audio" }),
  end: z.number(),
};

const SCORED_WORD = TIMED_WORD.extend({
  confidence: z.number().min(0).max(1).meta({ description: "Confidence of the word; an extension" }),
});

const END_OF_TURN = z.number().min(0).max(1).meta({
  description: "Probability that the sentence is complete, by its words; with `display=true`. An extension",
});

const DISPLAY_END = z.string().meta({
  description:
    "The mark that ends the last `display_text`, if that has none; with `display=true`. An extension",
});

/** Members of a final that are sent on request. */
const READABLE = {
  display_text: z
    .string()
    .optional()
    .meta({
      description:
        "The text with capitals, punctuation and digits; with `display=true`. Has no final mark while the " +
        "sentence may continue. An extension",
    }),
  display_before: z.string().optional().meta({
    description: "Joins `display_text` to the previous final: its missing mark, and a space. An extension",
  }),
  display_words: z.array(DISPLAY_WORD).optional().meta({
    description: "Words of `display_text`, with `words=true`. An extension",
  }),
  end_of_turn: END_OF_TURN.optional(),
  redactions: z.array(REDACTION).optional().meta({ description: "Masked data; with `redact`. An extension" }),
};

/** Messages to the client, as they are sent. Times are seconds of accepted audio. */
export const STREAM_SERVER_MESSAGE = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("ready"),
    session_id: z.string(),
    request_id: z.string(),
    model: z.string(),
    sample_rate: z.int(),
    eou_ms: z.int(),
    session_ids: z.array(z.string()).optional().meta({
      description: "Session ids by channel; with `channels=split`. An extension",
    }),
  }),
  z
    .object({
      type: z.literal("partial"),
      ...UTTERANCE,
      stable: z
        .int()
        .min(0)
        .meta({
          description:
            "Unicode code points at the start of `text` that no later partial of this utterance " +
            "changes; the final comes " +
            "from a second pass and may differ. An extension",
        }),
      end_of_turn: END_OF_TURN.optional(),
    })
    .meta({
      description:
        "Text that may still change. With `display=true`, a partial with `end_of_turn` reports each " +
        "pause",
    }),
  z
    .object({
      type: z.literal("final"),
      ...UTTERANCE,
      words: z.array(SCORED_WORD).optional(),
      from_finalize: z.literal(true).optional().meta({
        description: "A `finalize` ended the utterance; absent if it ended by itself. An extension",
      }),
      ...READABLE,
    })
    .meta({ description: "Never revised" }),
  z.object({ type: z.literal("going_away"), deadline_s: z.number() }),
  z.object({
    type: z.literal("error"),
    code: z.string(),
    detail: z.string(),
    retryable: z.boolean(),
  }),
  z.object({
    type: z.literal("done"),
    audio_seconds: z.number(),
    credits_charged: z.int(),
    display_end: DISPLAY_END.optional(),
    channels: z
      .array(
        z.object({
          channel: CHANNEL,
          audio_seconds: z.number(),
          credits_charged: z.int(),
          display_end: DISPLAY_END.optional(),
        }),
      )
      .optional()
      .meta({
        description:
          "Audio and credits per channel, summed in `credits_charged`; with `channels=split`. An extension",
      }),
  }),
]);

export type StreamServerMessage = DeepReadonly<z.output<typeof STREAM_SERVER_MESSAGE>>;
export type StreamClientMessage = ClientMessage<typeof STREAM_CLIENT_MESSAGE>;

/** Parses a text message of the client; null when it is not JSON. */
export function parseStreamClientMessage(text: string): StreamClientMessage | null {
  return parseClientMessage(STREAM_CLIENT_MESSAGE, text);
}
