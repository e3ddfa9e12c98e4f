import { CLOSE } from "../../core/domain/close-codes.js";
import type { LiveConversation, LiveSink } from "../../core/ports/conversations.js";

/** The same as in sessions that have started. */
const IDLE_SECONDS = 60;
const MOST_BAD_MESSAGES = 10;

/**
 * A conversation whose session starts with its first audio. Until then it uses no worker and no credits, and
 * it can end like a session without audio.
 */
export class LateConversation implements LiveConversation {
  readonly #sink: LiveSink;
  readonly #start: () => LiveConversation;
  readonly #idleTimer: NodeJS.Timeout;
  #session: LiveConversation | null = null;
  #badMessages = 0;
  #isOver = false;

  /** @param start starts the session; may throw a `ServiceError`, which `audio` then throws */
  constructor(sink: LiveSink, start: () => LiveConversation) {
    this.#sink = sink;
    this.#start = start;
    this.#idleTimer = setTimeout(() => this.#idle(), IDLE_SECONDS * 1_000);
  }

  audio(bytes: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#session === null) {
      clearTimeout(this.#idleTimer);
      this.#session = this.#start();
    }
    this.#session.audio(bytes);
  }

  finalize(): void {
    this.#session?.finalize();
  }

  close(): void {
    if (this.#session !== null) this.#session.close();
    else {
      this.#sink.send({ type: "done", audio_seconds: 0, credits_charged: 0 });
      this.#end(CLOSE.done, "done");
    }
  }

  keepalive(): void {
    if (this.#session !== null) this.#session.keepalive();
    else if (!this.#isOver) this.#idleTimer.refresh();
  }

  badMessage(detail: string): void {
    if (this.#session !== null) {
      this.#session.badMessage(detail);
      return;
    }
    this.#sendError("bad_message", detail);
    if (++this.#badMessages === MOST_BAD_MESSAGES) this.#end(CLOSE.badRequest, "too_many_messages");
  }

  disconnected(): void {
    this.#isOver = true;
    clearTimeout(this.#idleTimer);
    this.#session?.disconnected();
  }

  goingAway(deadlineSeconds: number): void {
    if (this.#session !== null) this.#session.goingAway(deadlineSeconds);
    else {
      this.#sink.send({ type: "going_away", deadline_s: deadlineSeconds });
      this.#end(CLOSE.goingAway, "going away");
    }
  }

  unauthorized(detail: string): void {
    if (this.#session !== null) this.#session.unauthorized(detail);
    else {
      this.#sendError("unauthorized", detail);
      this.#end(CLOSE.unauthorized, "unauthorized");
    }
  }

  #idle(): void {
    this.#sendError("idle", `no audio and no keepalive for ${IDLE_SECONDS} s`);
    this.#end(CLOSE.idle, "idle");
  }

  #sendError(code: string, detail: string): void {
    if (!this.#isOver) this.#sink.send({ type: "error", code, detail, retryable: false });
  }

  #end(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#idleTimer);
    this.#sink.close(code, reason);
  }
}
