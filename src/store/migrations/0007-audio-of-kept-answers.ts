import type { Migration } from "../postgres/migrate.js";

/**
 * Adds the hash of the audio transcribed under a key whose request gives a URL: the file there may have
 * changed.
 */
export const audioOfKeptAnswers: Migration = {
  version: 7,
  name: "audio-of-kept-answers",
  sql: `
    alter table idempotency_keys add column audio_sha256 bytea
      check (audio_sha256 is null or length(audio_sha256) = 32);
  `,
};
