import type { Bus } from "../../core/ports/bus.js";
import { BusWrapper } from "./bus-wrapper.js";

/** Decides what happens to each published message, by its number from 0. */
export type Fate = (nth: number) => "send" | "drop" | "hold";

/**
 * A connection that drops or holds back messages as the test decides. Later messages overtake those held
 * back.
 */
export class LossyBus extends BusWrapper {
  readonly #pattern: RegExp;
  readonly #fate: Fate;
  #held: (() => void)[] = [];
  /** The number of messages that matched the pattern. */
  count = 0;

  /** @param pattern matches the subjects that are counted; messages on other subjects are sent */
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

  /** Sends the messages that were held back. */
  releaseHeld(): void {
    for (const send of this.#held.splice(0)) send();
  }
}
