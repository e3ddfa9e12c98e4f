import { type AudioBody, type AudioSource, audioBodyOf, headerName, isUrl } from "./audio-source.js";
import { ApiError } from "./errors.js";
import { Jobs } from "./jobs.js";
import type { LiveOptions } from "./live-options.js";
import type { LiveEndpoint } from "./live-socket.js";
import { LiveSpeech } from "./live-speech.js";
import type { LiveSpeechOptions } from "./live-speech-types.js";
import { LiveTranscription } from "./live-transcription.js";
import type { StreamToken } from "./live-types.js";
import type { Platform } from "./platform.js";
import { queryOf, type RecordingOptions, transcribeQuery, urlOf } from "./query.js";
import { type BilledOptions, type CallOptions, Requester, type RequestPlan } from "./requester.js";
import type {
  Balance,
  Health,
  KeyInfo,
  Model,
  Readiness,
  Recognizer,
  Usage,
  Voices,
} from "./service-types.js";
import { readSpeech, readSpeechFrames, readTimedSpeech } from "./speech.js";
import type { Speech, SpeechFrame, SpeechRequest } from "./speech-types.js";
import { ACCEPT_EVENTS, readTranscript } from "./transcript-events.js";
import type { Transcription } from "./transcription-types.js";
import { Vocabulary } from "./vocabulary.js";

export interface ClientOptions {
  /** Address of the service, such as "https://speech.example.org"; may include a path. */
  readonly baseUrl: string;
  /** Address of file transcription, if different. */
  readonly sttUrl?: string | undefined;
  /** Address of live transcription, if different: an http, https, ws or wss URL. */
  readonly streamUrl?: string | undefined;
  /** `sk-svc-...`. Anyone with the key can spend your credits, so never put it into a page. */
  readonly apiKey?: string | undefined;
  /**
   * Gets a token for each live connection from your server, which creates it with its key. Default: the
   * client creates it with `apiKey`.
   */
  readonly streamToken?: ((signal: AbortSignal) => Promise<string>) | undefined;
  /** Timeout of a request in milliseconds, including retries; default 120,000. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds until a live session must be ready; default 60,000. */
  readonly liveOpenTimeoutMs?: number | undefined;
  /** Retries of a failed request; default 2. */
  readonly maxRetries?: number | undefined;
}

export interface SpeakOptions extends BilledOptions {
  /** Adds `words` with their times, for free. Rejected for models that do not support word times. */
  readonly timestamps?: boolean | undefined;
  /** Format of the samples in each WAV; default `linear16`, 16-bit PCM. G.711 is for telephone lines. */
  readonly encoding?: "linear16" | "mulaw" | "alaw" | undefined;
  /**
   * Sample rate in Hz: 8,000, 16,000, 24,000, 32,000 or 48,000; G.711: 8,000 or 16,000. Default 24,000;
   * G.711: 8,000.
   */
  readonly sampleRateHz?: number | undefined;
}

export interface SpeakStreamOptions extends SpeakOptions {
  /**
   * Content of a frame: a whole sentence (default), or with `chunks` part of one, so that playback can start
   * before the sentence is complete.
   */
  readonly frames?: "sentences" | "chunks" | undefined;
}

export interface TranscribeOptions extends RecordingOptions {
  /**
   * Called with the transcribed share of the audio, 0 to 1; restarts at 0 if the service retries. If set,
   * `timeoutMs` limits the time between two events.
   */
  readonly onProgress?: ((share: number) => void) | undefined;
}

export interface UsageOptions extends CallOptions {
  /** First day, UTC, such as `2026-11-21`; default: 29 days before `to`. */
  readonly from?: string | undefined;
  /** Last day, UTC; default: today. */
  readonly to?: string | undefined;
}

interface Models {
  readonly data: readonly Model[];
  readonly transcription: readonly Recognizer[];
}

/** A transcription, plus data from its response headers. */
export type Transcribed = Transcription & {
  /** `x-request-id`, by which the ledger identifies the charge. */
  readonly request_id: string | null;
  /** Whether this call was free because the same idempotency key had already been charged. */
  readonly is_replayed: boolean;
};

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_LIVE_OPEN_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_RETRIES = 2;

/**
 * Calls the service's HTTP and WebSocket API. Asynchronous methods accept an `AbortSignal`. They reject with
 * an `ApiError` if the service rejects the request, a `ConnectionError` if it cannot be reached, and a
 * `RequestTimeoutError` if it takes too long. Transient failures are retried and charged only once.
 */
