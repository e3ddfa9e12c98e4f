import { z } from "zod";
import { REDACTED_KINDS } from "../domain/text/redaction/redact.js";
import type { DeepReadonly } from "./fields.js";

const SPEAKER = z.int().min(0).optional().meta({
  description: "Speaker number, from 0 in order of first word; only with `diarize=true`. An extension",
});

export const TIMED_WORD = z.object({
  word: z.string().meta({ description: "Lowercase, unpunctuated" }),
  start: z.number().meta({ description: "Seconds from the start of the audio" }),
  end: z.number().meta({ description: "Seconds from the start of the audio" }),
});

/** The channel of a member that belongs to one channel of a file. */
const OF_CHANNEL = {
  channel: z.int().min(0).optional().meta({
    description: "Channel of the recording, from 0; only with `channels=split`. An extension",
  }),
};

export const FILE_WORD = TIMED_WORD.extend({ ...OF_CHANNEL, speaker: SPEAKER });

/** A word of the readable text. */
export const DISPLAY_WORD = z.object({
  word: z.string().meta({ description: "Word with its capitals, digits and punctuation" }),
  start: z.number().meta({ description: "Seconds from the start of the audio" }),
  end: z.number().meta({ description: "Seconds from the start of the audio" }),
  spoken: z.tuple([z.int(), z.int()]).meta({
    description: "Items [first, end) of `words` that it stands for",
  }),
});

/** Masked personal data. */
export const REDACTION = z.object({
  kind: z.enum(REDACTED_KINDS),
  start: z.number().meta({ description: "Seconds from the start of the audio" }),
  end: z.number().meta({ description: "Seconds from the start of the audio" }),
});

const FILE_DISPLAY_WORD = DISPLAY_WORD.extend({
  ...OF_CHANNEL,
  spoken: DISPLAY_WORD.shape.spoken.meta({
    description:
      "Items [first, end) of `words` that it stands for; with `channels=split`, of its channel's words",
  }),
  speaker: SPEAKER,
});
const FILE_REDACTION = REDACTION.extend(OF_CHANNEL);

export const TRANSCRIPT_SEGMENT = z.object({
  ...OF_CHANNEL,
  id: z.int().min(0),
  text: z.string(),
  start: z.number().meta({ description: "Seconds from the start of the audio" }),
  end: z.number().meta({ description: "Seconds from the start of the audio" }),
  display_text: z.string().optional().meta({ description: "Only with `display=true`; an extension" }),
  speaker: SPEAKER,
});

/** Transcript of one channel, equal to that of a mono file with its samples. */
const CHANNEL_TRANSCRIPT = z.object({
  channel: z.int().min(0).meta({ description: "Counts from 0" }),
  text: z.string(),
  words: z.array(FILE_WORD).optional().meta({ description: "Only with `timestamps=true`" }),
  segments: z.array(TRANSCRIPT_SEGMENT).optional().meta({ description: "Only with `timestamps=true`" }),
  display_text: z.string().optional().meta({ description: "Only with `display=true`" }),
  display_words: z.array(FILE_DISPLAY_WORD).optional().meta({
    description: "Only with `display=true` and `timestamps=true`",
  }),
  redactions: z.array(FILE_REDACTION).optional().meta({ description: "Only with `redact`" }),
});

export const TRANSCRIPTION = z.object({
  text: z.string().meta({ description: "Lowercase, unpunctuated" }),
  model: z.string(),
  audio_seconds: z.number().meta({
    description: "Duration of the submitted audio, the billed quantity: per channel with `channels=split`",
  }),
  processing_seconds: z.number(),
  rtf: z.number().nullable().meta({ description: "processing_seconds / audio_seconds" }),
  x_realtime: z.number().nullable().meta({ description: "How many times faster than real time" }),
  chunks: z.int().meta({ description: "Pieces the audio was split into at pauses" }),
  sample_rate_in: z.int().meta({ description: "Sample rate of the submitted audio" }),
  credits_charged: z.int().meta({
    description: "ceil(audio_seconds × 2.5), or ceil(audio_seconds × channels × 2.5) with `channels=split`",
  }),
  words: z.array(FILE_WORD).optional().meta({ description: "Only with `timestamps=true` or `diarize=true`" }),
  segments: z.array(TRANSCRIPT_SEGMENT).optional().meta({
    description:
      "Only with `timestamps=true` or `diarize=true`; with `channels=split`, turns of all channels in order of time",
  }),
  display_text: z.string().optional().meta({
    description: "The text with capitals, punctuation and digits; only with `display=true`. An extension",
  }),
  display_words: z.array(FILE_DISPLAY_WORD).optional().meta({
    description: "Words of `display_text`; only with `display=true` and `timestamps=true`. An extension",
  }),
  redactions: z.array(FILE_REDACTION).optional().meta({
    description: "Masked data, in order; only with `redact`. An extension",
  }),
  speakers: z.int().min(0).optional().meta({
    description: "Number of speakers that have words; only with `diarize=true`. An extension",
  }),
  channels: z.array(CHANNEL_TRANSCRIPT).optional().meta({
    description: "The transcript of each channel, in order; only with `channels=split`. An extension",
  }),
});

