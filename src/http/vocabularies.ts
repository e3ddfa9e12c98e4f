import { LRUCache } from "lru-cache";
import { NO_VOCABULARY, type Vocabulary, type WrittenVocabulary } from "../../core/domain/vocabulary.js";
import type { Log } from "../../core/observe/log.js";
import type { Clock } from "../../core/ports/clock.js";
import type { VocabularyStore } from "../../core/ports/vocabulary-store.js";
import { readVocabulary } from "../../core/protocol/vocabulary.js";

/** As for keys: a change on another service applies within this time. */
const KNOWN_FOR_MS = 30_000;
const MOST_CACHED_BYTES = 64 * 2 ** 20;
/** Estimated size of an entry without its words. */
const ENTRY_BYTES = 512;

interface Known {
  readonly vocabulary: Vocabulary;
  /** Estimated size of the words. */
  readonly bytes: number;
  readonly untilMs: number;
}

interface VocabulariesParts {
  readonly store: VocabularyStore;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Caches the words that organizations stored, so that most requests need no query. A change made here applies
 * immediately, one by another service within 30 s.
 */
export class Vocabularies {
  readonly #parts: VocabulariesParts;
  readonly #known = new LRUCache<string, Known>({
    maxSize: MOST_CACHED_BYTES,
    sizeCalculation: ({ bytes }) => bytes + ENTRY_BYTES,
  });
  readonly #lookUps = new Map<string, Promise<Vocabulary>>();

  constructor(parts: VocabulariesParts) {
    this.#parts = parts;
  }

  /** Returns the words for a request. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  async of(organizationId: string): Promise<Vocabulary> {
    const known = this.#known.get(organizationId);
    if (known !== undefined && this.#parts.clock.nowMs() < known.untilMs) return known.vocabulary;
    const running = this.#lookUps.get(organizationId);
    if (running !== undefined) return running;
    const lookUp: Promise<Vocabulary> = this.#lookUp(organizationId, () =>
      this.#isLatest(organizationId, lookUp),
    );
    this.#lookUps.set(organizationId, lookUp);
    return lookUp.finally(() => {
      if (this.#isLatest(organizationId, lookUp)) this.#lookUps.delete(organizationId);
    });
  }

  /** Returns the words as they are stored now. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  read(organizationId: string): Promise<WrittenVocabulary> {
    return this.#parts.store.find(organizationId);
  }

  /** Replaces an organization's words. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  async replace(organizationId: string, written: WrittenVocabulary): Promise<void> {
    try {
      await this.#parts.store.replace(organizationId, written);
    } finally {
      // The change may have been made even if no answer came, and a running look-up may have missed it.
      this.#lookUps.delete(organizationId);
      this.#known.delete(organizationId);
    }
  }

  #isLatest(organizationId: string, lookUp: Promise<Vocabulary>): boolean {
    return this.#lookUps.get(organizationId) === lookUp;
  }

  async #lookUp(organizationId: string, isLatest: () => boolean): Promise<Vocabulary> {
    const { store, clock } = this.#parts;
    // The time counts from the query, so that a change during it is not missed for longer.
    const askedAtMs = clock.nowMs();
    const written = await store.find(organizationId);
    const vocabulary = this.#readable(written, organizationId);
    if (isLatest()) {
      const bytes = 4 * JSON.stringify(written).length;
      this.#known.set(organizationId, { vocabulary, bytes, untilMs: askedAtMs + KNOWN_FOR_MS });
    }
    return vocabulary;
  }

  /** A later version of the service may have stored words by other rules. */
  #readable(written: WrittenVocabulary, organizationId: string): Vocabulary {
    try {
      return readVocabulary(written);
    } catch (error) {
      this.#parts.log.warn({ err: error, organizationId }, "stored vocabulary left out");
      return NO_VOCABULARY;
    }
  }
}
