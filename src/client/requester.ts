import { collect } from "./bytes.js";
import { CallScope } from "./call-scope.js";
import { ApiError, ConnectionError, DauysError } from "./errors.js";
import { backoffMs, isRetryable, parseRetryAfter, parseShouldRetry, sleep } from "./retry.js";
import type { RequestBody, Transport, TransportResponse, UploadProgress } from "./transport.js";

export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of the call in milliseconds, including retries; for a stream, the time between two parts. */
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
}

export interface BilledOptions extends CallOptions {
  /**
   * Your name for this work, 1 to 255 printable ASCII characters; default: a random name for each call. For
   * 24 hours, the same request with the same key is charged once and gets the same response, even from
   * another process.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface RequestPlan {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  /** Whether the request costs credits and so needs an idempotency key, which keeps retries free. */
  readonly isBilled?: boolean;
  /** The caller's key; default: a random key if the call may be retried. */
  readonly idempotencyKey?: string | undefined;
  readonly onUploadProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** A successful response whose body was not read yet. */
export interface OpenResponse {
  readonly requestId: string | null;
  header(name: string): string | null;
  /** Yields the body. Leaving the loop ends the call. @throws {ConnectionError} if the body ends early */
  chunks(): AsyncGenerator<Uint8Array>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  json(): Promise<unknown>;
}

const NEVER = new AbortController().signal;
const LONGEST_ERROR_BYTES = 64 * 1024;

export class Requester {
  readonly #transport: Transport;
  readonly #defaults: { readonly timeoutMs: number; readonly maxRetries: number };

  constructor(transport: Transport, defaults: { readonly timeoutMs: number; readonly maxRetries: number }) {
    this.#transport = transport;
    this.#defaults = defaults;
  }

  /**
   * Returns a successful response as soon as its headers have arrived.
   *
   * @throws {ApiError} if the service rejects the request
   * @throws {ConnectionError} if it cannot be reached
   * @throws {RequestTimeoutError} if it takes too long
   */
  async open(plan: RequestPlan, options: CallOptions = {}): Promise<OpenResponse> {
    const scope = new CallScope(options.signal, options.timeoutMs ?? this.#defaults.timeoutMs);
    try {
      return openResponse(await this.#try(plan, scope, this.#maxRetries(plan, options)), scope);
    } catch (thrown) {
      const failure = scope.failure(thrown);
      scope.end();
      throw failure;
    }
  }

  /**
   * Opens and reads a response, and retries if it ends early or reports a transient failure. Thanks to the
   * idempotency key, this is charged only once.
   */
  async read<T>(
    plan: RequestPlan,
    options: CallOptions,
    reader: (response: OpenResponse) => Promise<T>,
  ): Promise<{ readonly response: OpenResponse; readonly value: T }> {
    const maxRetries = this.#maxRetries(plan, options);
    const keyed = maxRetries > 0 ? { ...plan, idempotencyKey: plan.idempotencyKey ?? randomKey() } : plan;
    for (let attempt = 1; ; attempt++) {
      const response = await this.open(keyed, options);
      try {
        return { response, value: await reader(response) };
      } catch (thrown) {
        if (attempt > maxRetries || !isTransient(thrown)) throw thrown;
        await sleep(backoffMs(attempt, Math.random()), options.signal ?? NEVER);
      }
    }
  }

  /** Returns 0 if the body can be sent only once. */
  #maxRetries({ body }: RequestPlan, { maxRetries = this.#defaults.maxRetries }: CallOptions): number {
    return body?.type !== "chunks" || body.isRepeatable ? maxRetries : 0;
  }

  async #try(plan: RequestPlan, scope: CallScope, maxRetries: number): Promise<TransportResponse> {
    const headers = { ...plan.headers };
    if (plan.isBilled === true && (plan.idempotencyKey !== undefined || maxRetries > 0)) {
      headers["idempotency-key"] = plan.idempotencyKey ?? randomKey();
    }
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#once(plan, headers, scope);
      if (!(outcome instanceof DauysError)) return outcome;
      if (attempt > maxRetries || !isTransient(outcome)) throw outcome;
      const requestedMs = outcome instanceof RejectedError ? outcome.retryAfterMs : null;
      await sleep(requestedMs ?? backoffMs(attempt, Math.random()), scope.signal);
    }
  }

