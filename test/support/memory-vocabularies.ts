import type { WrittenVocabulary } from "../../core/domain/vocabulary.js";
import type { VocabularyStore } from "../../core/ports/vocabulary-store.js";

/** Vocabularies of a transport without a database; counts look-ups. */
export class MemoryVocabularies implements VocabularyStore {
  lookUps = 0;
  /** The answer to every query, while it is not null. */
  failure: Error | null = null;
  readonly #stored = new Map<string, WrittenVocabulary>();

  async find(organizationId: string): Promise<WrittenVocabulary> {
    this.lookUps++;
    const found = this.#stored.get(organizationId) ?? { hotwords: [], pronunciations: [] };
    // As from a database: an answer is as old as its query.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failure !== null) throw this.failure;
    return found;
  }

  async replace(organizationId: string, written: WrittenVocabulary): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failure !== null) throw this.failure;
    this.#stored.set(organizationId, written);
  }
}
