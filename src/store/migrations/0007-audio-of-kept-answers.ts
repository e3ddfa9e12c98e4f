import type { Migration } from "../postgres/migrate.js";

/** What was heard under a key whose request names its audio by an address: another file may lie there by now. */
export const audioOfKeptAnswers: Migration = {
  version: 7,
  name: "audio-of-kept-answers",
  sql: `
    alter table idempotency_keys add column audio_sha256 bytea
      check (audio_sha256 is null or length(audio_sha256) = 32);
  `,
};