/** Data of an event `progress`. */
export const TRANSCRIPTION_PROGRESS = z.object({
  share: z.number().min(0).max(1).meta({ description: "Transcribed share of the audio, 0 to 1" }),
});

/** Data of an event `error`. */
export const ERROR_EVENT = z.object({
  code: z.string().meta({ description: "Stable name of the failure, as in `X-Svc-Error`" }),
  detail: z.string(),
  status: z
    .int()
    .meta({ description: "HTTP status that the response would have had before the first event" }),
});

const CONSTANT = "Not measured; present because strict clients reject a segment without it";

/** A segment of `verbose_json`, with members that OpenAI clients require. */
export const VERBOSE_SEGMENT = TRANSCRIPT_SEGMENT.omit({ display_text: true, speaker: true }).extend({
  seek: z.int().meta({ description: "`start` in hundredths of a second" }),
  tokens: z.array(z.int()).meta({ description: `Always empty. ${CONSTANT}` }),
  temperature: z.number().meta({ description: `Always 0. ${CONSTANT}` }),
  avg_logprob: z.number().meta({ description: `Always 0. ${CONSTANT}` }),
  compression_ratio: z.number().meta({ description: `Always 1. ${CONSTANT}` }),
  no_speech_prob: z.number().meta({ description: `Always 0. ${CONSTANT}` }),
});

export const PLAIN_TRANSCRIPT = z.object({ text: z.string() });

export const VERBOSE_TRANSCRIPT = z.object({
  task: z.literal("transcribe"),
  language: z
    .enum(["kazakh", "russian"])
    .nullable()
    .meta({ description: "Language of most words; null without words" }),
  duration: z.number().meta({ description: "Seconds" }),
  text: z.string().meta({ description: "Readable with `display=true`, else lowercase and unpunctuated" }),
  segments: z
    .array(VERBOSE_SEGMENT)
    .meta({ description: "Empty if `timestamp_granularities` lists `word` alone" }),
  words: z.array(FILE_WORD).meta({
    description:
      "With `display=true`, words of the readable text. Empty if `timestamp_granularities` lists `segment` alone",
  }),
  redactions: z.array(FILE_REDACTION).optional().meta({
    description: "Masked data, in order; only with `redact`. An extension",
  }),
});

/** Event of a streamed transcription: a piece of text. */
export const TRANSCRIPT_DELTA = z.object({
  type: z.literal("transcript.text.delta"),
  delta: z.string(),
});

/** Last event of a streamed transcription. */
export const TRANSCRIPT_DONE = z.object({
  type: z.literal("transcript.text.done"),
  text: z.string(),
  usage: z.object({
    type: z.literal("duration"),
    seconds: z.number().meta({ description: "Billed duration" }),
  }),
});

export type FileTimedWord = DeepReadonly<z.output<typeof FILE_WORD>>;
export type TranscriptSegment = DeepReadonly<z.output<typeof TRANSCRIPT_SEGMENT>>;
/** Answer of `/v1/transcribe`, member by member as the interface names them. */
export type Transcription = DeepReadonly<z.output<typeof TRANSCRIPTION>>;
export type ErrorEvent = z.output<typeof ERROR_EVENT>;
export type VerboseTranscript = DeepReadonly<z.output<typeof VERBOSE_TRANSCRIPT>>;
export type VerboseSegment = DeepReadonly<z.output<typeof VERBOSE_SEGMENT>>;
