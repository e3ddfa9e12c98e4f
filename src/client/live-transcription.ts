import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../../core/domain/audio/frame.js";
import { copied } from "./bytes.js";
import { CallScope } from "./call-scope.js";
import { type DauysError, LiveError, RequestTimeoutError } from "./errors.js";
import { LiveConnection } from "./live-connection.js";
import type { LiveConnector } from "./live-connector.js";
import { canReconnect, endingError, type LiveEnding, mayHeal } from "./live-ending.js";
import { LiveHistory } from "./live-history.js";
import { type LiveDone, type LiveOptions, liveQuery } from "./live-options.js";
import { LiveTranscript } from "./live-transcript.js";
import { ResultQueue } from "./result-queue.js";
import { backoffMs } from "./retry.js";
import { sleep } from "./sleep.js";
import type { LiveMessage, LiveResult } from "./types.js";

const BYTES_PER_SECOND = LIVE_RATE_HZ * 2;
const FRAME_BYTES = FRAME_SAMPLES * 2;
/**
 * Audio that was sent is kept so long: the service lets 60 s wait and cuts an utterance at 30 s, so what is older has
 * been heard, and has become a final if there was speech in it.
 */
const KEPT_BYTES = 95 * BYTES_PER_SECOND;
/** `send` asks its caller to wait while more than this waits. */
const COMFORTABLE_BYTES = 10 * BYTES_PER_SECOND;
const DEFAULT_RECONNECT_TIMEOUT_MS = 60_000;
const DEFAULT_BUFFER_SECONDS = 60;
const DEFAULT_CLOSE_TIMEOUT_MS = 120_000;
/** `endpointing=adaptive` waits at most so many times the threshold. */
const MOST_PATIENCE = 3;
/** A first connection that fails is tried again so often: more likely the address is wrong. */
const FIRST_RETRIES = 2;
/** A connection that held so long was a good one: the next loss is a new one. */
const STEADY_MS = 10_000;

/**
 * A live session: audio goes in by `send`, results come out of the loop over it.
 *
 * A connection that breaks, or a service that goes away, is replaced: audio since the last final is sent again, and the
 * times and numbers of results go on as if nothing had happened. The caller sees latency, and a status. Audio that was
 * sent twice is charged twice, a few seconds as a rule.
 */
export class LiveTranscription implements AsyncIterable<LiveResult> {
  /** Settles when the session is over; rejects as the loop does. */
  readonly done: Promise<LiveDone>;
  readonly #connector: LiveConnector;
  readonly #options: LiveOptions;
  readonly #query: URLSearchParams;
  readonly #scope: CallScope;
  readonly #stop = new AbortController();
  readonly #history = new LiveHistory();
  readonly #transcript = new LiveTranscript();
  readonly #results = new ResultQueue();
  readonly #sessionIds: string[] = [];
  readonly #waiting: { settle(): void; fail(error: unknown): void }[] = [];
  #connection: LiveConnection | null = null;
  #endOfUtteranceMs: number;
  #hasBeenReady = false;
  /** Results of the current connection that the caller heard. */
  #heardCount = 0;
  #creditsCharged = 0;
  #settledCount = 0;
  #failure: { readonly error: unknown } | null = null;
  #closeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(connector: LiveConnector, options: LiveOptions) {
    this.#connector = connector;
    this.#options = options;
    this.#query = liveQuery(options);
    this.#endOfUtteranceMs = options.endOfUtteranceMs ?? 200;
    this.#scope = new CallScope(options.signal, Number.POSITIVE_INFINITY);
    if (this.#scope.signal.aborted) this.#stop.abort(this.#scope.signal.reason);
    this.#scope.signal.addEventListener("abort", () => this.#stop.abort(this.#scope.signal.reason));
    this.done = this.#run();
    // A caller that wants to know asks; the loop rejects too.
    this.done.catch(() => {});
  }

