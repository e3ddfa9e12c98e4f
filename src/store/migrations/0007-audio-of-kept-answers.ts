import type { Migration } from "../postgres/migrate.js";

/**
 * Adds the hash of the audio transcribed for a key whose request contains a URL, because the file at the URL
 * may change.
 */
export const audioOfKeptAnswers: Migration = {
  version: 7,
  name: "audio-of-kept-answers",
  sql: `
    alter table idempotency_keys add column audio_sha256 bytea
      check (audio_sha256 is null or length(audio_sha256) = 32);
  `,
};
