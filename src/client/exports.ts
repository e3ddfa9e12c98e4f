// Names that the library exports for every platform.
export type { AudioSource } from "./audio-source.js";
export type {
  ClientOptions,
  SpeakOptions,
  SpeakStreamOptions,
  Transcribed,
  TranscribeOptions,
  UsageOptions,
} from "./client.js";
export * from "./errors.js";
export type { JobListOptions, JobOptions, Jobs, JobWaitOptions } from "./jobs.js";
export type { LiveDone, LiveOptions, LiveStatus } from "./live-options.js";
export { type LiveSentence, liveSentences, type SentencePart } from "./live-sentences.js";
export type { LiveSpeech } from "./live-speech.js";
export type {
  CancelledSpeech,
  CancelOptions,
  LiveSpeechFrame,
  LiveSpeechOptions,
  SentSpeech,
  SpokenTurn,
} from "./live-speech-types.js";
export type { LiveTranscription } from "./live-transcription.js";
export type { HotWord } from "./query.js";
export type { BilledOptions, CallOptions } from "./requester.js";
export { type SubtitleOptions, toSrt, toVtt, type WordsToShow } from "./subtitles.js";
export type { UploadProgress } from "./transport.js";
export type * from "./types.js";
export type { Vocabulary, VocabularyWords } from "./vocabulary.js";
