import type { Bus } from "../../core/ports/bus.js";
import { PassedOnBus } from "./passed-on-bus.js";

/** What becomes of the messages that a connection publishes, by their number from 0. */
export type Fate = (nth: number) => "send" | "drop" | "hold";

/** A connection that loses or holds back what a test says, the same each time: other messages overtake what is held. */
export class LossyBus extends PassedOnBus {
  readonly #pattern: RegExp;
  readonly #fate: Fate;
  #held: (() => void)[] = [];
  /** Messages of its pattern so far. */
  count = 0;

  /** @param pattern of the subjects that are counted; others are sent */
  constructor(bus: Bus, pattern: RegExp, fate: Fate) {
    super(bus);
    this.#pattern = pattern;
    this.#fate = fate;
  }

  publish(subject: string, bytes: Uint8Array, replyTo?: string): void {
    const send = () => this.bus.publish(subject, bytes, replyTo);
    const fate = this.#pattern.test(subject) ? this.#fate(this.count++) : "send";
    if (fate === "send") send();
    else if (fate === "hold") this.#held.push(send);
  }

  /** Sends what was held back. */
  letGo(): void {
    for (const send of this.#held.splice(0)) send();
  }
}
