import type { z } from "zod";
import { BALANCE, KEY_INFO, USAGE, USAGE_ROW } from "./account-schemas.js";
import {
  AUDIO_MODELS,
  AUDIO_VOICES,
  DEEPGRAM_ERROR,
  ERROR,
  HEALTH,
  MODEL,
  MODELS,
  OPENAI_ERROR,
  READINESS,
  RECOGNIZER,
  STREAM_TOKEN,
  VOICE_ENTRY,
  VOICES,
} from "./catalog-schemas.js";
import { JOB, JOB_END, JOB_ERROR, JOBS, WEBHOOK, WEBHOOK_SECRET } from "./job-schemas.js";
import { LISTEN_TRANSCRIPT, LISTEN_URL } from "./listen-file-schemas.js";
import { LISTEN_CLIENT_MESSAGE, LISTEN_SERVER_MESSAGE } from "./listen-messages.js";
import {
  CLIENT_SECRET,
  CLIENT_SECRET_REQUEST,
  REALTIME_CLIENT_EVENT,
  REALTIME_SERVER_EVENT,
  TRANSCRIPTION_SESSION,
  TRANSCRIPTION_SESSION_REQUEST,
} from "./realtime-events.js";
import { SPEAK_CLIENT_MESSAGE, SPEAK_SERVER_MESSAGE } from "./speak-messages.js";
import { SPEAK_REQUEST } from "./speak-query.js";
import { SPEECH_DELTA, SPEECH_DONE, SPEECH_REQUEST } from "./speech-request.js";
import { STREAM_CLIENT_MESSAGE, STREAM_SERVER_MESSAGE } from "./stream-messages.js";
import { SYNTHESIS_REQUEST } from "./synthesis-request.js";
import { TIMED_SPEECH, WORD_TIME } from "./timed-speech.js";
import { TRANSCRIPTION_FIELDS } from "./transcription-form.js";
import {
  ERROR_EVENT,
  FILE_WORD,
  PLAIN_TRANSCRIPT,
  TRANSCRIPT_DELTA,
  TRANSCRIPT_DONE,
  TRANSCRIPT_SEGMENT,
  TRANSCRIPTION,
  TRANSCRIPTION_PROGRESS,
  VERBOSE_SEGMENT,
  VERBOSE_TRANSCRIPT,
} from "./transcription-schemas.js";
import { TTS_LIVE_CLIENT_MESSAGE, TTS_LIVE_SERVER_MESSAGE } from "./tts-live-messages.js";
import { TURNS_CLIENT_MESSAGE, TURNS_SERVER_MESSAGE } from "./turns-messages.js";
import { VOCABULARY, VOCABULARY_REQUEST } from "./vocabulary.js";

/** Schemas of the API reference. */
export const COMPONENTS = {
  SynthesisRequest: SYNTHESIS_REQUEST,
  SpeechRequest: SPEECH_REQUEST,
  TimedSpeech: TIMED_SPEECH,
  WordTime: WORD_TIME,
  Transcription: TRANSCRIPTION,
  Word: FILE_WORD,
  TranscriptSegment: TRANSCRIPT_SEGMENT,
  TranscriptionProgress: TRANSCRIPTION_PROGRESS,
  ErrorEvent: ERROR_EVENT,
  TranscriptionFields: TRANSCRIPTION_FIELDS,
  PlainTranscript: PLAIN_TRANSCRIPT,
  VerboseTranscript: VERBOSE_TRANSCRIPT,
  VerboseSegment: VERBOSE_SEGMENT,
  TranscriptDelta: TRANSCRIPT_DELTA,
  TranscriptDone: TRANSCRIPT_DONE,
  SpeechDelta: SPEECH_DELTA,
  SpeechDone: SPEECH_DONE,
  Model: MODEL,
  Recognizer: RECOGNIZER,
  Models: MODELS,
  Voice: VOICE_ENTRY,
  Voices: VOICES,
  AudioModels: AUDIO_MODELS,
  AudioVoices: AUDIO_VOICES,
  Health: HEALTH,
  Readiness: READINESS,
  StreamToken: STREAM_TOKEN,
  Balance: BALANCE,
  KeyInfo: KEY_INFO,
  Usage: USAGE,
  UsageRow: USAGE_ROW,
  Vocabulary: VOCABULARY,
  VocabularyRequest: VOCABULARY_REQUEST,
  Job: JOB,
  JobError: JOB_ERROR,
  Jobs: JOBS,
  JobEnd: JOB_END,
  Webhook: WEBHOOK,
  WebhookSecret: WEBHOOK_SECRET,
  StreamClientMessage: STREAM_CLIENT_MESSAGE,
  StreamServerMessage: STREAM_SERVER_MESSAGE,
  ListenClientMessage: LISTEN_CLIENT_MESSAGE,
  ListenServerMessage: LISTEN_SERVER_MESSAGE,
  ListenUrl: LISTEN_URL,
  ListenTranscript: LISTEN_TRANSCRIPT,
  SpeakRequest: SPEAK_REQUEST,
  SpeakClientMessage: SPEAK_CLIENT_MESSAGE,
  SpeakServerMessage: SPEAK_SERVER_MESSAGE,
  TtsLiveClientMessage: TTS_LIVE_CLIENT_MESSAGE,
  TtsLiveServerMessage: TTS_LIVE_SERVER_MESSAGE,
  TurnsClientMessage: TURNS_CLIENT_MESSAGE,
  TurnsServerMessage: TURNS_SERVER_MESSAGE,
  RealtimeClientEvent: REALTIME_CLIENT_EVENT,
  RealtimeServerEvent: REALTIME_SERVER_EVENT,
  ClientSecretRequest: CLIENT_SECRET_REQUEST,
  ClientSecret: CLIENT_SECRET,
  TranscriptionSessionRequest: TRANSCRIPTION_SESSION_REQUEST,
  TranscriptionSession: TRANSCRIPTION_SESSION,
  Error: ERROR,
  OpenAiError: OPENAI_ERROR,
  DeepgramError: DEEPGRAM_ERROR,
} as const satisfies Record<string, z.ZodType>;

export type ComponentName = keyof typeof COMPONENTS;