  /**
   * Takes 16-bit little-endian mono PCM at 16 kHz, in any cut; it is copied. Settles when there is room for more, for
   * callers that have all of their audio at hand; a microphone need not wait.
   *
   * @throws {LiveError} `closed` after `close`, `buffer_full` when more than `bufferSeconds` wait for a connection,
   * which ends the session
   */
  send(pcm: Int16Array | Uint8Array | ArrayBuffer): Promise<void> {
    const sent = this.#send(pcm);
    // A failure is the loop's to tell; a caller who does not wait here must not be killed by it.
    sent.catch(() => {});
    return sent;
  }

  /** Ends the utterance at the end of the audio so far, without waiting for silence. */
  finalize(): void {
    if (this.#history.isClosed || this.#failure !== null) return;
    this.#history.finalize();
    this.#connection?.pump();
  }

  /** No more audio comes: what was sent is still heard. Settles as `done`. */
  close(): Promise<LiveDone> {
    if (this.#history.isClosed) return this.done;
    this.#history.close();
    const timeoutMs = this.#options.closeTimeoutMs ?? DEFAULT_CLOSE_TIMEOUT_MS;
    const giveUp = () => this.#stop.abort(new RequestTimeoutError(timeoutMs, "the end of the live session"));
    if (this.#failure === null && this.#closeTimer === undefined)
      this.#closeTimer = setTimeout(giveUp, timeoutMs);
    this.#connection?.pump();
    return this.done;
  }

  /** Partials and finals, in order. To be read once; leaving the loop ends the session at once. */
  [Symbol.asyncIterator](): AsyncIterator<LiveResult, void> {
    return {
      next: () => this.#results.next(),
      return: async () => {
        this.#stop.abort(new LiveError("left", "the loop over the results was left", NOT_CLOSED));
        return { done: true, value: undefined };
      },
    };
  }

  async #send(pcm: Int16Array | Uint8Array | ArrayBuffer): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#history.isClosed) throw new LiveError("closed", "the session is closed", NOT_CLOSED);
    this.#history.append(copied(pcm instanceof Int16Array ? bytesOf(pcm) : pcm));
    this.#connection?.pump();
    this.#forget();
    const bufferBytes = (this.#options.bufferSeconds ?? DEFAULT_BUFFER_SECONDS) * BYTES_PER_SECOND;
    if (this.#history.endByte - this.#history.startByte > KEPT_BYTES + bufferBytes) {
      const error = new LiveError("buffer_full", "too much audio waits for a connection", NOT_CLOSED);
      this.#stop.abort(error);
      throw error;
    }
    if (this.#isComfortable) return;
    await new Promise<void>((settle, fail) => this.#waiting.push({ settle, fail }));
  }

  async #run(): Promise<LiveDone> {
    try {
      // The caller has the session in hand before anything is told about it.
      await Promise.resolve();
      await this.#keepConnected();
      this.#results.end();
      return {
        audioSeconds: Math.floor(this.#history.endByte / 2) / LIVE_RATE_HZ,
        creditsCharged: this.#creditsCharged,
        sessionIds: this.#sessionIds,
        unsettledConnections: this.#sessionIds.length - this.#settledCount,
      };
    } catch (error) {
      this.#failure = { error };
      this.#deliver(this.#transcript.takeHeld());
      this.#results.fail(error);
      for (const { fail } of this.#waiting.splice(0)) fail(error);
      throw error;
    } finally {
      clearTimeout(this.#closeTimer);
      this.#scope.end();
      for (const { settle } of this.#waiting.splice(0)) settle();
    }
  }

  /** One connection after another, until one comes to the end of everything. */
  async #keepConnected(): Promise<void> {
    const { reconnectTimeoutMs = DEFAULT_RECONNECT_TIMEOUT_MS } = this.#options;
    let lostAtMs = performance.now();
    for (let attempt = 1; ; attempt++) {
      const begunAtMs = performance.now();
      const { ending, error } = await this.#connect();
      if (ending !== null && this.#isComplete(ending)) return;
      const nowMs = performance.now();
      if (this.#heardCount > 0 || (this.#hasBeenReady && nowMs - begunAtMs > STEADY_MS)) {
        attempt = 1;
        lostAtMs = nowMs;
      }
      const delayMs = backoffMs(attempt, Math.random());
      const isHopeless = ending !== null && !canReconnect(ending);
      const limitMs = this.#hasBeenReady ? reconnectTimeoutMs : this.#connector.openTimeoutMs;
      const isTooLate =
        nowMs + delayMs - lostAtMs > limitMs || (!this.#hasBeenReady && attempt > FIRST_RETRIES);
      if (isHopeless || isTooLate) throw error;
      this.#options.onStatus?.({ type: "reconnecting", attempt, delayMs, cause: error });
      await sleep(delayMs, this.#stop.signal);
    }
  }

  async #connect(): Promise<{ readonly ending: LiveEnding | null; readonly error: DauysError }> {
    const fromByte = Math.max(
      this.#transcript.resumeSample * 2,
      // Should more have been forgotten, a frame begins at a frame still.
      Math.ceil(this.#history.startByte / FRAME_BYTES) * FRAME_BYTES,
    );
    this.#transcript.begin(fromByte / 2);
    this.#heardCount = 0;
    const connection = new LiveConnection({
      history: this.#history,
      fromByte,
      onMessage: (message) => this.#onMessage(message),
      onSent: () => this.#release(),
    });
    this.#connection = connection;
    try {
      const ending = await connection.run(this.#connector, this.#query, this.#stop.signal);
      return { ending, error: endingError(ending) };
    } catch (thrown) {
      this.#stop.signal.throwIfAborted();
      // A service that answers the request for a token, or does not answer in time, is a lost connection too.
      if (mayHeal(thrown)) return { ending: null, error: thrown };
      throw thrown;
    } finally {
      this.#connection = null;
    }
  }

  #onMessage(message: LiveMessage): void {
    if (message.type === "ready") {
      this.#hasBeenReady = true;
      this.#endOfUtteranceMs = message.eou_ms;
      this.#sessionIds.push(message.session_id);
      const { session_id: sessionId, request_id: requestId, model, eou_ms: endOfUtteranceMs } = message;
      this.#options.onStatus?.({ type: "ready", sessionId, requestId, model, endOfUtteranceMs });
    } else if (message.type === "partial" || message.type === "final") {
      this.#deliver(this.#transcript.take(message));
      this.#forget();
    } else if (message.type === "going_away") {
      this.#transcript.leave();
      this.#options.onStatus?.({ type: "going_away", deadlineSeconds: message.deadline_s });
    } else if (message.type === "done") {
      this.#settledCount++;
      this.#creditsCharged += message.credits_charged;
      const isAdaptive = this.#options.endpointing === "adaptive";
      const endOfUtteranceMs = this.#endOfUtteranceMs * (isAdaptive ? MOST_PATIENCE : 1);
      const isAll = this.#hasTakenAll(message.audio_seconds);
      this.#deliver(this.#transcript.settle(message, { endOfUtteranceMs, isAll }));
    }
  }

  #deliver(results: readonly LiveResult[]): void {
    for (const result of results) this.#results.push(result);
    this.#heardCount += results.length;
  }

  #isComplete({ done, error }: LiveEnding): boolean {
    return done !== null && error === null && this.#hasTakenAll(done.audio_seconds);
  }

  /** Whether the session is closed and the current connection has taken its audio to the last whole sample. */
  #hasTakenAll(audioSeconds: number): boolean {
    if (!this.#history.isClosed) return false;
    const takenSample = this.#transcript.offsetSamples + Math.round(audioSeconds * LIVE_RATE_HZ);
    return takenSample >= Math.floor(this.#history.endByte / 2);
  }

  /** Forgets audio that will never be sent again. */
  #forget(): void {
    const sentByte = this.#connection?.sentByte ?? 0;
    this.#history.forgetBefore(Math.max(this.#transcript.resumeSample * 2, sentByte - KEPT_BYTES));
  }

  get #isComfortable(): boolean {
    const sentByte = this.#connection?.sentByte ?? this.#history.startByte;
    return this.#history.endByte - sentByte <= COMFORTABLE_BYTES;
  }

  #release(): void {
    if (this.#waiting.length === 0 || !this.#isComfortable) return;
    for (const { settle } of this.#waiting.splice(0)) settle();
  }
}

const NOT_CLOSED = { closeCode: null, requestId: null };

function bytesOf(pcm: Int16Array): Uint8Array {
  return new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
}
