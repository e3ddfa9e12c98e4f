import { collect } from "./bytes.js";
import { CallScope } from "./call-scope.js";
import { ApiError, ConnectionError, DauysError } from "./errors.js";
import { backoffMs, isRetryable, parseRetryAfter, parseShouldRetry, type Refusal } from "./retry.js";
import { sleep } from "./sleep.js";
import type { RequestBody, Transport, TransportAnswer, UploadProgress } from "./transport.js";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. Nothing of it is left running. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the call is given up, retries included; of a stream, between two pieces of it. */
  readonly timeoutMs?: number | undefined;
  /** How often a failed request is tried again. */
  readonly maxRetries?: number | undefined;
}

export interface RequestPlan {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  /** Costs credits: a key of its own lets the service recognize a retry, so that it is not charged twice. */
  readonly isBilled?: boolean;
  /** The caller's own name for this work; without it each call that may be tried again gets a random one. */
  readonly idempotencyKey?: string | undefined;
  readonly onUploadProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** A successful answer, of which the body is still to be read. */
export interface OpenAnswer {
  readonly requestId: string | null;
  header(name: string): string | null;
  /** The bytes as they come; leaving the loop ends the call. @throws {ConnectionError} when they break off */
  chunks(): AsyncGenerator<Uint8Array>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  json(): Promise<unknown>;
}

const NEVER = new AbortController().signal;
const LONGEST_ERROR_BYTES = 64 * 1024;

/** Makes requests with limits of time, retries and typed errors. */
export class Requester {
  readonly #transport: Transport;
  readonly #defaults: { readonly timeoutMs: number; readonly maxRetries: number };

  constructor(transport: Transport, defaults: { readonly timeoutMs: number; readonly maxRetries: number }) {
    this.#transport = transport;
    this.#defaults = defaults;
  }

  /**
   * Settles with the head of a success.
   *
   * @throws {ApiError} when the service refuses
   * @throws {ConnectionError} when it cannot be reached
   * @throws {RequestTimeoutError} when it takes too long
   */
  async open(plan: RequestPlan, options: CallOptions = {}): Promise<OpenAnswer> {
    const scope = new CallScope(options.signal, options.timeoutMs ?? this.#defaults.timeoutMs);
    try {
      const maxRetries = isRepeatable(plan.body) ? (options.maxRetries ?? this.#defaults.maxRetries) : 0;
      const answer = await this.#try(plan, scope, maxRetries);
      return openAnswer(answer, scope);
    } catch (thrown) {
      const failure = scope.failure(thrown);
      scope.end();
      throw failure;
    }
  }

  /**
   * As `open`, with the reading of the answer: one that breaks off, or says that it failed for now, is asked for once more. A key
   * sees that this is charged once.
   */
  async read<T>(
    plan: RequestPlan,
    options: CallOptions,
    reader: (answer: OpenAnswer) => Promise<T>,
  ): Promise<{ readonly answer: OpenAnswer; readonly value: T }> {
    const maxRetries = isRepeatable(plan.body) ? (options.maxRetries ?? this.#defaults.maxRetries) : 0;
    const keyed = maxRetries > 0 ? { ...plan, idempotencyKey: plan.idempotencyKey ?? randomName() } : plan;
    for (let attempt = 1; ; attempt++) {
      const answer = await this.open(keyed, options);
      try {
        return { answer, value: await reader(answer) };
      } catch (thrown) {
        if (attempt > maxRetries || !isPassing(thrown)) throw thrown;
        await sleep(backoffMs(attempt, Math.random()), options.signal ?? NEVER);
      }
    }
  }

  async #try(plan: RequestPlan, scope: CallScope, maxRetries: number): Promise<TransportAnswer> {
    const headers = { ...plan.headers };
    if (plan.isBilled === true && (plan.idempotencyKey !== undefined || maxRetries > 0)) {
      headers["idempotency-key"] = plan.idempotencyKey ?? randomName();
    }
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#once(plan, headers, scope);
      if (!(outcome instanceof DauysError)) return outcome;
      if (attempt > maxRetries || !canHeal(outcome)) throw outcome;
      const asked = outcome instanceof RefusedError ? outcome.retryAfterMs : null;
      await sleep(asked ?? backoffMs(attempt, Math.random()), scope.signal);
    }
  }

  /** One try; a failure that another try may heal is returned. */
  async #once(
    { method, url, body, onUploadProgress }: RequestPlan,
    headers: Readonly<Record<string, string>>,
    { signal }: CallScope,
  ): Promise<TransportAnswer | ConnectionError | RefusedError> {
    try {
      const request = { method, url, headers, body: body ?? null, signal, onUploadProgress };
      const answer = await this.#transport(request);
      if (answer.status >= 200 && answer.status < 300) return answer;
      return await refusalOf(answer);
    } catch (thrown) {
      signal.throwIfAborted();
      return unreachable(url, thrown);
    }
  }
}

/** An `ApiError` that remembers what was said about retries. */
class RefusedError extends ApiError {
  readonly shouldRetry: boolean | null;

