import { z } from "zod";
import { type DeepReadonly, flag, oneOf } from "./fields.js";
import type { Query } from "./query.js";
import { SPEECH_FORMAT_FIELDS, type SpeechFormat, sampleRateOf } from "./speak-query.js";

export const SPEECH_QUERY = {
  schema: z.object({
    timestamps: flag("timestamps", false).meta({
      description: "Adds the words and their times, at no cost",
    }),
    encoding: SPEECH_FORMAT_FIELDS.encoding.meta({
      description:
        "Encoding of the samples in each WAV; G.711 (`mulaw`, `alaw`) is for telephone lines. An " +
        "extension",
    }),
    sample_rate: SPEECH_FORMAT_FIELDS.sample_rate,
  }),
  others: "refused",
} as const satisfies Query;

export const SPEECH_STREAM_QUERY = {
  ...SPEECH_QUERY,
  schema: SPEECH_QUERY.schema.extend({
    frames: oneOf("frames", ["sentences", "chunks"], {
      otherwise: "sentences",
      code: "INVALID_REQUEST",
    }).meta({
      description:
        "Content of a frame: a sentence, or the part of it synthesized so far, about half a " +
        "second at first and more later",
    }),
  }),
} as const satisfies Query;

/** Returns the requested format of speech; null for the voice's own. @throws {ServiceError} */
export function speechFormatOf(
  query: URLSearchParams,
  { encoding, sample_rate }: Pick<z.output<typeof SPEECH_QUERY.schema>, "encoding" | "sample_rate">,
): SpeechFormat | null {
  const isAsked = ["encoding", "sample_rate"].some((name) => query.has(name));
  return isAsked ? { encoding, sampleRateHz: sampleRateOf(sample_rate, encoding) } : null;
}

export const WORD_TIME = z.object({
  word: z.string().meta({ description: "The word as written in the text" }),
  spoken: z
    .string()
    .optional()
    .meta({ description: "Spoken form, if it is not the word itself: `екі мың` for `2000`" }),
  start: z.number().meta({ description: "Start, in seconds from the start of the accompanying audio" }),
  end: z.number().meta({ description: "End, in seconds from the start of the accompanying audio" }),
  from: z.int().min(0).meta({
    description: "Start of the word in `text`, in Unicode code points, the billed unit",
  }),
  to: z.int().min(0).meta({ description: "End of the word in `text`: one past its last code point" }),
});

export const TIMED_SPEECH = z.object({
  audio: z.string().meta({ description: "The WAV in base64", contentEncoding: "base64" }),
  format: z.literal("wav"),
  sample_rate: z.int().meta({ description: "Hz" }),
  duration: z.number().meta({ description: "Seconds of audio" }),
  words: z.array(WORD_TIME),
});

/** Answer of `/v1/tts?timestamps=true`. */
export type TimedSpeech = DeepReadonly<z.output<typeof TIMED_SPEECH>>;
