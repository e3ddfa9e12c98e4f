import type { Sql } from "postgres";
import type { WrittenVocabulary } from "../../../core/domain/vocabulary.js";
import type { VocabularyStore } from "../../../core/ports/vocabulary-store.js";
import { orUnavailable } from "../postgres/within.js";

const EMPTY: WrittenVocabulary = { hotwords: [], pronunciations: [] };

/** Keeps the table `vocabularies`, with a row for each organization that stored words. */
export class PostgresVocabularies implements VocabularyStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(organizationId: string): Promise<WrittenVocabulary> {
    const [row] = await ask(this.#sql<WrittenVocabulary[]>`
      select hotwords, pronunciations from vocabularies where organization_id = ${organizationId}`);
    return row ?? EMPTY;
  }

  async replace(organizationId: string, { hotwords, pronunciations }: WrittenVocabulary): Promise<void> {
    const entries = pronunciations.map(({ word, say }) => ({ word, say }));
    await ask(this.#sql`
      insert into vocabularies (organization_id, hotwords, pronunciations)
      values (${organizationId}, ${[...hotwords]}::text[], ${this.#sql.json(entries)})
      on conflict (organization_id) do update
        set hotwords = excluded.hotwords, pronunciations = excluded.pronunciations, updated_at = now()`);
  }
}

function ask<T>(query: PromiseLike<T>): Promise<T> {
  return orUnavailable(Promise.resolve(query), "the stored vocabulary cannot be looked up at the moment");
}
