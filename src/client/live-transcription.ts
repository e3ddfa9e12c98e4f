import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../../core/domain/audio/frame.js";
import { copyBytes } from "./bytes.js";
import { CallScope } from "./call-scope.js";
import { type DauysError, LiveError, RequestTimeoutError } from "./errors.js";
import { LiveChannels } from "./live-channels.js";
import { LiveConnection } from "./live-connection.js";
import { canReconnect, endingError, isTransient, type LiveEnding } from "./live-ending.js";
import { LiveHistory } from "./live-history.js";
import { type LiveDone, type LiveOptions, liveQuery } from "./live-options.js";
import type { LiveEndpoint } from "./live-socket.js";
import type { LiveMessage, LiveResult } from "./live-types.js";
import { ResultQueue } from "./result-queue.js";
import { backoffMs, sleep } from "./retry.js";

/**
 * Seconds for which sent audio is kept. The service buffers at most 60 s and cuts utterances at 30 s, so
 * older audio has been transcribed, and its speech is part of a final.
 */
const KEPT_SECONDS = 95;
/** `send` waits while more audio than this is unsent. */
const BACKLOG_SECONDS = 10;
const DEFAULT_RECONNECT_TIMEOUT_MS = 60_000;
const DEFAULT_BUFFER_SECONDS = 60;
const DEFAULT_CLOSE_TIMEOUT_MS = 120_000;
/** `endpointing=adaptive` waits at most this multiple of the threshold. */
const ADAPTIVE_FACTOR = 3;
/** Only a few, because the cause of a failed first connection is usually a wrong address. */
const FIRST_CONNECTION_RETRIES = 2;
/** If a connection lasted this long before it was lost, the backoff starts over. */
const STABLE_AFTER_MS = 10_000;

/**
 * A live session. `send` accepts audio, and a loop over the session receives results.
 *
 * If the connection is lost or the service restarts, another connection continues. Audio since the last final
 * is sent again, and the times and numbers of results continue, so the caller only sees a delay and a status.
 * Audio that is sent twice, usually a few seconds, is charged twice.
 */
export class LiveTranscription implements AsyncIterable<LiveResult> {
  /** Resolves when the session has ended. Rejects with the same error as the loop. */
  readonly done: Promise<LiveDone>;
  readonly #endpoint: LiveEndpoint;
  readonly #options: LiveOptions;
  readonly #query: URLSearchParams;
  readonly #scope: CallScope;
  readonly #stop = new AbortController();
  readonly #history = new LiveHistory();
  readonly #transcript: LiveChannels;
  /** Bytes of one sample in all channels. */
  readonly #blockBytes: number;
  readonly #results = new ResultQueue();
  readonly #sessionIds: string[] = [];
  readonly #waiting: { settle(): void; fail(error: unknown): void }[] = [];
  #connection: LiveConnection | null = null;
  #endOfUtteranceMs: number;
  #hasBeenReady = false;
  /** Number of the current connection's results that the caller has received. */
  #deliveredCount = 0;
  #creditsCharged = 0;
  #settledCount = 0;
  #failure: { readonly error: unknown } | null = null;
  #closeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(endpoint: LiveEndpoint, options: LiveOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#query = liveQuery(options);
    const { channelCount = 1 } = options;
    this.#transcript = new LiveChannels(channelCount);
    this.#blockBytes = 2 * channelCount;
    this.#endOfUtteranceMs = options.endOfUtteranceMs ?? 200;
    this.#scope = new CallScope(options.signal, Number.POSITIVE_INFINITY);
    if (this.#scope.signal.aborted) this.#stop.abort(this.#scope.signal.reason);
    this.#scope.signal.addEventListener("abort", () => this.#stop.abort(this.#scope.signal.reason));
    this.done = this.#run();
    // The loop rejects too. A caller that ignores `done` must not get an unhandled rejection.
    this.done.catch(() => {});
  }

  /**
   * Sends a copy of 16-bit little-endian PCM at 16 kHz, mono or with `channelCount` interleaved channels, in
   * parts of any size. Resolves when there is room for more. Callers that send from a microphone need not
   * wait.
   *
   * @throws {LiveError} `closed` after `close`; `buffer_full` if more than `bufferSeconds` of audio wait for
   *   a connection, which ends the session
   */
  send(pcm: Int16Array | Uint8Array | ArrayBuffer): Promise<void> {
    const sent = this.#send(pcm);
    // The loop reports failures. A caller that does not wait here must not get an unhandled rejection.
    sent.catch(() => {});
    return sent;
  }

