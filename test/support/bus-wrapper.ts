import type { Bus, BusMessage } from "../../core/ports/bus.js";

/** A connection that wraps another one and overrides publishing. */
export abstract class BusWrapper implements Bus {
  protected readonly bus: Bus;

  constructor(bus: Bus) {
    this.bus = bus;
  }

  abstract publish(subject: string, bytes: Uint8Array, replyTo?: string): void;

  subscribe(subject: string, hear: (message: BusMessage) => void): () => void {
    return this.bus.subscribe(subject, hear);
  }

  onReconnect(act: () => void): () => void {
    return this.bus.onReconnect(act);
  }

  flush(): Promise<void> {
    return this.bus.flush();
  }

  drain(): Promise<void> {
    return this.bus.drain();
  }
}
