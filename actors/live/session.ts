import { asServiceError } from "../../src/domain/errors.js";
import type { Log } from "../../src/observe/log.js";
import type { LiveConversation, LiveSink } from "../../src/ports/conversations.js";
import type { LiveDecoder, LiveStream } from "../../src/ports/live-decoder.js";
import type { LiveFunds, LiveMeter, UsageMeter, UsageOrigin } from "../../src/ports/usage-meter.js";
import type { StreamOptions, StreamServerMessage } from "../../src/protocol/stream-messages.js";
import { Actor } from "../kernel/actor.js";
import {
  CLOSE,
  decideLive,
  type LiveEffect,
  type LiveMessage,
  type LiveState,
  MOST_BAD_MESSAGES,
} from "./decision.js";

/** A client that sends neither audio nor keepalive for this long is taken to be gone. */
const IDLE_MS = 60_000;
/** Audio that waits for the first word about money, which takes milliseconds. */
const MAX_EARLY_SECONDS = 60;
const BAD_MESSAGES_WITHIN_MS = 60_000;

export interface LiveSessionParts {
  readonly sessionId: string;
  readonly requestId: string;
  readonly modelId: string;
  readonly sampleRateHz: number;
  readonly options: StreamOptions;
  readonly decoder: LiveDecoder;
  readonly meter: UsageMeter;
  readonly organizationId: string;
  readonly origin?: UsageOrigin;
  readonly sink: LiveSink;
  readonly log: Log;
  /** Told once, when the session is over and holds nothing any more. */
  readonly onEnded: () => void;
}

/** One client's live conversation: PCM goes straight into the ring, everything else through the mailbox. */
export class LiveSession implements LiveConversation {
  readonly #parts: LiveSessionParts;
  readonly #stream: LiveStream;
  readonly #actor: Actor<LiveState, LiveMessage, LiveEffect>;
  /** First half of a sample whose second half has not come yet. */
  #oddByte: number | null = null;
  #idleTimer: NodeJS.Timeout;
  #hasEnded = false;
  readonly #meter: LiveMeter;
  /** What may be accepted and why not more; null until the meter knows. */
  #funds: LiveFunds | null = null;
  /** What the client did before that, in order. */
  readonly #early: (() => void)[] = [];
  #earlyBytes = 0;
  /** Audio came after the last wish to end an utterance. */
  #hasUnfinalized = false;
  /** Within the minute that began with the first of them. */
  #badMessages = 0;
  #badSinceMs = 0;
  /** The decoder has begun: from here on accepted audio is charged. */
  #isReady = false;

