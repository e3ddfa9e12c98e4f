import type { WebSocket } from "ws";
import { within } from "./pace.js";

/** Much more time than a slow machine needs. */
const DEADLINE_MS = 20_000;

/** An event of `/v1/realtime`, as received. */
export interface ReceivedEvent {
  readonly type: string;
  readonly event_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of every event
  readonly [member: string]: any;
}

/** Collects the events of a realtime socket, and lets tests wait for them. */
export class RealtimeEvents {
  readonly all: ReceivedEvent[] = [];
  #waiters: (() => void)[] = [];

  constructor(socket: WebSocket) {
    socket.on("message", (data) => {
      this.all.push(JSON.parse(String(data)) as ReceivedEvent);
      for (const wake of this.#waiters.splice(0)) wake();
    });
  }

  get types(): readonly string[] {
    return this.all.map(({ type }) => type);
  }

  of(type: string): readonly ReceivedEvent[] {
    return this.all.filter((event) => event.type === type);
  }

  /** Resolves with the `count`-th event of a type, past or future. */
  seen(type: string, count = 1): Promise<ReceivedEvent> {
    return within(DEADLINE_MS, `${type} ${count}, after ${this.types.join(" ")}`, this.#find(type, count));
  }

  async #find(type: string, count: number): Promise<ReceivedEvent> {
    for (;;) {
      const found = this.of(type)[count - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }
}

/** Returns an `append` event with audio. */
export function append(audio: Uint8Array): string {
  return JSON.stringify({
    type: "input_audio_buffer.append",
    audio: Buffer.from(audio).toString("base64"),
  });
}
