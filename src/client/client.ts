import { type AudioSource, headerName, type OpenSource, openSource } from "./audio-source.js";
import { ApiError } from "./errors.js";
import { type HotWord, writtenHotWords } from "./hot-words.js";
import { LiveConnector } from "./live-connector.js";
import type { LiveOptions } from "./live-options.js";
import { LiveTranscription } from "./live-transcription.js";
import { type CallOptions, Requester, type RequestPlan } from "./requester.js";
import { readSpeech, readSpeechFrames, readTimedSpeech } from "./speech.js";
import { EVENTS_FIRST, readTranscript } from "./transcript-events.js";
import type { Platform, RequestBody, UploadProgress } from "./transport.js";
import type {
  Balance,
  Health,
  Model,
  Readiness,
  Recognizer,
  Speech,
  SpeechFrame,
  SpeechRequest,
  StreamToken,
  Transcription,
  Usage,
  Voices,
} from "./types.js";

export interface ClientOptions {
  /** Address of the service, "https://speech.example.org"; a path in it is kept. */
  readonly baseUrl: string;
  /** Address of file transcription, where that is served elsewhere. */
  readonly sttUrl?: string | undefined;
  /** Address of live transcription, where that is served elsewhere; http or https, ws or wss. */
  readonly streamUrl?: string | undefined;
  /** `sk-svc-...`. It grants billable use: never put one into a page. */
  readonly apiKey?: string | undefined;
  /**
   * Gets the token for each live connection from a server of yours, which asks for it with the key. Without it the
   * client asks by itself, with its `apiKey`.
   */
  readonly streamToken?: ((signal: AbortSignal) => Promise<string>) | undefined;
  /** Milliseconds a request may take, retries included; 120,000 when absent. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds until a live session must be ready; 60,000 when absent. */
  readonly liveOpenTimeoutMs?: number | undefined;
  /** How often a request that failed is tried again; 2 when absent. */
  readonly maxRetries?: number | undefined;
}

export interface BilledOptions extends CallOptions {
  /**
   * Your own name for this work, 1 to 255 printable ASCII characters. For 24 hours the same request under the same name is
   * charged once and gets the same answer, also from another process. Each call has a random one when absent.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface SpeakOptions extends BilledOptions {
  /** Adds `words` with their times, at no cost. Refused for models that do not tell when they say a word. */
  readonly timestamps?: boolean | undefined;
}

export interface SpeakStreamOptions extends SpeakOptions {
  /**
   * What a frame holds: a sentence, or with `chunks` as much of one as is made, so that the first is there at once and the
   * rest follows while it is heard. Sentences when absent.
   */
  readonly frames?: "sentences" | "chunks" | undefined;
}

export interface TranscribeOptions extends BilledOptions {
  /** Id of a model that transcribes; the service's default when absent. */
  readonly model?: string | undefined;
  /** Adds `words` and `segments`, at no cost. */
  readonly timestamps?: boolean | undefined;
  /** Words and phrases to be preferred, at most 100, in letters of the model. */
  readonly hotWords?: readonly HotWord[] | undefined;
  /** Only its ending matters, which names the container; the source's own name, or `audio.wav`, when absent. */
  readonly fileName?: string | undefined;
  /** Told as the upload goes on. */
  readonly onUploadProgress?: ((progress: UploadProgress) => void) | undefined;
  /**
   * Told the share of the audio that is transcribed, 0 to 1, as it grows; from 0 again when the service tries once more. With
   * it `timeoutMs` is the time between two signs of life.
   */
  readonly onProgress?: ((share: number) => void) | undefined;
}

export interface UsageOptions extends CallOptions {
  /** First day, UTC, `2026-11-21`; 29 days before `to` when absent. */
  readonly from?: string | undefined;
  /** Last day, UTC; today when absent. */
  readonly to?: string | undefined;
}

interface Models {
  readonly data: readonly Model[];
  readonly transcription: readonly Recognizer[];
}

/** A transcription, and what its answer says beside it. */
export type Transcribed = Transcription & {
  /** `x-request-id`, under which the ledger keeps the charge. */
  readonly request_id: string | null;
  /** Whether this call cost nothing, since the same work was charged before under its idempotency key. */
  readonly is_replayed: boolean;
};

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_LIVE_OPEN_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_RETRIES = 2;

