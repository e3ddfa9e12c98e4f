import type { LiveDecoder, LiveEvent, LiveFeed, LiveOptions } from "../../core/ports/live-decoder.js";
import { type Deferred, deferred } from "./deferred.js";
import { pace } from "./pace.js";

const LIVE_OPTIONS: LiveOptions = {
  modelId: "svc-kk-ru-v2",
  endOfUtteranceMs: 200,
  wantsPartials: true,
  hotWords: [],
};

export type Final = Extract<LiveEvent, { type: "final" }>;

/** A session on a live decoder that records all events. */
export class LiveListener {
  readonly events: LiveEvent[] = [];
  readonly feed: LiveFeed;
  readonly #ending: Deferred<LiveEvent> = deferred();
  #waiters: (() => void)[] = [];

  constructor(decoder: LiveDecoder, options: Partial<LiveOptions> = {}) {
    this.feed = decoder.open({ ...LIVE_OPTIONS, ...options }, (event) => {
      this.events.push(event);
      if (event.type === "finished" || event.type === "failed") this.#ending.resolve(event);
      for (const wake of this.#waiters.splice(0)) wake();
    });
  }

  get finals(): Final[] {
    return this.events.filter((event) => event.type === "final");
  }

  /** The text of all finals so far. */
  get text(): string {
    return this.finals.map((final) => final.text).join(" ");
  }

  /** Resolves with `finished` or `failed`. */
  get ending(): Promise<LiveEvent> {
    return this.#ending.promise;
  }

  /** Resolves with the first matching event, past or future. */
  async seen(isWanted: (event: LiveEvent) => boolean): Promise<LiveEvent> {
    for (;;) {
      const found = this.events.find(isWanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  /** Writes pieces in order. Pauses now and then for the decoder, and whenever its backlog is full. */
  async writeAll(pieces: readonly Int16Array[]): Promise<void> {
    for (const [index, piece] of pieces.entries()) {
      for (let written = this.feed.write(piece); written < piece.length; ) {
        await pace(1);
        written += this.feed.write(piece.subarray(written));
      }
      if (index % 16 === 15) await pace(1);
    }
  }

  /** Finishes, waits for the end and releases the session. */
  async finish(): Promise<LiveEvent> {
    this.feed.finish();
    const ending = await this.ending;
    this.feed.release();
    return ending;
  }
}

/** Returns the finals of a new session that receives audio in these pieces. */
export async function finalsOf(
  decoder: LiveDecoder,
  pieces: readonly Int16Array[],
  options: Partial<LiveOptions> = {},
): Promise<Final[]> {
  const listener = new LiveListener(decoder, options);
  await listener.writeAll(pieces);
  await listener.finish();
  return listener.finals;
}
