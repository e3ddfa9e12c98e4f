import { writeWav } from "../../core/domain/audio/wav.js";
import { CLOSE } from "../../core/domain/close-codes.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { CallScope } from "./call-scope.js";
import { LiveError, RequestTimeoutError } from "./errors.js";
import { ItemQueue } from "./item-queue.js";
import { endingError } from "./live-ending.js";
import { type LiveEndpoint, type LiveSocket, openLiveSocket } from "./live-socket.js";
import {
  type CancelledSpeech,
  type CancelOptions,
  type LiveSpeechFrame,
  type LiveSpeechMessage,
  type LiveSpeechOptions,
  liveSpeechQuery,
  NOTHING_SENT,
  type SentSpeech,
  type SpokenTurn,
  sentOf,
} from "./live-speech-types.js";
import { SpeechOutbox } from "./speech-outbox.js";

const DEFAULT_CLOSE_TIMEOUT_MS = 120_000;
/** Interval of keepalives; the service closes sessions that send nothing for ten idle minutes. */
const KEEPALIVE_MS = 60_000;
/** Pieces that arrive within this time are sent as one message; the service allows 100 messages a second. */
const GATHER_MS = 15;
const NOT_CLOSED = { closeCode: null, requestId: null };

type Described = Extract<LiveSpeechMessage, { readonly type: "audio" }>;

interface Waiting<Value> {
  readonly turn: number;
  /** True if text of the turn was dropped before it was sent. */
  isDropped?: boolean;
  readonly settle: (value: Value) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Speaks text as it is written. `write` accepts pieces of any size, and a loop over the session receives
 * audio in order. The text between two flushes or cancels is a turn.
 *
 * A lost connection ends the session with an error. Open another session for the text that was not heard.
 */
export class LiveSpeech implements AsyncIterable<LiveSpeechFrame> {
  /** Resolves when the session has ended. Rejects with the same error as the loop. */
  readonly done: Promise<SentSpeech>;
  readonly #options: LiveSpeechOptions;
  readonly #scope: CallScope;
  readonly #stop = new AbortController();
  readonly #outbox = new SpeechOutbox();
  readonly #frames = new ItemQueue<LiveSpeechFrame>();
  #socket: LiveSocket<LiveSpeechMessage> | null = null;
  #isOpen = false;
  #hasSentOptions = false;
  #isClosed = false;
  #failure: { readonly error: unknown } | null = null;
  #turn = 0;
  /** First turn whose audio was not cancelled. */
  #firstTurn = 0;
  #sampleRateHz = 0;
  #sessionId: string | null = null;
  #error: Extract<LiveSpeechMessage, { readonly type: "error" }> | null = null;
  #sent: SentSpeech | null = null;
  /** Describes the next binary message. */
  #described: Described | null = null;
  #flushes: Waiting<SpokenTurn>[] = [];
  #cancels: Waiting<CancelledSpeech>[] = [];
  #writers: { settle(): void; fail(error: unknown): void }[] = [];
  #gatherTimer: ReturnType<typeof setTimeout> | undefined;
  #closeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(endpoint: LiveEndpoint, options: LiveSpeechOptions) {
    this.#options = options;
    this.#scope = new CallScope(options.signal, Number.POSITIVE_INFINITY);
    const { signal } = this.#scope;
    if (signal.aborted) this.#stop.abort(signal.reason);
    signal.addEventListener("abort", () => this.#stop.abort(signal.reason));
    this.done = this.#run(endpoint);
    // The loop rejects too. A caller that ignores `done` must not get an unhandled rejection.
    this.done.catch(() => {});
  }

  /** Number of the turn to which text is written now. */
  get turn(): number {
    return this.#turn;
  }

