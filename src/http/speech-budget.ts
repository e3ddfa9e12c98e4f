import { ServiceError } from "../../core/domain/errors.js";

/** What one organization may take of the budget. */
const ORGANIZATION_SHARE = 1 / 2;

/** What one answer takes of the budget. */
export interface SpeechShare {
  /** Its size is known now. */
  settle(bytes: number): void;
  /** Nothing of it is held any more. May be called twice. */
  release(): void;
}

/**
 * Bounds the memory of speech that is made and not yet sent, of all answers together and of each organization's. What does
 * not fit is refused before any of it is made, by an upper guess; one answer alone always fits.
 */
export class SpeechBudget {
  readonly #capacityBytes: number;
  #takenBytes = 0;
  /** Organizations that hold nothing have no entry. */
  readonly #takenBy = new Map<string, number>();

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  /** Bytes of all answers together. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  /**
   * @param bytes upper guess at what the answer holds at once
   * @throws {ServiceError} `TOO_MANY_REQUESTS` when its organization holds too much, `ENGINE_BUSY` when all together do
   */
  take(organizationId: string, bytes: number): SpeechShare {
    this.#check(organizationId, bytes);
    let taken = 0;
    let isReleased = false;
    const settle = (settled: number) => {
      if (isReleased) return;
      this.#count(organizationId, settled - taken);
      taken = settled;
    };
    settle(bytes);
    return {
      settle,
      release: () => {
        settle(0);
        isReleased = true;
      },
    };
  }

  #check(organizationId: string, bytes: number): void {
    const own = this.#takenBy.get(organizationId) ?? 0;
    if (own > 0 && own + bytes > this.#capacityBytes * ORGANIZATION_SHARE) {
      throw new ServiceError(
        "TOO_MANY_REQUESTS",
        `the answers of an organization may hold ${megabytes(this.#capacityBytes * ORGANIZATION_SHARE)} MB of speech at ` +
          `once, received ${megabytes(bytes)} MB more than ${megabytes(own)} MB: wait until one has ended, or read it as a ` +
          "stream",
      );
    }
    if (this.#takenBytes > 0 && this.#takenBytes + bytes > this.#capacityBytes) {
      throw new ServiceError(
        "ENGINE_BUSY",
        "the service holds as much unsent speech as it has memory for: try again in a moment, or read it as a stream",
      );
    }
  }

  #count(organizationId: string, bytes: number): void {
    this.#takenBytes += bytes;
    const own = (this.#takenBy.get(organizationId) ?? 0) + bytes;
    if (own > 0) this.#takenBy.set(organizationId, own);
    else this.#takenBy.delete(organizationId);
  }
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}