  /** Sends the request once. Returns failures that may be retried, instead of throwing them. */
  async #once(
    { method, url, body, onUploadProgress }: RequestPlan,
    headers: Readonly<Record<string, string>>,
    { signal }: CallScope,
  ): Promise<TransportResponse | ConnectionError | RejectedError> {
    try {
      const request = { method, url, headers, body: body ?? null, signal, onUploadProgress };
      const response = await this.#transport(request);
      if (response.status >= 200 && response.status < 300) return response;
      return await rejectionOf(response);
    } catch (thrown) {
      signal.throwIfAborted();
      return connectionError(url, thrown);
    }
  }
}

class RejectedError extends ApiError {
  readonly shouldRetry: boolean | null;

  constructor(parts: ConstructorParameters<typeof ApiError>[0], shouldRetry: boolean | null) {
    super(parts);
    this.shouldRetry = shouldRetry;
  }
}

function isTransient(thrown: unknown): boolean {
  if (!(thrown instanceof ApiError)) return thrown instanceof ConnectionError;
  const { status, code, retryAfterMs } = thrown;
  const shouldRetry = thrown instanceof RejectedError ? thrown.shouldRetry : null;
  return isRetryable({ status, code, retryAfterMs, shouldRetry });
}

function openResponse(response: TransportResponse, scope: CallScope): OpenResponse {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let isWhole = false;
    try {
      scope.startTimer("the rest of the response");
      for await (const chunk of response.body) {
        scope.stopTimer();
        yield chunk;
        scope.startTimer("the rest of the response");
      }
      scope.signal.throwIfAborted();
      isWhole = true;
    } catch (thrown) {
      const failure = scope.failure(thrown);
      if (scope.signal.aborted || failure instanceof DauysError) throw failure;
      throw new ConnectionError(`the response ended early: ${messageOf(thrown)}`, { cause: thrown });
    } finally {
      scope.end();
      if (!isWhole) response.cancel();
    }
  }
  const bytes = () => collect(chunks());
  return {
    requestId: response.header("x-request-id"),
    header: (name) => response.header(name),
    chunks,
    bytes,
    json: async () => parseJson(new TextDecoder().decode(await bytes()), "the response"),
  };
}

async function rejectionOf(response: TransportResponse): Promise<RejectedError> {
  const text = new TextDecoder().decode(await collect(response.body, LONGEST_ERROR_BYTES));
  response.cancel();
  const { status } = response;
  return new RejectedError(
    {
      status,
      code: response.header("x-svc-error") ?? `http_${status}`,
      detail: detailIn(text) ?? "the response gives no reason",
      requestId: response.header("x-request-id"),
      retryAfterMs: parseRetryAfter(response.header("retry-after"), Date.now()),
    },
    parseShouldRetry(response.header("x-should-retry")),
  );
}

function detailIn(text: string): string | null {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null || !("detail" in body)) return null;
    return typeof body.detail === "string" ? body.detail : null;
  } catch {
    // The response came from a proxy, not from the service.
    return null;
  }
}

/** @param what names the text in the error */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DauysError("bad_answer", `${what} is not JSON; check the service address`, { cause: error });
  }
}

function connectionError(url: URL, thrown: unknown): ConnectionError {
  const message = `cannot reach the service at ${url.origin}: ${messageOf(thrown)}`;
  return new ConnectionError(message, { cause: thrown });
}

function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  // System errors have a code. `fetch` puts them into the cause.
  const { code } = { ...thrown, ...(thrown.cause as object | undefined) } as { readonly code?: unknown };
  return typeof code === "string" ? code : thrown.message;
}

/** Returns 128 random bits. Pages without TLS do not have `crypto.randomUUID`. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