  /**
   * Adds a piece of text, joined to the earlier text without a separator. Resolves when the service has room
   * for more. Until then, the session keeps the text, so the caller need not wait.
   *
   * @throws {LiveError} `closed` after `close`; otherwise the error that ended the session
   */
  write(text: string): Promise<void> {
    const error = this.#unwritable("write");
    if (error !== null) return rejected(error);
    this.#outbox.text(text);
    this.#gatherTimer ??= setTimeout(() => this.#pump(), GATHER_MS);
    const written = new Promise<void>((settle, fail) => this.#writers.push({ settle, fail }));
    written.catch(() => {});
    return written;
  }

  /** Ends the turn: speaks its rest now. Resolves when all of its audio has arrived, or was cancelled. */
  flush(): Promise<SpokenTurn> {
    const error = this.#unwritable("flush");
    if (error !== null) return rejected(error);
    const turn = this.#turn++;
    this.#outbox.flush();
    const waiting = this.#waitIn(this.#flushes, turn);
    this.#pump();
    return waiting;
  }

  /**
   * Stops speaking, because the listener interrupts. Drops text that was not spoken and audio that was not
   * read from the loop, and starts a new turn. Audio that was not sent is not charged.
   *
   * @throws {LiveError} `closed` if the session has ended
   */
  cancel(options: CancelOptions = {}): Promise<CancelledSpeech> {
    if (this.#failure !== null) return rejected(this.#failure.error);
    if (this.#sent !== null) return rejected(new LiveError("closed", "the session has ended", NOT_CLOSED));
    const turn = this.#turn++;
    this.#firstTurn = this.#turn;
    this.#frames.clear();
    const unsent = this.#outbox.cancel(options);
    for (const flush of this.#flushes.slice(this.#flushes.length - unsent)) flush.isDropped = true;
    const waiting = this.#waitIn(this.#cancels, turn);
    this.#pump();
    return waiting;
  }

  /** Declares the text complete: the rest is spoken, then the loop ends. Returns `done`. */
  close(): Promise<SentSpeech> {
    if (this.#isClosed || this.#failure !== null) return this.done;
    this.#isClosed = true;
    this.#turn++;
    this.#outbox.close();
    this.#restartCloseTimer();
    this.#pump();
    return this.done;
  }

  /** Iterates audio in order, once. Leaving the loop ends the session immediately. */
  [Symbol.asyncIterator](): AsyncIterator<LiveSpeechFrame, void> {
    return {
      next: () => this.#frames.next(),
      return: async () => {
        this.#stop.abort(new LiveError("left", "the caller left the audio loop", NOT_CLOSED));
        return { done: true, value: undefined };
      },
    };
  }

  async #run(endpoint: LiveEndpoint): Promise<SentSpeech> {
    try {
      // The caller must have the session object before its first event.
      await Promise.resolve();
      const sent = await this.#connect(endpoint);
      this.#frames.end();
      // These were sent after the service had ended the session.
      for (const { turn, settle } of this.#cancels) settle({ turn, ...NOTHING_SENT, heard: null });
      for (const { turn, settle } of this.#flushes) settle({ turn, ...NOTHING_SENT, isCancelled: true });
      return sent;
    } catch (error) {
      this.#failure = { error };
      this.#frames.fail(error);
      for (const { fail } of [...this.#cancels, ...this.#flushes, ...this.#writers]) fail(error);
      throw error;
    } finally {
      clearTimeout(this.#gatherTimer);
      clearTimeout(this.#closeTimer);
      this.#isOpen = false;
      this.#scope.end();
      for (const { settle } of this.#writers) settle();
    }
  }

  /** Runs the session's socket. @throws the reason if the session ended without `done` */
  async #connect(endpoint: LiveEndpoint): Promise<SentSpeech> {
    const { signal } = this.#stop;
    signal.throwIfAborted();
    const opening = new AbortController();
    let openTimer: ReturnType<typeof setTimeout> | undefined;
    let keepaliveTimer: ReturnType<typeof setInterval> | undefined;
    try {
      return await new Promise<SentSpeech>((settle, fail) => {
        signal.addEventListener("abort", () => fail(signal.reason));
        const { openTimeoutMs } = endpoint;
        openTimer = setTimeout(() => {
          if (this.#sessionId === null)
            fail(new RequestTimeoutError(openTimeoutMs, "the speaking session to open"));
        }, openTimeoutMs);
        keepaliveTimer = setInterval(() => this.#socket?.sendText({ type: "keepalive" }), KEEPALIVE_MS);
        const events = {
          opened: () => {
            this.#isOpen = true;
            this.#pump();
          },
          message: (message: LiveSpeechMessage) => this.#onMessage(message),
          binary: (bytes: ArrayBuffer) => this.#onAudio(bytes),
          closed: (closeCode: number, reason: string, cause: unknown) => {
            if (this.#sent !== null && closeCode === CLOSE.done) return settle(this.#sent);
            const ending = { closeCode, reason, cause, error: this.#error, requestId: this.#sessionId };
            fail(endingError(ending, "the speaking session"));
          },
        };
        const query = liveSpeechQuery(this.#options);
        openLiveSocket(endpoint, query, events, opening.signal, "v1/tts/live").then((socket) => {
          this.#socket = socket;
          this.#pump();
        }, fail);
      });
    } finally {
      opening.abort();
      clearTimeout(openTimer);
      clearInterval(keepaliveTimer);
      this.#socket?.drop();
    }
  }

  #onMessage(message: LiveSpeechMessage): void {
    if (this.#closeTimer !== undefined) this.#restartCloseTimer();
    switch (message.type) {
      case "ready":
        this.#sessionId = message.session_id;
        this.#sampleRateHz = message.sample_rate;
        break;
      case "audio":
        this.#onDescription(message);
        break;
      case "flushed":
        this.#outbox.over(message.turn);
        this.#settleFlushes(message.turn, { ...sentOf(message), isCancelled: false });
        break;
      case "cancelled":
        this.#outbox.over(message.turn);
        this.#cancels
          .shift()
          ?.settle({ turn: message.turn, ...sentOf(message), heard: message.heard ?? null });
        this.#settleFlushes(message.turn, { ...NOTHING_SENT, isCancelled: true });
        break;
      case "warning": {
        const { code, detail, skipped } = message;
        if (skipped !== undefined) this.#outbox.begun(skipped.turn, skipped.to);
        this.#options.onWarning?.({ code, detail });
        break;
      }
      case "error":
        this.#error = message;
        break;
      case "done":
        this.#sent = sentOf(message);
    }
    this.#pump();
  }

  #onDescription(message: Described): void {
    const { turn, text, from } = message;
    if (text !== undefined) this.#outbox.begun(turn, from + countCodePoints(text));
    this.#described = message;
  }

  #onAudio(bytes: ArrayBuffer): void {
    const described = this.#described;
    this.#described = null;
    if (described === null || described.turn < this.#firstTurn) return;
    const { turn, sentence, text, start, words } = described;
    const pcm = new Int16Array(bytes, 0, bytes.byteLength >> 1);
    this.#frames.push({
      ...{ turn, sentence, text, words, sampleRateHz: this.#sampleRateHz },
      wav: new Uint8Array(writeWav(pcm, this.#sampleRateHz)),
      startSeconds: start,
      durationSeconds: pcm.length / this.#sampleRateHz,
    });
  }

  #settleFlushes(through: number, spoken: Omit<SpokenTurn, "turn">): void {
    const over = this.#flushes.filter(({ turn }) => turn <= through);
    this.#flushes = this.#flushes.filter(({ turn }) => turn > through);
    for (const { turn, isDropped = false, settle } of over)
      settle({ turn, ...spoken, isCancelled: isDropped || spoken.isCancelled });
  }

  /** Sends what the service has room for, after the options that are too long for a URL. */
  #pump(): void {
    clearTimeout(this.#gatherTimer);
    this.#gatherTimer = undefined;
    if (!this.#isOpen || this.#socket === null) return;
    const { pronunciations } = this.#options;
    if (pronunciations !== undefined && !this.#hasSentOptions)
      this.#socket.sendText({ type: "options", pronunciations });
    this.#hasSentOptions = true;
    for (let next = this.#outbox.next(); next !== null; next = this.#outbox.next())
      this.#socket.sendText(next);
    if (!this.#outbox.isEmpty) return;
    for (const { settle } of this.#writers.splice(0)) settle();
  }

  #restartCloseTimer(): void {
    clearTimeout(this.#closeTimer);
    const timeoutMs = this.#options.closeTimeoutMs ?? DEFAULT_CLOSE_TIMEOUT_MS;
    const giveUp = () => this.#stop.abort(new RequestTimeoutError(timeoutMs, "the speaking session to end"));
    this.#closeTimer = setTimeout(giveUp, timeoutMs);
  }

  #unwritable(what: string): unknown {
    if (this.#failure !== null) return this.#failure.error;
    if (!this.#isClosed) return null;
    return new LiveError("closed", `cannot ${what} after close; open another session`, NOT_CLOSED);
  }

  #waitIn<Value>(list: Waiting<Value>[], turn: number): Promise<Value> {
    const waiting = new Promise<Value>((settle, fail) => list.push({ turn, settle, fail }));
    // The loop reports failures. A caller that does not wait must not get an unhandled rejection.
    waiting.catch(() => {});
    return waiting;
  }
}

function rejected<Value>(error: unknown): Promise<Value> {
  const promise = Promise.reject<Value>(error);
  promise.catch(() => {});
  return promise;
}
