import { z } from "zod";
import type { DeepReadonly } from "./fields.js";

const SECONDS = "Seconds from the start of the audio";

const SPEAKER = z
  .int()
  .min(0)
  .optional()
  .meta({ description: "With `diarize`: speaker number, from 0 in order of first word" });

const WORD = z.object({
  word: z.string().meta({ description: "Lower case and without punctuation, even if the text is readable" }),
  start: z.number().meta({ description: SECONDS }),
  end: z.number().meta({ description: SECONDS }),
  confidence: z.number(),
  punctuated_word: z.string().optional().meta({ description: "With `punctuate` or `smart_format`" }),
  speaker: SPEAKER,
});

const PARAGRAPH = z.object({
  sentences: z.array(z.object({ text: z.string(), start: z.number(), end: z.number() })),
  num_words: z.int(),
  start: z.number(),
  end: z.number(),
  speaker: SPEAKER,
});

/** Response of `POST /v1/listen`, with Deepgram's member names. */
export const LISTEN_TRANSCRIPT = z.object({
  metadata: z.object({
    transaction_key: z.literal("deprecated"),
    request_id: z.string(),
    sha256: z.string().meta({ description: "Hash of the submitted audio" }),
    created: z.string().meta({ format: "date-time" }),
    duration: z.number().meta({ description: "Seconds" }),
    channels: z
      .int()
      .meta({ description: "Transcribed channels: 1 without `multichannel`, which mixes them" }),
    models: z.array(z.string()),
    model_info: z.record(z.string(), z.object({ name: z.string(), version: z.string(), arch: z.string() })),
    warnings: z
      .array(z.object({ parameter: z.string(), type: z.string(), message: z.string() }))
      .optional()
      .meta({ description: "Never sent: requested options that this service does not support" }),
  }),
  results: z.object({
    channels: z.array(
      z.object({
        alternatives: z.array(
          z.object({
            transcript: z.string(),
            confidence: z.number(),
            words: z.array(WORD),
            paragraphs: z
              .object({ transcript: z.string(), paragraphs: z.array(PARAGRAPH) })
              .optional()
              .meta({ description: "With `paragraphs`" }),
          }),
        ),
        detected_language: z
          .enum(["kk", "ru"])
          .optional()
          .meta({ description: "With `detect_language`: language of most words; absent without words" }),
      }),
    ),
    utterances: z
      .array(
        z.object({
          start: z.number(),
          end: z.number(),
          confidence: z.number(),
          channel: z.int(),
          transcript: z.string(),
          words: z.array(WORD),
          id: z.string(),
          speaker: SPEAKER,
        }),
      )
      .optional()
      .meta({ description: "With `utterances`" }),
  }),
});

export type ListenTranscript = DeepReadonly<z.output<typeof LISTEN_TRANSCRIPT>>;
export type ListenFileWord = DeepReadonly<z.output<typeof WORD>>;
export type ListenParagraph = DeepReadonly<z.output<typeof PARAGRAPH>>;

/** JSON body of `POST /v1/listen`. */
export const LISTEN_URL = z.object({
  url: z.string().meta({ format: "uri", description: "Public address of the audio" }),
});
