// Names that the library exports for every platform. Types of the wire format are written out, and a test
// compares them with the protocol's schemas, so that users of the library need no schema library.
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
export type * from "./job-types.js";
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
export type * from "./live-types.js";
export type { HotWord } from "./query.js";
export type { BilledOptions, CallOptions } from "./requester.js";
export type * from "./service-types.js";
export type * from "./speech-types.js";
export { type SubtitleOptions, toSrt, toVtt, type WordsToShow } from "./subtitles.js";
export type * from "./transcription-types.js";
export type { UploadProgress } from "./transport.js";
export type { Vocabulary, VocabularyWords } from "./vocabulary.js";
