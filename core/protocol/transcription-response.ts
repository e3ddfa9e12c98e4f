import type {
  BilledTranscript,
  FileTranscript,
  ReadableWord,
  TranscribedSegment,
} from "../domain/decoding/transcript.js";
import { ratio, roundedTimes, seconds } from "../domain/rounded.js";
import { displayLine } from "../domain/text/display/display-text.js";
import type {
  FileTimedWord,
  Transcription,
  TranscriptSegment,
  VerboseSegment,
} from "./transcription-schemas.js";

/**
 * Renders a transcript. Only `audio_seconds` is not rounded: it is billed. @param wantsTimes adds words,
 * segments
 */
export function toTranscription(transcript: BilledTranscript, wantsTimes: boolean): Transcription {
  const { sampleCountIn, sampleRateInHz, processingSeconds, channelCount } = transcript;
  const audioSeconds = sampleCountIn / sampleRateInHz;
  return {
    text: joinedText(transcript),
    model: transcript.modelId,
    audio_seconds: audioSeconds,
    processing_seconds: seconds(processingSeconds),
    rtf: audioSeconds > 0 ? ratio(processingSeconds / audioSeconds) : null,
    x_realtime: processingSeconds > 0 ? ratio(audioSeconds / processingSeconds) : null,
    chunks: transcript.segments.length,
    sample_rate_in: sampleRateInHz,
    credits_charged: transcript.creditsCharged,
    ...(transcript.speakerCount !== undefined && { speakers: transcript.speakerCount }),
    ...optionalMembers(transcript, wantsTimes),
    ...(channelCount !== undefined && {
      channels: Array.from({ length: channelCount }, (_, channel) => {
        const own = ofChannel(transcript, channel);
        return { channel, text: joinedText(own), ...optionalMembers(own, wantsTimes) };
      }),
    }),
  };
}

/** Returns the part of a transcript that belongs to one channel. */
export function ofChannel(transcript: FileTranscript, channel: number): FileTranscript {
  const { segments, redactions } = transcript;
  return {
    ...transcript,
    segments: segments.filter((segment) => segment.channel === channel),
    ...(redactions !== undefined && {
      redactions: redactions.filter((redaction) => redaction.channel === channel),
    }),
  };
}

type OptionalMembers = Pick<
  Transcription,
  "display_text" | "redactions" | "words" | "segments" | "display_words"
>;

function optionalMembers(transcript: FileTranscript, wantsTimes: boolean): OptionalMembers {
  const { isDisplayed = false, segments, redactions } = transcript;
  return {
    ...(isDisplayed && { display_text: displayText(segments) }),
    ...(redactions !== undefined && { redactions: redactions.map(roundedTimes) }),
    ...(wantsTimes && { words: allWords(transcript), segments: toSegments(transcript) }),
    ...(wantsTimes && isDisplayed && { display_words: displayWords(transcript) }),
  };
}

/**
 * Adds members without which strict clients reject a segment. The recognizer has no such values, so they are
 * set so that clients do not drop any text; `seek` counts hundredths of a second.
 */
export function toVerboseSegment(segment: TranscriptSegment): VerboseSegment {
  const neutral = { tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 };
  return { ...segment, seek: Math.round(segment.start * 100), ...neutral };
}

/** Billing headers of every transcription path. */
export function usageHeaders(transcription: Transcription): Record<string, string> {
  return {
    "x-svc-audio-seconds": String(transcription.audio_seconds),
    "x-svc-credits": String(transcription.credits_charged),
    "x-svc-model": transcription.model,
    ...(transcription.channels !== undefined && { "x-svc-channels": String(transcription.channels.length) }),
  };
}

function joinedText(transcript: FileTranscript): string {
  const texts = transcript.segments.map((segment) => segment.text);
  return texts.filter((text) => text !== "").join(" ");
}

function displayText(segments: readonly TranscribedSegment[]): string {
  const texts = segments.map(({ readable = [] }) => displayLine(readable.map(({ word }) => word)));
  return texts.filter((text) => text !== "").join(" ");
}

function displayWords(transcript: FileTranscript): readonly ReadableWord[] {
  return transcript.segments.flatMap(({ channel, readable = [] }) =>
    readable.map((word) => ({ ...roundedTimes(word), ...channelMember(channel) })),
  );
}

function allWords(transcript: FileTranscript): readonly FileTimedWord[] {
  return transcript.segments.flatMap(({ channel, words }) =>
    words.map(({ word, start, end, speaker }) => ({
      ...{ word, start: seconds(start), end: seconds(end) },
      ...channelMember(channel),
      ...(speaker !== undefined && { speaker }),
    })),
  );
}

function channelMember(channel: number | undefined): { readonly channel?: number } {
  return channel === undefined ? {} : { channel };
}

function toSegments(transcript: FileTranscript): readonly TranscriptSegment[] {
  return transcript.segments.map((segment, id) => {
    const { channel, text, startSeconds, endSeconds, readable, speaker } = segment;
    return {
      ...{ id, text, start: seconds(startSeconds), end: seconds(endSeconds), ...channelMember(channel) },
      ...(readable !== undefined && { display_text: displayLine(readable.map(({ word }) => word)) }),
      ...(speaker !== undefined && { speaker }),
    };
  });
}