  /** @throws {ServiceError} `ENGINE_BUSY` when no worker can take the session */
  constructor(parts: LiveSessionParts) {
    this.#parts = parts;
    this.#actor = new Actor<LiveState, LiveMessage, LiveEffect>({
      initial: { phase: "listening", acceptedSamples: 0, shown: null },
      decide: (state, message) => decideLive(state, message, parts.sampleRateHz),
      perform: (effect) => this.#perform(effect),
      onCrash: (error) => this.#crash(error),
    });
    this.#stream = parts.decoder.open(
      {
        modelId: parts.modelId,
        endOfUtteranceMs: parts.options.endOfUtteranceMs,
        wantsPartials: parts.options.partials,
        hotWords: parts.options.hotWords,
      },
      (event) => this.#actor.tell({ type: "event", event }),
    );
    // Nothing is held for a session that found no worker.
    this.#meter = parts.meter.openLive(
      {
        id: parts.sessionId,
        organizationId: parts.organizationId,
        ...(parts.origin !== undefined && { origin: parts.origin }),
      },
      parts.sampleRateHz,
      (funds) => this.#onFunds(funds),
    );
    this.#idleTimer = setTimeout(() => this.#actor.tell({ type: "idle" }), IDLE_MS);
  }

  audio(bytes: Uint8Array): void {
    if (this.#actor.state.phase !== "listening") return;
    this.#idleTimer.refresh();
    this.#hasUnfinalized = true;
    if (this.#funds !== null) {
      this.#accept(bytes, this.#funds);
      return;
    }
    this.#earlyBytes += bytes.length;
    const isRefused = this.#earlyBytes > MAX_EARLY_SECONDS * this.#parts.sampleRateHz * 2;
    if (isRefused) this.#actor.tell({ type: "audio", sampleCount: 0, isRefused });
    const copy = bytes.slice();
    this.#early.push(() => this.#accept(copy, this.#funds!));
  }

  #accept(bytes: Uint8Array, { limitSamples, beyond }: LiveFunds): void {
    if (this.#actor.state.phase !== "listening") return;
    const samples = this.#toSamples(bytes);
    const fundedCount = Math.max(0, limitSamples - this.#actor.state.acceptedSamples);
    const funded = samples.length > fundedCount ? samples.subarray(0, fundedCount) : samples;
    const taken = this.#stream.write(funded);
    this.#actor.tell({ type: "audio", sampleCount: taken, isRefused: taken < funded.length });
    this.#meter.accepted(this.#actor.state.acceptedSamples);
    if (funded.length < samples.length) this.#actor.tell({ type: "unfunded", error: beyond });
  }

  finalize(): void {
    this.keepalive();
    // Without more audio there is nothing more to end, and each would be a message to the worker.
    if (!this.#hasUnfinalized) return;
    this.#hasUnfinalized = false;
    this.#inTurn(() => this.#actor.tell({ type: "finalize" }));
  }

  close(): void {
    this.#inTurn(() => this.#actor.tell({ type: "close" }));
  }

  keepalive(): void {
    if (this.#actor.state.phase === "listening") this.#idleTimer.refresh();
  }

  badMessage(detail: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#badSinceMs > BAD_MESSAGES_WITHIN_MS) {
      this.#badSinceMs = nowMs;
      this.#badMessages = 0;
    }
    const isOneTooMany = ++this.#badMessages >= MOST_BAD_MESSAGES;
    this.#actor.tell({ type: "bad-message", detail, isOneTooMany });
  }

  disconnected(): void {
    this.#actor.tell({ type: "disconnected" });
  }

  goingAway(deadlineSeconds: number): void {
    this.#actor.tell({ type: "going-away", deadlineSeconds });
  }

  unauthorized(detail: string): void {
    this.#actor.tell({ type: "unauthorized", detail });
  }

  #onFunds(funds: LiveFunds): void {
    this.#funds = funds;
    for (const act of this.#early.splice(0)) act();
    if (funds.limitSamples === 0) this.#actor.tell({ type: "unfunded", error: funds.beyond });
  }

  /** Nothing overtakes audio that waits. */
  #inTurn(act: () => void): void {
    if (this.#funds === null) this.#early.push(act);
    else act();
  }

  /**
   * Any cut of the same bytes gives the same samples: an odd byte waits for its other half. The usual message is whole
   * samples and is not copied: the result is good for as long as `bytes` is.
   */
  #toSamples(bytes: Uint8Array): Int16Array {
    const head = this.#oddByte;
    if (head === null && bytes.length % 2 === 0 && bytes.byteOffset % 2 === 0) {
      return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
    }
    const total = bytes.length + (head === null ? 0 : 1);
    const samples = new Int16Array(total >> 1);
    const target = new Uint8Array(samples.buffer);
    const offset = head === null ? 0 : 1;
    if (head !== null && target.length > 0) target[0] = head;
    target.set(bytes.subarray(0, Math.max(0, target.length - offset)), target.length > 0 ? offset : 0);
    if (total % 2 === 0) this.#oddByte = null;
    else if (bytes.length > 0) this.#oddByte = bytes[bytes.length - 1]!;
    return samples;
  }

  #perform(effect: LiveEffect): void {
    switch (effect.type) {
      case "send":
        this.#parts.sink.send(effect.message);
        return;
      case "send-event":
        this.#isReady = true;
        this.#parts.sink.send(this.#toMessage(effect.event));
        return;
      case "finalize":
        this.#stream.finalize();
        return;
      case "finish":
        // Whoever has said that no more audio comes cannot be late with it.
        clearTimeout(this.#idleTimer);
        this.#stream.finish();
        return;
      case "settle":
        this.#meter.settle(this.#billedSamples(), (credits) =>
          this.#actor.tell({ type: "settled", credits }),
        );
        return;
      case "close-socket":
        this.#parts.sink.close(effect.code, effect.reason);
        return;
      case "release":
        this.#end();
        return;
    }
  }

  #toMessage(event: Extract<LiveEffect, { type: "send-event" }>["event"]): StreamServerMessage {
    const { sessionId, requestId, modelId, sampleRateHz, options } = this.#parts;
    if (event.type === "ready") {
      return {
        type: "ready",
        session_id: sessionId,
        request_id: requestId,
        model: modelId,
        sample_rate: sampleRateHz,
        eou_ms: options.endOfUtteranceMs,
      };
    }
    const start = event.startSample / sampleRateHz;
    const end = event.endSample / sampleRateHz;
    const { utterance, text } = event;
    if (event.type === "partial")
      return { type: "partial", utterance, text, start, end, stable: event.stable };
    const final = { type: "final", utterance, text, start, end } as const;
    return options.words ? { ...final, words: event.words } : final;
  }

  #crash(error: unknown): void {
    const { code } = asServiceError(error);
    this.#parts.log.error({ err: error, session: this.#parts.sessionId, code }, "live session crashed");
    this.#end();
    this.#parts.sink.close(CLOSE.internal, "internal");
  }

  /** Audio that waited for a model which never came, or not while the client was there, was heard by nobody. */
  #billedSamples(): number {
    return this.#isReady ? this.#actor.state.acceptedSamples : 0;
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#idleTimer);
    this.#stream.release();
    this.#meter.settle(this.#billedSamples(), () => {});
    this.#parts.onEnded();
  }
}
