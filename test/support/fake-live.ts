import type { LiveSink } from "../../core/ports/conversations.js";
import type { LiveDecoder, LiveEvent, LiveFeed, LiveOptions } from "../../core/ports/live-decoder.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";

/** A decoder that records its input and emits the events that the test provides. */
export class FakeLiveDecoder implements LiveDecoder, LiveFeed {
  /** The number of samples that the decoder still accepts. */
  roomSamples = Number.POSITIVE_INFINITY;
  options: LiveOptions | null = null;
  readonly samples: number[] = [];
  /** The calls of `finalize`, `finish` and `release`, in order. */
  readonly calls: string[] = [];
  #onEvent: (event: LiveEvent) => void = () => undefined;

  open(options: LiveOptions, onEvent: (event: LiveEvent) => void): LiveFeed {
    this.options = options;
    this.#onEvent = onEvent;
    return this;
  }

  write(samples: Int16Array): number {
    const taken = Math.min(samples.length, this.roomSamples);
    this.roomSamples -= taken;
    this.samples.push(...samples.subarray(0, taken));
    return taken;
  }

  finalize(): void {
    this.calls.push("finalize");
  }

  finish(): void {
    this.calls.push("finish");
  }

  release(): void {
    this.calls.push("release");
  }

  /** Emits an event to the session, even after a real decoder would have ended. */
  emit(event: LiveEvent): void {
    this.#onEvent(event);
  }
}

/** Records the messages to a client. */
export class RecordingSink implements LiveSink {
  readonly messages: StreamServerMessage[] = [];
  readonly closes: { readonly code: number; readonly reason: string }[] = [];
  /** The number of messages after the close, which must be 0. */
  lateMessageCount = 0;

  send(message: StreamServerMessage): void {
    if (this.closes.length > 0) this.lateMessageCount++;
    this.messages.push(message);
  }

  close(code: number, reason: string): void {
    this.closes.push({ code, reason });
  }
}
