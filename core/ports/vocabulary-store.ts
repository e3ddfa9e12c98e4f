import type { WrittenVocabulary } from "../domain/vocabulary.js";

/** Keeps the words that organizations store for all of their requests. */
export interface VocabularyStore {
  /** Empty if nothing is stored. @throws {ServiceError} `AUTH_UNAVAILABLE` when the store does not answer */
  find(organizationId: string): Promise<WrittenVocabulary>;
  /** Replaces all words. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  replace(organizationId: string, written: WrittenVocabulary): Promise<void>;
}