  /** Ends the utterance after the audio sent so far, without waiting for silence. */
  finalize(): void {
    if (this.#history.isClosed || this.#failure !== null) return;
    this.#history.finalize();
    this.#connection?.pump();
  }

  /** Declares the audio complete. Audio that was sent is still transcribed. Returns `done`. */
  close(): Promise<LiveDone> {
    if (this.#history.isClosed) return this.done;
    this.#history.close();
    const timeoutMs = this.#options.closeTimeoutMs ?? DEFAULT_CLOSE_TIMEOUT_MS;
    const giveUp = () => this.#stop.abort(new RequestTimeoutError(timeoutMs, "the live session to end"));
    if (this.#failure === null && this.#closeTimer === undefined)
      this.#closeTimer = setTimeout(giveUp, timeoutMs);
    this.#connection?.pump();
    return this.done;
  }

  /** Iterates partials and finals in order, once. Leaving the loop ends the session immediately. */
  [Symbol.asyncIterator](): AsyncIterator<LiveResult, void> {
    return {
      next: () => this.#results.next(),
      return: async () => {
        this.#stop.abort(new LiveError("left", "the caller left the results loop", NOT_CLOSED));
        return { done: true, value: undefined };
      },
    };
  }

  async #send(pcm: Int16Array | Uint8Array | ArrayBuffer): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#history.isClosed)
      throw new LiveError("closed", "cannot send audio after close; open another session", NOT_CLOSED);
    this.#history.append(copyBytes(pcm instanceof Int16Array ? bytesOf(pcm) : pcm));
    this.#connection?.pump();
    this.#dropOldAudio();
    const { bufferSeconds = DEFAULT_BUFFER_SECONDS } = this.#options;
    const mostBytes = this.#bytesIn(KEPT_SECONDS + bufferSeconds);
    if (this.#history.endByte - this.#history.startByte > mostBytes) {
      const detail = `more than ${bufferSeconds} s of audio wait for a connection; await send, or raise bufferSeconds`;
      const error = new LiveError("buffer_full", detail, NOT_CLOSED);
      this.#stop.abort(error);
      throw error;
    }
    if (this.#hasRoom) return;
    await new Promise<void>((settle, fail) => this.#waiting.push({ settle, fail }));
  }

  async #run(): Promise<LiveDone> {
    try {
      // The caller must have the session object before its first status.
      await Promise.resolve();
      await this.#keepConnected();
      this.#results.end();
      return {
        audioSeconds: Math.floor(this.#history.endByte / this.#blockBytes) / LIVE_RATE_HZ,
        creditsCharged: this.#creditsCharged,
        sessionIds: this.#sessionIds,
        unsettledConnections: this.#sessionIds.length - this.#settledCount,
        displayEnd: this.#transcript.displayEnds[0]!,
        ...(this.#options.channelCount !== undefined && { displayEnds: this.#transcript.displayEnds }),
      };
    } catch (error) {
      this.#failure = { error };
      this.#deliver(this.#transcript.releaseHeld());
      this.#results.fail(error);
      for (const { fail } of this.#waiting.splice(0)) fail(error);
      throw error;
    } finally {
      clearTimeout(this.#closeTimer);
      this.#scope.end();
      for (const { settle } of this.#waiting.splice(0)) settle();
    }
  }

  /** Opens connections until one of them has processed all audio. */
  async #keepConnected(): Promise<void> {
    const { reconnectTimeoutMs = DEFAULT_RECONNECT_TIMEOUT_MS } = this.#options;
    let lostAtMs = performance.now();
    for (let attempt = 1; ; attempt++) {
      const startedAtMs = performance.now();
      const { ending, error } = await this.#connect();
      if (ending !== null && this.#isComplete(ending)) return;
      const nowMs = performance.now();
      if (this.#deliveredCount > 0 || (this.#hasBeenReady && nowMs - startedAtMs > STABLE_AFTER_MS)) {
        attempt = 1;
        lostAtMs = nowMs;
      }
      const delayMs = backoffMs(attempt, Math.random());
      const isHopeless = ending !== null && !canReconnect(ending);
      const limitMs = this.#hasBeenReady ? reconnectTimeoutMs : this.#endpoint.openTimeoutMs;
      const isTooLate =
        nowMs + delayMs - lostAtMs > limitMs || (!this.#hasBeenReady && attempt > FIRST_CONNECTION_RETRIES);
      if (isHopeless || isTooLate) throw error;
      this.#options.onStatus?.({ type: "reconnecting", attempt, delayMs, cause: error });
      await sleep(delayMs, this.#stop.signal);
    }
  }

  async #connect(): Promise<{ readonly ending: LiveEnding | null; readonly error: DauysError }> {
    const frameBytes = FRAME_SAMPLES * this.#blockBytes;
    const fromByte = Math.max(
      this.#transcript.resumeSample * this.#blockBytes,
      // Even if audio beyond that position was dropped, start on a frame boundary.
      Math.ceil(this.#history.startByte / frameBytes) * frameBytes,
    );
    this.#transcript.startSocket(fromByte / this.#blockBytes);
    this.#deliveredCount = 0;
    const connection = new LiveConnection({
      history: this.#history,
      fromByte,
      channelCount: this.#options.channelCount,
      onMessage: (message) => this.#onMessage(message),
      onSent: () => this.#releaseSenders(),
    });
    this.#connection = connection;
    try {
      const ending = await connection.run(this.#endpoint, this.#query, this.#stop.signal);
      return { ending, error: endingError(ending) };
    } catch (thrown) {
      this.#stop.signal.throwIfAborted();
      // A failure to get a token counts as a lost connection.
      if (isTransient(thrown)) return { ending: null, error: thrown };
      throw thrown;
    } finally {
      this.#connection = null;
    }
  }

  #onMessage(message: LiveMessage): void {
    if (message.type === "ready") {
      this.#hasBeenReady = true;
      this.#endOfUtteranceMs = message.eou_ms;
      this.#sessionIds.push(...(message.session_ids ?? [message.session_id]));
      const { session_id: sessionId, request_id: requestId, model, eou_ms: endOfUtteranceMs } = message;
      this.#options.onStatus?.({ type: "ready", sessionId, requestId, model, endOfUtteranceMs });
    } else if (message.type === "partial" || message.type === "final") {
      this.#deliver(this.#transcript.accept(message));
      this.#dropOldAudio();
    } else if (message.type === "going_away") {
      this.#transcript.serviceStopping();
      this.#options.onStatus?.({ type: "going_away", deadlineSeconds: message.deadline_s });
    } else if (message.type === "done") {
      this.#settledCount += message.channels?.length ?? 1;
      this.#creditsCharged += message.credits_charged;
      const isAdaptive = this.#options.endpointing === "adaptive";
      const endOfUtteranceMs = this.#endOfUtteranceMs * (isAdaptive ? ADAPTIVE_FACTOR : 1);
      const isAll = this.#hasTakenAll(message.audio_seconds);
      this.#deliver(this.#transcript.settle(message, { endOfUtteranceMs, isAll }));
    }
  }

  #deliver(results: readonly LiveResult[]): void {
    for (const result of results) this.#results.push(result);
    this.#deliveredCount += results.length;
  }

  #isComplete({ done, error }: LiveEnding): boolean {
    return done !== null && error === null && this.#hasTakenAll(done.audio_seconds);
  }

  /** Returns whether the session is closed and the service accepted its audio up to the last whole sample. */
  #hasTakenAll(audioSeconds: number): boolean {
    if (!this.#history.isClosed) return false;
    const takenSample = this.#transcript.offsetSamples + Math.round(audioSeconds * LIVE_RATE_HZ);
    return takenSample >= Math.floor(this.#history.endByte / this.#blockBytes);
  }

  #dropOldAudio(): void {
    const sentByte = this.#connection?.sentByte ?? 0;
    const resumeByte = this.#transcript.resumeSample * this.#blockBytes;
    this.#history.dropBefore(Math.max(resumeByte, sentByte - this.#bytesIn(KEPT_SECONDS)));
  }

  #bytesIn(seconds: number): number {
    return seconds * LIVE_RATE_HZ * this.#blockBytes;
  }

  get #hasRoom(): boolean {
    const sentByte = this.#connection?.sentByte ?? this.#history.startByte;
    return this.#history.endByte - sentByte <= this.#bytesIn(BACKLOG_SECONDS);
  }

  #releaseSenders(): void {
    if (this.#waiting.length === 0 || !this.#hasRoom) return;
    for (const { settle } of this.#waiting.splice(0)) settle();
  }
}

const NOT_CLOSED = { closeCode: null, requestId: null };

function bytesOf(pcm: Int16Array): Uint8Array {
  return new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
}