  constructor(parts: ConstructorParameters<typeof ApiError>[0], shouldRetry: boolean | null) {
    super(parts);
    this.shouldRetry = shouldRetry;
  }
}

function canHeal(outcome: ConnectionError | RefusedError): boolean {
  return outcome instanceof ConnectionError || isRetryable(outcome satisfies Refusal);
}

/** Of an answer that had begun. */
function isPassing(thrown: unknown): boolean {
  if (thrown instanceof ApiError) {
    const { status, code, retryAfterMs } = thrown;
    return isRetryable({ status, code, retryAfterMs, shouldRetry: null });
  }
  return thrown instanceof ConnectionError;
}

function isRepeatable(body: RequestBody | undefined): boolean {
  return body?.type !== "chunks" || body.isRepeatable;
}

function openAnswer(answer: TransportAnswer, scope: CallScope): OpenAnswer {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let isWhole = false;
    try {
      scope.expect("the next part of the answer");
      for await (const chunk of answer.body) {
        scope.pause();
        yield chunk;
        scope.expect("the next part of the answer");
      }
      scope.signal.throwIfAborted();
      isWhole = true;
    } catch (thrown) {
      const failure = scope.failure(thrown);
      if (scope.signal.aborted || failure instanceof DauysError) throw failure;
      throw new ConnectionError(`the answer broke off: ${messageOf(thrown)}`, { cause: thrown });
    } finally {
      scope.end();
      if (!isWhole) answer.cancel();
    }
  }
  const bytes = () => collect(chunks());
  return {
    requestId: answer.header("x-request-id"),
    header: (name) => answer.header(name),
    chunks,
    bytes,
    json: async () => parseJson(new TextDecoder().decode(await bytes())),
  };
}

async function refusalOf(answer: TransportAnswer): Promise<RefusedError> {
  const text = new TextDecoder().decode(await collect(answer.body, LONGEST_ERROR_BYTES));
  answer.cancel();
  const { status } = answer;
  return new RefusedError(
    {
      status,
      code: answer.header("x-svc-error") ?? `http_${status}`,
      detail: detailIn(text) ?? "the service refused without saying why",
      requestId: answer.header("x-request-id"),
      retryAfterMs: parseRetryAfter(answer.header("retry-after"), Date.now()),
    },
    parseShouldRetry(answer.header("x-should-retry")),
  );
}

function detailIn(text: string): string | null {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null || !("detail" in body)) return null;
    return typeof body.detail === "string" ? body.detail : null;
  } catch {
    // Something between us and the service answered in its own words.
    return null;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DauysError("bad_answer", "the answer is not JSON: is this the address of the service?", {
      cause: error,
    });
  }
}

function unreachable(url: URL, thrown: unknown): ConnectionError {
  return new ConnectionError(`Cannot reach the service at ${url.origin}: ${messageOf(thrown)}`, {
    cause: thrown,
  });
}

function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  // Node tells a refused connection by its code; fetch hides it in the cause.
  const { code } = { ...thrown, ...(thrown.cause as object | undefined) } as { readonly code?: unknown };
  return typeof code === "string" ? code : thrown.message;
}

/** 128 random bits; `crypto.randomUUID` is missing where a page came without TLS. */
function randomName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
