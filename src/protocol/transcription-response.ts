import type { TimedWord } from "../domain/decoding/words.js";
import type { FileTranscript } from "../ports/transcriber.js";

export interface TranscriptSegment {
  readonly id: number;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Answer of `/v1/transcribe`, member by member as the interface names them. */
export interface Transcription {
  readonly text: string;
  readonly model: string;
  readonly audio_seconds: number;
  readonly processing_seconds: number;
  readonly rtf: number | null;
  readonly x_realtime: number | null;
  readonly chunks: number;
  readonly sample_rate_in: number;
  readonly credits_charged: number;
  readonly words?: readonly TimedWord[];
  readonly segments?: readonly TranscriptSegment[];
}

export type TimedTranscript = FileTranscript & {
  readonly processingSeconds: number;
  readonly creditsCharged: number;
};

/** @param wantsTimes adds words and segments */
export function toTranscription(transcript: TimedTranscript, wantsTimes: boolean): Transcription {
  const { sampleCountIn, sampleRateInHz, processingSeconds } = transcript;
  const audioSeconds = sampleCountIn / sampleRateInHz;
  const plain = {
    text: joinedText(transcript),
    model: transcript.modelId,
    audio_seconds: audioSeconds,
    processing_seconds: processingSeconds,
    rtf: audioSeconds > 0 ? processingSeconds / audioSeconds : null,
    x_realtime: processingSeconds > 0 ? audioSeconds / processingSeconds : null,
    chunks: transcript.segments.length,
    sample_rate_in: sampleRateInHz,
    credits_charged: transcript.creditsCharged,
  };
  return wantsTimes ? { ...plain, words: allWords(transcript), segments: toSegments(transcript) } : plain;
}

/** Billing in headers, the same on every transcription path. */
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

function allWords(transcript: FileTranscript): readonly TimedWord[] {
  return transcript.segments.flatMap((segment) =>
    segment.words.map(({ word, start, end }) => ({ word, start, end })),
  );
}

function toSegments(transcript: FileTranscript): readonly TranscriptSegment[] {
  return transcript.segments.map((segment, id) => {
    return { id, text: segment.text, start: segment.startSeconds, end: segment.endSeconds };
  });
}
