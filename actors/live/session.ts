import { CLOSE } from "../../core/domain/close-codes.js";
import type { ScoredWord } from "../../core/domain/decoding/words.js";
import { asServiceError, type ServiceError } from "../../core/domain/errors.js";
import { ratio, roundedTimes, seconds } from "../../core/domain/rounded.js";
import { Actor } from "../../core/kernel/actor.js";
import type { Log } from "../../core/observe/log.js";
import type { LiveConversation, LiveSink } from "../../core/ports/conversations.js";
import type { LiveDecoder, LiveFeed } from "../../core/ports/live-decoder.js";
import type { Span } from "../../core/ports/span.js";
import type { LiveFunds, LiveMeter, UsageMeter, UsageOrigin } from "../../core/ports/usage-meter.js";
import type { StreamOptions, StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { decideLive } from "./decision.js";
import {
  type ReadableEvent,
  ReadableEvents,
  type ReadableEventsParts,
  type ReadableFinal,
} from "./readable-events.js";
import { billedSamples, type LiveEffect, type LiveMessage, type LiveState, NEW_SESSION } from "./state.js";
import { BACKLOG_SECONDS, IDLE_SECONDS } from "./transitions.js";

/** Counts a session's traffic, for metrics and traces. */
export interface LiveSessionObserver {
  opened(): void;
  /** Samples that the client has sent, accepted or not. */
  received(sampleCount: number): void;
  sent(message: StreamServerMessage): void;
  disconnected(): void;
}

export interface LiveSessionParts {
  readonly sessionId: string;
  readonly requestId: string;
  readonly modelId: string;
  readonly sampleRateHz: number;
  readonly options: StreamOptions;
  readonly decoder: LiveDecoder;
  /** Required if the options request readable text. */
  readonly reading?: Pick<ReadableEventsParts, "reader" | "sentence">;
  readonly meter: UsageMeter;
  readonly organizationId: string;
  readonly origin?: UsageOrigin;
  readonly mostAtOnce?: number;
  readonly sink: LiveSink;
  readonly log: Log;
  /** Called once, when the session has released everything. */
  readonly onEnded: () => void;
  readonly observer?: LiveSessionObserver;
  readonly span?: Span;
}

/** Input that arrived before the first credit check finished: copied audio, or a command. */
type Early = Uint8Array | "finalize" | "close";

/**
 * One client's live conversation. PCM goes straight to the ring, everything else through the mailbox.
 *
 * Decisions depend only on the actor's state. The other fields hold audio in flight to the ring, and handles
 * to external resources.
 */
export class LiveSession implements LiveConversation {
  readonly #parts: LiveSessionParts;
  readonly #actor: Actor<LiveState, LiveMessage, LiveEffect>;
  readonly #feed: LiveFeed;
  /** Null if the client requested plain text. */
  readonly #readable: ReadableEvents | null;
  readonly #meter: LiveMeter;
  readonly #idleTimer: NodeJS.Timeout;
  /** First byte of a sample whose second byte has not arrived yet. */
  #oddByte: number | null = null;
  /**
   * How much may be written to the ring, and why no more; null until the first credit check has finished.
   */
  #funds: LiveFunds | null = null;
  #early: Early[] = [];
  #earlyBytes = 0;
  /** Resources are released exactly once, even after a crash left the actor's state useless (I4). */
  #hasEnded = false;

  /** @throws {ServiceError} `ENGINE_BUSY` if no worker can take the session */
  constructor(parts: LiveSessionParts) {
    this.#parts = parts;
    this.#actor = new Actor<LiveState, LiveMessage, LiveEffect>({
      initial: NEW_SESSION,
      decide: (state, message) => decideLive(state, message, parts.sampleRateHz),
      perform: (effect) => this.#perform(effect),
      onCrash: (error) => this.#crash(error),
    });
    const tell = (event: ReadableEvent) => this.#actor.tell({ type: "event", event });
    const { reading: options = null } = parts.options;
    this.#readable =
      options === null || parts.reading === undefined
        ? null
        : new ReadableEvents({ ...parts.reading, options, sampleRateHz: parts.sampleRateHz, emit: tell });
    this.#feed = parts.decoder.open(
      {
        modelId: parts.modelId,
        endOfUtteranceMs: parts.options.endOfUtteranceMs,
        ...(parts.options.endpointing !== undefined && { endpointing: parts.options.endpointing }),
        wantsPartials: parts.options.partials,
        ...(parts.options.reading?.display === true && { wantsPauses: true }),
        hotWords: parts.options.hotWords,
        ...(parts.span !== undefined && { span: parts.span }),
      },
      (event) => (this.#readable === null ? tell(event) : this.#readable.onEvent(event)),
    );
    // After `open`, so that no credits are held for a session without a worker.
    this.#meter = parts.meter.openLive(
      {
        id: parts.sessionId,
        organizationId: parts.organizationId,
        ...(parts.origin !== undefined && { origin: parts.origin }),
        ...(parts.mostAtOnce !== undefined && { mostAtOnce: parts.mostAtOnce }),
      },
      parts.sampleRateHz,
      (funds) => this.#onFunds(funds),
    );
    this.#idleTimer = setTimeout(() => this.#actor.tell({ type: "idle" }), IDLE_SECONDS * 1_000);
    parts.observer?.opened();
  }

  audio(bytes: Uint8Array): void {
    this.#parts.observer?.received(bytes.length / 2);
    if (this.#actor.state.phase !== "listening") return;
    this.#idleTimer.refresh();
    if (this.#funds !== null) {
      this.#accept(bytes, this.#funds);
      return;
    }
    this.#earlyBytes += bytes.length;
    // The first credit check takes milliseconds, so only a flood fills this backlog.
    const isRefused = this.#earlyBytes > BACKLOG_SECONDS * this.#parts.sampleRateHz * 2;
    if (isRefused) this.#actor.tell({ type: "audio", sampleCount: 0, isRefused });
    this.#early.push(bytes.slice());
  }

  #accept(bytes: Uint8Array, { limitSamples, beyond }: LiveFunds): void {
    if (this.#actor.state.phase !== "listening") return;
    const samples = this.#toSamples(bytes);
    const fundedCount = Math.max(0, limitSamples - this.#actor.state.acceptedSamples);
    const funded = samples.length > fundedCount ? samples.subarray(0, fundedCount) : samples;
    const taken = this.#feed.write(funded);
    this.#actor.tell({ type: "audio", sampleCount: taken, isRefused: taken < funded.length });
    this.#meter.accepted(this.#actor.state.acceptedSamples);
    if (funded.length < samples.length) this.#actor.tell({ type: "unfunded", error: beyond });
  }

  finalize(): void {
    this.keepalive();
    this.#inTurn("finalize");
  }

  close(): void {
    this.#inTurn("close");
  }

  keepalive(): void {
    if (this.#actor.state.phase === "listening") this.#idleTimer.refresh();
  }

  badMessage(detail: string): void {
    this.#actor.tell({ type: "bad-message", detail, atMs: performance.now() });
  }

  disconnected(): void {
    this.#parts.observer?.disconnected();
    this.#actor.tell({ type: "disconnected" });
  }

  goingAway(deadlineSeconds: number): void {
    this.#actor.tell({ type: "going-away", deadlineSeconds });
  }

  unauthorized(detail: string): void {
    this.#actor.tell({ type: "unauthorized", detail });
  }

  /** Ends a session whose models could not be loaded in time. */
  unavailable(error: ServiceError): void {
    this.#actor.tell({ type: "unavailable", error });
  }

  #onFunds(funds: LiveFunds): void {
    this.#funds = funds;
    const early = this.#early;
    this.#early = [];
    for (const input of early) {
      if (typeof input === "string") this.#actor.tell({ type: input });
      else this.#accept(input, this.#funds);
    }
    if (funds.limitSamples === 0) this.#actor.tell({ type: "unfunded", error: funds.beyond });
  }

  /** Keeps the order of audio and commands (I11). */
  #inTurn(command: "finalize" | "close"): void {
    if (this.#funds !== null) this.#actor.tell({ type: command });
    else if (this.#early.at(-1) !== command) this.#early.push(command);
  }

  /**
   * Joins bytes to samples; an odd byte waits for the next message (I10). Whole samples, the usual case, are
   * not copied, so the result is valid only as long as `bytes`.
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
        this.#send(this.#withLastStop(effect.message));
        return;
      case "send-event":
        this.#send(this.#toMessage(effect.event));
        return;
      case "finalize":
        this.#readable?.markedAt(this.#actor.state.acceptedSamples);
        this.#feed.finalize();
        return;
      case "send-finalized":
        this.#parts.sink.finalized?.();
        return;
      case "finish":
        // No more audio will arrive, so the client cannot become idle.
        clearTimeout(this.#idleTimer);
        this.#readable?.markedAt(this.#actor.state.acceptedSamples);
        this.#feed.finish();
        return;
      case "settle":
        this.#meter.settle(billedSamples(this.#actor.state), (credits) =>
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

  #send(message: StreamServerMessage): void {
    this.#parts.observer?.sent(message);
    this.#parts.sink.send(message);
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
    const start = seconds(event.startSample / sampleRateHz);
    const end = seconds(event.endSample / sampleRateHz);
    const { utterance, text } = event;
    if (event.type === "partial") {
      const partial = { type: "partial", utterance, text, start, end, stable: event.stable } as const;
      return event.endOfTurn === undefined ? partial : { ...partial, end_of_turn: ratio(event.endOfTurn) };
    }
    return {
      ...{ type: "final", utterance, text, start, end },
      ...(options.words && { words: event.words.map(rounded) }),
      ...(event.isFromFinalize === true && { from_finalize: true }),
      ...readableMembers(event.readable, options),
    };
  }

  /** Adds the last punctuation mark: now it is known how the last sentence ends. */
  #withLastStop(message: StreamServerMessage): StreamServerMessage {
    const wants = this.#parts.options.reading?.display === true && message.type === "done";
    return wants ? { ...message, display_end: this.#readable?.lastStop ?? "" } : message;
  }

  /** Ends this session alone (I17). */
  #crash(error: unknown): void {
    const { code } = asServiceError(error);
    this.#parts.log.error({ err: error, session: this.#parts.sessionId, code }, "live session crashed");
    this.#end();
    this.#parts.sink.close(CLOSE.internal, "internal");
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#idleTimer);
    this.#feed.release();
    this.#meter.settle(billedSamples(this.#actor.state), () => {});
    this.#parts.onEnded();
  }
}

function readableMembers(readable: ReadableFinal | undefined, { words, reading }: StreamOptions) {
  if (readable === undefined) return {};
  const { text, before, endOfTurn, redactions } = readable;
  return {
    ...(text !== null && { display_text: text, display_before: before, end_of_turn: ratio(endOfTurn) }),
    ...(text !== null && words && { display_words: readable.words.map(roundedTimes) }),
    ...(reading !== undefined && reading.redact.length > 0 && { redactions: redactions.map(roundedTimes) }),
  };
}

function rounded({ word, start, end, confidence }: ScoredWord): ScoredWord {
  return { word, start: seconds(start), end: seconds(end), confidence: ratio(confidence) };
}
