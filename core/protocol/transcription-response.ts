import type {
  BilledTranscript,
  FileTranscript,
  ReadableWord,
  TranscribedSegment,
} from "../domain/decoding/transcript.js";
import type { TimedWord } from "../domain/decoding/words.js";
import { ratio, roundedTimes, seconds } from "../domain/rounded.js";
import { displayLine } from "../domain/text/display/display-text.js";
import type { Transcription, TranscriptSegment, VerboseSegment } from "./transcription-schemas.js";

/** Only `audio_seconds` is not rounded, because it is billed. @param wantsTimes adds words and segments */
export function toTranscription(transcript: BilledTranscript, wantsTimes: boolean): Transcription {
  const { sampleCountIn, sampleRateInHz, processingSeconds } = transcript;
  const audioSeconds = sampleCountIn / sampleRateInHz;
  const plain = {
    text: joinedText(transcript),
    model: transcript.modelId,
    audio_seconds: audioSeconds,
    processing_seconds: seconds(processingSeconds),
    rtf: audioSeconds > 0 ? ratio(processingSeconds / audioSeconds) : null,
    x_realtime: processingSeconds > 0 ? ratio(audioSeconds / processingSeconds) : null,
    chunks: transcript.segments.length,
    sample_rate_in: sampleRateInHz,
    credits_charged: transcript.creditsCharged,
    ...(transcript.isDisplayed && { display_text: displayText(transcript.segments) }),
    ...(transcript.speakerCount !== undefined && { speakers: transcript.speakerCount }),
    ...(transcript.redactions !== undefined && { redactions: transcript.redactions.map(roundedTimes) }),
  };
  if (!wantsTimes) return plain;
  return {
    ...plain,
    words: allWords(transcript),
    segments: toSegments(transcript),
    ...(transcript.isDisplayed && { display_words: displayWords(transcript) }),
  };
}

/**
 * Adds members without which strict clients reject a segment, and by which others drop text. The recognizer
 * has no such values, so they are set so that nothing is dropped; `seek` counts hundredths of a second.
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
  return transcript.segments.flatMap(({ readable = [] }) => readable.map(roundedTimes));
}

function allWords(transcript: FileTranscript): readonly (TimedWord & { readonly speaker?: number })[] {
  return transcript.segments.flatMap(({ words }) =>
    words.map(({ word, start, end, speaker }) => ({
      ...{ word, start: seconds(start), end: seconds(end) },
      ...(speaker !== undefined && { speaker }),
    })),
  );
}

function toSegments(transcript: FileTranscript): readonly TranscriptSegment[] {
  return transcript.segments.map((segment, id) => {
    const { text, startSeconds, endSeconds, readable, speaker } = segment;
    return {
      ...{ id, text, start: seconds(startSeconds), end: seconds(endSeconds) },
      ...(readable !== undefined && { display_text: displayLine(readable.map(({ word }) => word)) }),
      ...(speaker !== undefined && { speaker }),
    };
  });
}
