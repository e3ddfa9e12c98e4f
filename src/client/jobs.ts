import type { AudioBody, AudioSource } from "./audio-source.js";
import { type HotWord, queryOf, transcribeQuery, urlOf } from "./query.js";
import type { BilledOptions, CallOptions, OpenResponse, Requester, RequestPlan } from "./requester.js";
import { sleep } from "./retry.js";
import type { UploadProgress } from "./transport.js";
import type {
  Job,
  JobEnd,
  JobList,
  JobStatus,
  RawFormat,
  RedactedKind,
  Transcription,
  WebhookSecret,
} from "./types.js";

export interface JobOptions extends BilledOptions {
  /** Id of a recognition model; default: the service's default. */
  readonly model?: string | undefined;
  /** Adds `words` and `segments` to the result, for free. */
  readonly timestamps?: boolean | undefined;
  /** Tells speakers apart: adds `speaker` to `words` and `segments`, which it includes; default false. */
  readonly diarize?: boolean | undefined;
  /** The number of speakers, if it is known; only with `diarize`. */
  readonly speakers?: number | undefined;
  /** Words and phrases to prefer, at most 100, in letters of the model. */
  readonly hotWords?: readonly HotWord[] | undefined;
  /** Whether the organization's stored hot words apply too; default true. */
  readonly organizationDefaults?: boolean | undefined;
  /** Adds `display_text`: capitals, punctuation and figures; default false. */
  readonly display?: boolean | undefined;
  /** Numbers in `display_text`; the default `auto` keeps small numbers as words. */
  readonly numerals?: "auto" | "all" | "none" | undefined;
  /** Masks personal data in all texts. */
  readonly redact?: readonly RedactedKind[] | undefined;
  /** `split` transcribes each channel separately, up to 8, and charges each; default `mix`. */
  readonly channels?: "mix" | "split" | undefined;
  /** Format of samples without a header; default: the source is a file. */
  readonly raw?: RawFormat | undefined;
  /** Shown in lists; its extension tells the container format. Default: the name of the source. */
  readonly fileName?: string | undefined;
  /** Public address that receives a signed POST when the job has ended. */
  readonly webhookUrl?: string | undefined;
  /** Called during the upload. */
  readonly onUploadProgress?: ((progress: UploadProgress) => void) | undefined;
}

export interface JobListOptions extends CallOptions {
  readonly status?: JobStatus | undefined;
  /** Jobs on a page, 1 to 1,000; default 100. */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  /** Only the job that was submitted with this key. */
  readonly idempotencyKey?: string | undefined;
}

export interface JobWaitOptions extends CallOptions {
  /** Called with the job whenever it was read. */
  readonly onChange?: ((job: Job) => void) | undefined;
  /** Longest pause between two looks, in milliseconds; default 5,000. */
  readonly pollMs?: number | undefined;
}

/** Parts of the client that the methods use. */
export interface JobsParts<Source> {
  readonly requester: Requester;
  readonly url: URL;
  readonly authorization: Readonly<Record<string, string>>;
  readonly bodyOf: (source: Exclude<Source, { readonly url: string }>) => AudioBody | Promise<AudioBody>;
}

const FIRST_POLL_MS = 500;
const LONGEST_POLL_MS = 5_000;
const POLL_GROWTH = 1.5;
const NEVER = new AbortController().signal;

/** Transcriptions that outlive their request, for long recordings. */
export class Jobs<Source = AudioSource> {
  readonly #parts: JobsParts<Source>;

  constructor(parts: JobsParts<Source>) {
    this.#parts = parts;
  }

  /** Uploads a recording of at most 2 hours, or names its public URL, and returns its job. */
  async submit(source: Source, options: JobOptions = {}): Promise<Job> {
    const query = jobQuery(options);
    if (isUrl(source)) {
      query.set("url", source.url);
      return this.#submitted({ query }, options);
    }
    const given = source as Exclude<Source, { readonly url: string }>;
    const { body, fileName } = await this.#parts.bodyOf(given);
    const headers = {
      "content-type": "application/octet-stream",
      "x-filename": encodeURIComponent(baseName(options.fileName ?? fileName ?? "audio.wav")),
    };
    return this.#submitted({ query, headers, body }, options);
  }