/**
 * The service's interface as methods. Every method that waits takes an `AbortSignal`, and rejects with an `ApiError`
 * when the service refuses, a `ConnectionError` when it cannot be reached, a `RequestTimeoutError` when it takes too
 * long. What may heal is tried again, and billed work is not charged twice for that.
 */
export class ServiceClient {
  readonly #requester: Requester;
  readonly #connector: LiveConnector;
  readonly #baseUrl: URL;
  readonly #sttUrl: URL;
  readonly #authorization: Readonly<Record<string, string>>;

  /** @throws {TypeError} when an address is not one of http or https */
  constructor(options: ClientOptions, platform: Platform) {
    this.#baseUrl = serviceUrl(options.baseUrl);
    this.#sttUrl = serviceUrl(options.sttUrl ?? options.baseUrl);
    const { apiKey } = options;
    this.#authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    this.#requester = new Requester(platform.transport, {
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      maxRetries: options.maxRetries ?? DEFAULT_MAX_RETRIES,
    });
    const ownToken = async (signal: AbortSignal) => (await this.streamToken({ signal })).token;
    this.#connector = new LiveConnector({
      url: serviceUrl(options.streamUrl ?? options.baseUrl),
      openSocket: platform.openSocket,
      credential:
        options.streamToken ??
        (platform.socketTakesKey && apiKey !== undefined ? async () => apiKey : ownToken),
      openTimeoutMs: options.liveOpenTimeoutMs ?? DEFAULT_LIVE_OPEN_TIMEOUT_MS,
    });
  }

  /** Says a text; settles with one WAV when all of it is spoken. Costs 2 credits per 5 characters. */
  async speak(request: SpeechRequest, options: SpeakOptions = {}): Promise<Speech> {
    const answer = await this.#requester.open(this.#speechPlan("v1/tts", request, options), options);
    return options.timestamps === true ? readTimedSpeech(answer) : readSpeech(answer);
  }

  /**
   * Says a text sentence by sentence, or chunk by chunk: each frame comes as soon as it is spoken. The request leaves when
   * the loop begins, and is given up when the loop is left.
   */
  async *speakStream(
    request: SpeechRequest,
    options: SpeakStreamOptions = {},
  ): AsyncGenerator<SpeechFrame, void> {
    const plan = this.#speechPlan("v1/tts/stream", request, options);
    yield* readSpeechFrames(await this.#requester.open(plan, options));
  }

  /** Writes a recording of at most 2 hours down. Costs 2.5 credits per second of audio. */
  async transcribe(source: AudioSource, options: TranscribeOptions = {}): Promise<Transcribed> {
    const query = transcribeQuery(options);
    if (isAddress(source)) {
      query.set("url", source.url);
      return this.#transcribed({ method: "POST", url: this.#transcribeUrl(query) }, options);
    }
    return this.transcribeOpen(openSource(source), options, query);
  }

  /** Live transcription of 16-bit mono PCM at 16 kHz. Costs 6 credits per second of audio. */
  live(options: LiveOptions = {}): LiveTranscription {
    return new LiveTranscription(this.#connector, options);
  }

  /** The models that speak, the default first. Needs no key. */
  async models(options: CallOptions = {}): Promise<readonly Model[]> {
    const { data } = await this.#models(options);
    return data;
  }

  /** The models that transcribe, the default first. Needs no key. */
  async recognizers(options: CallOptions = {}): Promise<readonly Recognizer[]> {
    const { transcription } = await this.#models(options);
    return transcription;
  }

  /** The voices of a model; of the default when absent. Needs no key. */
  async voices(options: CallOptions & { readonly model?: string | undefined } = {}): Promise<Voices> {
    const { model } = options;
    const query = model === undefined ? "" : `?${new URLSearchParams({ model })}`;
    return this.#get<Voices>(`v1/voices${query}`, options);
  }

  /** Whether the service is up. Needs no key. */
  async health(options: CallOptions = {}): Promise<Health> {
    return this.#get<Health>("health", options);
  }

  /** Whether the service takes work now, and if not, why. Needs no key, and is asked once unless `maxRetries` says more. */
  async readiness(options: CallOptions = {}): Promise<Readiness> {
    try {
      await this.#get("ready", { maxRetries: 0, ...options });
      return { isReady: true, detail: null };
    } catch (error) {
      if (error instanceof ApiError && error.status === 503) return { isReady: false, detail: error.detail };
      throw error;
    }
  }

  /** The credits of the organization whose key this is. */
  async balance(options: CallOptions = {}): Promise<Balance> {
    return this.#get<Balance>("v1/balance", options, this.#authorization);
  }

  /** What the organization has used, day by day. */
  async usage(options: UsageOptions = {}): Promise<Usage> {
    const { from, to } = options;
    const query = new URLSearchParams({ ...(from && { from }), ...(to && { to }) });
    return this.#get<Usage>(
      query.size === 0 ? "v1/usage" : `v1/usage?${query}`,
      options,
      this.#authorization,
    );
  }

  /** A token that opens one live socket within 60 s: for a server to hand to its pages. */
  async streamToken(options: CallOptions = {}): Promise<StreamToken> {
    const url = new URL("v1/stream/token", this.#baseUrl);
    const answer = await this.#requester.open({ method: "POST", url, headers: this.#authorization }, options);
    return (await answer.json()) as StreamToken;
  }

  /** A source that is a body already. */
  protected async transcribeOpen(
    { body, fileName }: OpenSource,
    options: TranscribeOptions,
    query: URLSearchParams = transcribeQuery(options),
  ): Promise<Transcribed> {
    const headers = {
      "content-type": "application/octet-stream",
      "x-filename": headerName(options.fileName ?? fileName ?? "audio.wav"),
    };
    return this.#transcribed({ method: "POST", url: this.#transcribeUrl(query), headers, body }, options);
  }

  async #transcribed(plan: RequestPlan, options: TranscribeOptions): Promise<Transcribed> {
    const headers = { ...plan.headers, ...this.#authorization };
    const { onUploadProgress, onProgress, idempotencyKey } = options;
    const billed = { ...plan, headers, isBilled: true, idempotencyKey, onUploadProgress };
    const { answer, value: transcription } =
      onProgress === undefined
        ? await this.#requester.read(billed, options, (opened) => opened.json() as Promise<Transcription>)
        : await this.#requester.read(
            { ...billed, headers: { ...headers, ...EVENTS_FIRST } },
            options,
            (opened) => readTranscript(opened, onProgress),
          );
    const isReplayed = answer.header("idempotent-replayed") === "true";
    return { ...transcription, request_id: answer.requestId, is_replayed: isReplayed };
  }

  #transcribeUrl(query: URLSearchParams): URL {
    return new URL(query.size === 0 ? "v1/transcribe" : `v1/transcribe?${query}`, this.#sttUrl);
  }

  #speechPlan(path: string, request: SpeechRequest, options: SpeakStreamOptions): RequestPlan {
    const { timestamps = false, frames, idempotencyKey } = options;
    const headers = { "content-type": "application/json", ...this.#authorization };
    const url = new URL(path, this.#baseUrl);
    if (timestamps) url.searchParams.set("timestamps", "true");
    if (frames !== undefined) url.searchParams.set("frames", frames);
    return {
      method: "POST",
      url,
      headers,
      body: jsonBody(request),
      isBilled: true,
      idempotencyKey,
    };
  }

  #models(options: CallOptions): Promise<Models> {
    return this.#get<Models>("v1/models", options);
  }

  async #get<T>(
    path: string,
    options: CallOptions,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const plan: RequestPlan = { method: "GET", url: new URL(path, this.#baseUrl), headers };
    const answer = await this.#requester.open(plan, options);
    return (await answer.json()) as T;
  }
}

function isAddress(source: AudioSource): source is { readonly url: string } {
  return "url" in source && typeof source.url === "string";
}

function jsonBody(value: object): RequestBody {
  return { type: "bytes", bytes: new TextEncoder().encode(JSON.stringify(value)) };
}

/** An address to which paths can be added: one that ends with a slash keeps its own path. */
function serviceUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null) url.protocol = url.protocol.replace(/^ws/, "http");
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`the service's address must begin with http:// or https://, received "${text}"`);
  }
  // Tried from the first of them only: from each it would take time by the square of their number.
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "")}/`;
  return url;
}

/** The wishes of a transcription as the service takes them. */
function transcribeQuery({ model, timestamps, hotWords }: TranscribeOptions): URLSearchParams {
  const query = new URLSearchParams();
  if (model !== undefined) query.set("model", model);
  if (timestamps === true) query.set("timestamps", "true");
  if (hotWords !== undefined && hotWords.length > 0) query.set("hotwords", writtenHotWords(hotWords));
  return query;
}
