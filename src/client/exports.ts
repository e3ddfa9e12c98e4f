// Names that the library exports for every platform.
export type { AudioSource } from "./audio-source.js";
export type {
  BilledOptions,
  ClientOptions,
  RawFormat,
  SpeakOptions,
  SpeakStreamOptions,
  Transcribed,
  TranscribeOptions,
  UsageOptions,
} from "./client.js";
export * from "./errors.js";
export type { LiveDone, LiveOptions, LiveStatus } from "./live-options.js";
export { type LiveSentence, liveSentences, type SentencePart } from "./live-sentences.js";
export type { LiveTranscription } from "./live-transcription.js";
export type { HotWord } from "./query.js";
export type { CallOptions } from "./requester.js";
export { type SubtitleOptions, toSrt, toVtt, type WordsToShow } from "./subtitles.js";
export type { UploadProgress } from "./transport.js";
export type * from "./types.js";
