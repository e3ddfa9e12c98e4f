import { ServiceError } from "../../../core/domain/errors.js";
import { creditsFor } from "../../../core/domain/usage/tariff.js";
import type { SpeechMeter } from "../../../core/ports/usage-meter.js";
import type { ConcurrencySlots } from "./concurrency-slots.js";
import type { HoldChanges } from "./hold-changes.js";
import type { HoldJournal } from "./hold-journal.js";
import type { Holds, NewHold } from "./holds.js";
import { notCovered } from "./metering-errors.js";
import type { Settlements } from "./settlements.js";

export interface SpeechHoldParts {
  readonly holds: Holds;
  readonly changes: HoldChanges;
  readonly settlements: Settlements;
  readonly slots: ConcurrencySlots;
  readonly journal: HoldJournal;
  /** Translates database failures, and limits how long to wait for them. */
  readonly ask: <T>(question: Promise<T>) => Promise<T>;
  /** Called when the end of the hold is stored, or if the hold was never opened. */
  readonly onEnded: () => void;
}

/** Holds credits for speech whose text arrives in pieces, and charges all of it at once. */
export class SpeechHold implements SpeechMeter {
  readonly #hold: NewHold;
  readonly #parts: SpeechHoldParts;
  /** The opening and the extensions, in order. None of them rejects here. */
  #requests: Promise<unknown> = Promise.resolve();
  /** Whether the database may have an open hold. */
  #mayBeOpen = false;
  #heldCredits = 0;
  #isSettled = false;

  constructor(hold: NewHold, parts: SpeechHoldParts) {
    this.#hold = hold;
    this.#parts = parts;
  }

  async cover(characters: number): Promise<void> {
    if (this.#isSettled) throw this.#over();
    const request = this.#requests.then(() =>
      this.#heldCredits === 0 ? this.#open(characters) : this.#extend(characters),
    );
    this.#requests = request.catch(() => {});
    await this.#parts.ask(request);
    if (this.#isSettled) throw this.#over();
  }

  delivered(characters: number): void {
    if (!this.#isSettled) this.#parts.journal.note(this.#hold.id, characters);
  }

  settle(characters: number): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { settlements, slots, journal, onEnded } = this.#parts;
    const { id } = this.#hold;
    // A crash from here on must charge the same number of characters.
    journal.note(id, characters);
    const settled = this.#requests.then(async () => {
      if (this.#mayBeOpen) await settlements.settle(id, () => this.#charge(characters));
      journal.forget(id);
    });
    slots.release(this.#hold, settled);
    void settled.finally(onEnded);
  }

  async #charge(characters: number): Promise<void> {
    const { holds, changes } = this.#parts;
    if (characters === 0 || this.#heldCredits === 0) await holds.void(this.#hold);
    else await changes.post(this.#hold, characters, "settled");
  }

  async #open(characters: number): Promise<void> {
    const { changes, slots } = this.#parts;
    const quantity = { ...this.#hold.quantity, units: characters };
    const credits = creditsFor(quantity, this.#hold.tariff);
    const open = () => changes.openUpTo({ ...this.#hold, quantity }, credits);
    // If the reply is lost, settling voids the hold, whether or not it was opened.
    this.#mayBeOpen = true;
    const cover = await slots.acquire(this.#hold, open).catch((error: unknown) => {
      if (error instanceof ServiceError) this.#mayBeOpen = false;
      throw error;
    });
    this.#heldCredits = cover.held;
    this.#mayBeOpen = cover.held > 0;
    if (cover.held < credits) throw notCovered(cover, credits);
  }

  async #extend(characters: number): Promise<void> {
    const credits = creditsFor({ ...this.#hold.quantity, units: characters }, this.#hold.tariff);
    if (credits <= this.#heldCredits) return;
    const cover = await this.#parts.changes.extend(this.#hold, credits);
    // Another service presumed this one stopped, and settled the hold.
    if (cover === null)
      throw new ServiceError("AUTH_UNAVAILABLE", "the hold for this speech was settled elsewhere");
    this.#heldCredits = cover.held;
    if (cover.held < credits) throw notCovered(cover, credits - cover.held);
  }

  #over(): ServiceError {
    return new ServiceError("CANCELLED", "speech was cancelled");
  }
}
