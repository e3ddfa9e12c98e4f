import { CLOSE } from "../../core/domain/close-codes.js";
import type { LiveConversation, LiveSink } from "../../core/ports/conversations.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";

const SAMPLE_BYTES = 2;
const NO_BYTES = new Uint8Array(0);

type Message<Type extends StreamServerMessage["type"]> = Extract<
  StreamServerMessage,
  { readonly type: Type }
>;
type ChannelDone = NonNullable<Message<"done">["channels"]>[number];

/** The session of one channel. */
interface Channel {
  readonly session: LiveConversation;
  ready: Message<"ready"> | null;
  done: ChannelDone | null;
  finalizedCount: number;
}

/**
 * A socket whose audio has several interleaved channels. Each channel has a session; together they look like
 * one, and messages name their channel. If one session fails, all of them end, and the audio they accepted is
 * charged.
 */
export class SplitConversation implements LiveConversation {
  readonly #sink: LiveSink;
  readonly #channels: Channel[] = [];
  readonly #blockBytes: number;
  /** Start of a block whose end has not arrived yet. */
  #held: Uint8Array = NO_BYTES;
  /** Messages held until every session is ready. */
  #waiting: StreamServerMessage[] | null = [];
  #finalizedCount = 0;
  #hasGoneAway = false;
  #hasFailed = false;
  /** Code and reason with which the socket closes once every session has reached `done`. */
  #ending = { code: CLOSE.done as number, reason: "done" };
  #isClosed = false;
  #hasLeft = false;

  /** @param start starts the session of a channel; if it throws, sessions started before are ended */
  constructor(sink: LiveSink, count: number, start: (sink: LiveSink) => LiveConversation) {
    this.#sink = sink;
    this.#blockBytes = SAMPLE_BYTES * count;
    try {
      for (let channel = 0; channel < count; channel++) {
        const session = start({
          send: (message) => this.#onMessage(channel, message),
          finalized: () => this.#onFinalized(channel),
          close: (code, reason) => this.#onClose(channel, code, reason),
        });
        this.#channels.push({ session, ready: null, done: null, finalizedCount: 0 });
      }
    } catch (error) {
      this.#isClosed = true;
      this.disconnected();
      throw error;
    }
  }

  /** Accepts PCM16LE blocks of one sample per channel, split anywhere. Copies the bytes before it returns. */
  audio(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const joined = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const whole = joined.length - (joined.length % this.#blockBytes);
    // Copy the bytes, because they are borrowed.
    this.#held = Uint8Array.from(joined.subarray(whole));
    if (whole === 0) return;
    for (const [channel, { session }] of this.#channels.entries()) {
      const own = new Uint8Array((whole / this.#blockBytes) * SAMPLE_BYTES);
      let from = channel * SAMPLE_BYTES;
      for (let to = 0; to < own.length; to += SAMPLE_BYTES, from += this.#blockBytes) {
        own[to] = joined[from]!;
        own[to + 1] = joined[from + 1]!;
      }
      session.audio(own);
    }
  }

  finalize(): void {
    this.#all((session) => session.finalize());
  }

  close(): void {
    this.#all((session) => session.close());
  }

  keepalive(): void {
    this.#all((session) => session.keepalive());
  }

  /** Counted by one session on behalf of all. */
  badMessage(detail: string): void {
    this.#channels[0]!.session.badMessage(detail);
  }

  disconnected(): void {
    // Each session must count this only once.
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#isClosed = true;
    this.#all((session) => session.disconnected());
  }

  goingAway(deadlineSeconds: number): void {
    this.#all((session) => session.goingAway(deadlineSeconds));
  }

  unauthorized(detail: string): void {
    this.#all((session) => session.unauthorized(detail));
  }

  #all(tell: (session: LiveConversation) => void): void {
    for (const { session } of this.#channels) tell(session);
  }

  #onMessage(channel: number, message: StreamServerMessage): void {
    if (this.#isClosed) return;
    switch (message.type) {
      case "ready":
        this.#onReady(channel, message);
        return;
      case "partial":
      case "final":
        this.#send({ ...message, channel });
        return;
      case "going_away":
        if (!this.#hasGoneAway) this.#send(message);
        this.#hasGoneAway = true;
        return;
      case "error":
        this.#onError(message);
        return;
      case "done": {
        const { audio_seconds, credits_charged, display_end } = message;
        const own = { channel, audio_seconds, credits_charged };
        this.#channels[channel]!.done = display_end === undefined ? own : { ...own, display_end };
      }
    }
  }

  #onReady(channel: number, message: Message<"ready">): void {
    this.#channels[channel]!.ready ??= message;
    if (this.#waiting === null || this.#channels.some(({ ready }) => ready === null)) return;
    const ids = this.#channels.map(({ ready }) => ready!.session_id);
    this.#sink.send({ ...this.#channels[0]!.ready!, session_ids: ids });
    this.#releaseWaiting();
  }

  #releaseWaiting(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const message of waiting) this.#sink.send(message);
  }

  #onError(message: Message<"error">): void {
    if (message.code === "bad_message") {
      this.#sink.send(message);
      return;
    }
    // The sessions of a socket usually fail together, for the same reason.
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#sink.send(message);
    // Audio that is paid for is still transcribed, on the other channels too.
    this.close();
  }

  #onFinalized(channel: number): void {
    this.#channels[channel]!.finalizedCount++;
    const count = Math.min(...this.#channels.map((own) => own.finalizedCount));
    if (this.#isClosed || count === this.#finalizedCount) return;
    this.#finalizedCount = count;
    this.#sink.finalized?.();
  }

  #onClose(channel: number, code: number, reason: string): void {
    if (this.#isClosed) return;
    const own = this.#channels[channel]!;
    if (code !== CLOSE.done && this.#ending.code === CLOSE.done) this.#ending = { code, reason };
    // A session without `done` was aborted, for example because the client broke a rule.
    if (own.done === null) {
      this.#end();
      return;
    }
    const done = this.#channels.flatMap((each) => each.done ?? []);
    if (done.length < this.#channels.length) return;
    this.#releaseWaiting();
    this.#sink.send(totalOf(done));
    this.#end();
  }

  /** Closes the socket; the other sessions are settled after that. */
  #end(): void {
    this.#isClosed = true;
    this.#sink.close(this.#ending.code, this.#ending.reason);
  }

  #send(message: StreamServerMessage): void {
    if (this.#waiting === null) this.#sink.send(message);
    else this.#waiting.push(message);
  }
}

/** Adds up the charges. All channels have the same duration, unless credits ran out. */
function totalOf(channels: readonly ChannelDone[]): Message<"done"> {
  return {
    type: "done",
    audio_seconds: Math.max(...channels.map((own) => own.audio_seconds)),
    credits_charged: channels.reduce((sum, own) => sum + own.credits_charged, 0),
    channels,
  };
}