export class ServiceClient {
  /** Transcriptions that continue after their request ends. */
  readonly jobs: Jobs;
  /** Hot words and pronunciations for all requests of the organization. */
  readonly vocabulary: Vocabulary;
  readonly #requester: Requester;
  readonly #live: LiveEndpoint;
  readonly #baseUrl: URL;
  readonly #sttUrl: URL;
  readonly #authorization: Readonly<Record<string, string>>;

  /** @throws {TypeError} if an address is not an http or https URL */
  constructor(options: ClientOptions, platform: Platform) {
    this.#baseUrl = serviceUrl(options.baseUrl);
    this.#sttUrl = serviceUrl(options.sttUrl ?? options.baseUrl);
    const { apiKey } = options;
    this.#authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    this.#requester = new Requester(platform.transport, {
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      maxRetries: options.maxRetries ?? DEFAULT_MAX_RETRIES,
    });
    const { audioBodyOf: bodyOf = audioBodyOf } = platform;
    const parts = { requester: this.#requester, url: this.#sttUrl, authorization: this.#authorization };
    this.jobs = new Jobs<AudioSource>({ ...parts, bodyOf });
    this.vocabulary = new Vocabulary({ ...parts, url: this.#baseUrl });
    const ownToken = async (signal: AbortSignal) => (await this.streamToken({ signal })).token;
    this.#live = {
      url: serviceUrl(options.streamUrl ?? options.baseUrl),
      openSocket: platform.openSocket,
      credential:
        options.streamToken ??
        (platform.socketTakesKey && apiKey !== undefined ? async () => apiKey : ownToken),
      openTimeoutMs: options.liveOpenTimeoutMs ?? DEFAULT_LIVE_OPEN_TIMEOUT_MS,
    };
  }

  /** Synthesizes a text into one WAV. Costs 2 credits per 5 characters. */
  async speak(request: SpeechRequest, options: SpeakOptions = {}): Promise<Speech> {
    const response = await this.#requester.open(this.#speechPlan("v1/tts", request, options), options);
    return options.timestamps === true ? readTimedSpeech(response) : readSpeech(response);
  }

  /**
   * Synthesizes a text and yields each sentence or chunk as soon as it is ready. The request is sent when the
   * loop starts, and aborted if the caller leaves the loop.
   */
  async *speakStream(
    request: SpeechRequest,
    options: SpeakStreamOptions = {},
  ): AsyncGenerator<SpeechFrame, void> {
    const plan = this.#speechPlan("v1/tts/stream", request, options);
    yield* readSpeechFrames(await this.#requester.open(plan, options));
  }

  /** Speaks text that arrives in pieces, such as an assistant's reply. Costs the same as `speak`. */
  speakLive(options: LiveSpeechOptions = {}): LiveSpeech {
    return new LiveSpeech({ ...this.#live, url: this.#baseUrl }, options);
  }

  /** Transcribes a recording of at most 2 hours. Costs 2.5 credits per second of audio. */
  async transcribe(source: AudioSource, options: TranscribeOptions = {}): Promise<Transcribed> {
    if (!isUrl(source)) return this.transcribeBody(audioBodyOf(source), options);
    const query = queryOf(transcribeQuery(options));
    query.set("url", source.url);
    return this.#transcribed({ method: "POST", url: this.#transcribeUrl(query) }, options);
  }

  /** Transcribes live 16-bit mono PCM at 16 kHz. Costs 6 credits per second of audio. */
  live(options: LiveOptions = {}): LiveTranscription {
    return new LiveTranscription(this.#live, options);
  }

  /** Lists the speech models, starting with the default. Needs no key. */
  async models(options: CallOptions = {}): Promise<readonly Model[]> {
    return (await this.#get<Models>("v1/models", options)).data;
  }

  /** Lists the recognition models, starting with the default. Needs no key. */
  async recognizers(options: CallOptions = {}): Promise<readonly Recognizer[]> {
    return (await this.#get<Models>("v1/models", options)).transcription;
  }

  /** Lists the voices of a speech model, by default the service's default model. Needs no key. */
  async voices(options: CallOptions & { readonly model?: string | undefined } = {}): Promise<Voices> {
    return this.#get<Voices>("v1/voices", options, { query: queryOf({ model: options.model }) });
  }

  /** Checks that the service is up. Needs no key. */
  async health(options: CallOptions = {}): Promise<Health> {
    return this.#get<Health>("health", options);
  }

  /** Returns whether the service accepts work now, and if not, why. Needs no key. Not retried by default. */
  async readiness(options: CallOptions = {}): Promise<Readiness> {
    try {
      await this.#get("ready", { maxRetries: 0, ...options });
      return { isReady: true, detail: null };
    } catch (error) {
      if (error instanceof ApiError && error.status === 503) return { isReady: false, detail: error.detail };
      throw error;
    }
  }

  /** Returns the credits of the key's organization. */
  async balance(options: CallOptions = {}): Promise<Balance> {
    return this.#get<Balance>("v1/balance", options, { headers: this.#authorization });
  }

  /** Returns the key's limits and its usage this month. */
  async key(options: CallOptions = {}): Promise<KeyInfo> {
    return this.#get<KeyInfo>("v1/key", options, { headers: this.#authorization });
  }

  /** Returns the usage of the key's organization by day. */
  async usage(options: UsageOptions = {}): Promise<Usage> {
    const query = queryOf({ from: options.from || undefined, to: options.to || undefined });
    return this.#get<Usage>("v1/usage", options, { query, headers: this.#authorization });
  }

  /** Returns a token that a server can pass to its pages; it opens one live socket within 60 s. */
  async streamToken(options: CallOptions = {}): Promise<StreamToken> {
    const url = urlOf(this.#baseUrl, "v1/stream/token");
    const response = await this.#requester.open(
      { method: "POST", url, headers: this.#authorization },
      options,
    );
    return (await response.json()) as StreamToken;
  }

  protected async transcribeBody(
    { body, fileName }: AudioBody,
    options: TranscribeOptions,
  ): Promise<Transcribed> {
    const headers = {
      "content-type": "application/octet-stream",
      "x-filename": headerName(options.fileName ?? fileName ?? "audio.wav"),
    };
    const url = this.#transcribeUrl(queryOf(transcribeQuery(options)));
    return this.#transcribed({ method: "POST", url, headers, body }, options);
  }

  async #transcribed(plan: RequestPlan, options: TranscribeOptions): Promise<Transcribed> {
    const { onUploadProgress, onProgress, idempotencyKey } = options;
    const accept = onProgress === undefined ? {} : ACCEPT_EVENTS;
    const headers = { ...plan.headers, ...this.#authorization, ...accept };
    const billed = { ...plan, headers, isBilled: true, idempotencyKey, onUploadProgress };
    const { response, value: transcription } = await this.#requester.read(billed, options, (opened) =>
      onProgress === undefined
        ? (opened.json() as Promise<Transcription>)
        : readTranscript(opened, onProgress),
    );
    const isReplayed = response.header("idempotent-replayed") === "true";
    return { ...transcription, request_id: response.requestId, is_replayed: isReplayed };
  }

  #transcribeUrl(query: URLSearchParams): URL {
    return urlOf(this.#sttUrl, "v1/transcribe", query);
  }

  #speechPlan(path: string, request: SpeechRequest, options: SpeakStreamOptions): RequestPlan {
    const { timestamps = false, frames, encoding, sampleRateHz, idempotencyKey } = options;
    const query = { timestamps: timestamps || undefined, frames, encoding, sample_rate: sampleRateHz };
    return {
      method: "POST",
      url: urlOf(this.#baseUrl, path, queryOf(query)),
      headers: { "content-type": "application/json", ...this.#authorization },
      body: { type: "bytes", bytes: new TextEncoder().encode(JSON.stringify(request)) },
      isBilled: true,
      idempotencyKey,
    };
  }

  async #get<T>(
    path: string,
    options: CallOptions,
    {
      query,
      headers = {},
    }: { readonly query?: URLSearchParams; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<T> {
    const plan: RequestPlan = { method: "GET", url: urlOf(this.#baseUrl, path, query), headers };
    const response = await this.#requester.open(plan, options);
    return (await response.json()) as T;
  }
}

/** Returns an address with a trailing slash, so that relative paths keep its own path. */
function serviceUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null) url.protocol = url.protocol.replace(/^ws/, "http");
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`the service address must start with http:// or https://, received "${text}"`);
  }
  // The lookbehind matches only at the first slash of a run; matching at every slash takes quadratic time.
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "")}/`;
  return url;
}