  /** Returns a job's status and progress. */
  async get(id: string, options: CallOptions = {}): Promise<Job> {
    return this.#json<Job>("GET", `v1/jobs/${encodeURIComponent(id)}`, options);
  }

  /** Lists the organization's jobs, newest first. */
  async list(options: JobListOptions = {}): Promise<JobList> {
    const { status, limit, after, idempotencyKey } = options;
    const query = queryOf({ status, limit, after, idempotency_key: idempotencyKey });
    return this.#json<JobList>("GET", "v1/jobs", options, query);
  }

  /**
   * Cancels a job, which then costs nothing, or deletes one that has ended. Not retried by default: a
   * repetition would delete what the first call has cancelled.
   */
  async end(id: string, options: CallOptions = {}): Promise<JobEnd> {
    return this.#json<JobEnd>("DELETE", `v1/jobs/${encodeURIComponent(id)}`, { maxRetries: 0, ...options });
  }

  /** Waits until a job is done, failed or cancelled. */
  async wait(id: string, options: JobWaitOptions = {}): Promise<Job> {
    const { onChange, pollMs = LONGEST_POLL_MS, ...call } = options;
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs *= POLL_GROWTH) {
      const job = await this.get(id, call);
      onChange?.(job);
      if (job.status !== "queued" && job.status !== "running") return job;
      await sleep(Math.min(pauseMs, pollMs), call.signal ?? NEVER);
    }
  }

  /** Returns the transcription of a job that is done. */
  async result(id: string, options: CallOptions = {}): Promise<Transcription> {
    return this.#json<Transcription>("GET", `v1/jobs/${encodeURIComponent(id)}/result`, options);
  }

  /** Returns the result as plain text or subtitles. */
  async resultText(id: string, format: "txt" | "srt" | "vtt", options: CallOptions = {}): Promise<string> {
    const path = `v1/jobs/${encodeURIComponent(id)}/result`;
    const response = await this.#open("GET", path, options, queryOf({ format }));
    return new TextDecoder().decode(await response.bytes());
  }

  /** Returns the secret that signs the organization's webhooks. */
  async webhookSecret(options: CallOptions = {}): Promise<WebhookSecret> {
    return this.#json<WebhookSecret>("GET", "v1/jobs/webhook-secret", options);
  }

  /** Replaces that secret; for a day, webhooks are signed with both. */
  async rotateWebhookSecret(options: CallOptions = {}): Promise<WebhookSecret> {
    return this.#json<WebhookSecret>("POST", "v1/jobs/webhook-secret", { maxRetries: 0, ...options });
  }

  async #submitted(
    { query, headers, body }: Pick<RequestPlan, "headers" | "body"> & { readonly query: URLSearchParams },
    options: JobOptions,
  ): Promise<Job> {
    const { requester, url, authorization } = this.#parts;
    const { idempotencyKey, onUploadProgress } = options;
    const plan: RequestPlan = {
      ...{ method: "POST", url: urlOf(url, "v1/jobs/transcriptions", query), isBilled: true },
      ...{ headers: { ...headers, ...authorization }, idempotencyKey, onUploadProgress },
      ...(body !== undefined && { body }),
    };
    const response = await requester.open(plan, options);
    return (await response.json()) as Job;
  }

  async #json<T>(
    method: RequestPlan["method"],
    path: string,
    options: CallOptions,
    query?: URLSearchParams,
  ): Promise<T> {
    return (await (await this.#open(method, path, options, query)).json()) as T;
  }

  #open(
    method: RequestPlan["method"],
    path: string,
    options: CallOptions,
    query?: URLSearchParams,
  ): Promise<OpenResponse> {
    const { requester, url, authorization } = this.#parts;
    return requester.open({ method, url: urlOf(url, path, query), headers: authorization }, options);
  }
}

function isUrl(source: unknown): source is { readonly url: string } {
  return typeof source === "object" && source !== null && "url" in source && typeof source.url === "string";
}

function baseName(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

function jobQuery(options: JobOptions): URLSearchParams {
  return queryOf({ ...transcribeQuery(options), webhook_url: options.webhookUrl });
}
