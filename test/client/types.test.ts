import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { WordTime } from "../../core/domain/synthesis/word-time.js";
import type { Balance, Usage } from "../../core/protocol/account-schemas.js";
import type { Model, Models, Voices } from "../../core/protocol/catalog-schemas.js";
import type { JobBody, JobEndBody, JobsBody, WebhookSecretBody } from "../../core/protocol/job-schemas.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import type { TimedSpeech } from "../../core/protocol/timed-speech.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";
import type { TtsLiveServerMessage } from "../../core/protocol/tts-live-messages.js";
import type * as client from "../../src/client/exports.js";
import type { LiveSpeechMessage } from "../../src/client/live-speech-types.js";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

// The compiler compares the types: if only one side has a member, this does not compile.
const SAME: readonly true[] = [
  true satisfies Same<client.Transcription, Transcription>,
  true satisfies Same<Required<client.Transcription>, Required<Transcription>>,
  true satisfies Same<client.SpeechWord, TimedSpeech["words"][number]>,
  true satisfies Same<Required<client.SpeechWord>, Required<WordTime>>,
  true satisfies Same<client.Model, Model>,
  true satisfies Same<client.Recognizer, Models["transcription"][number]>,
  true satisfies Same<client.Voices, Voices>,
  true satisfies Same<client.Balance, Balance>,
  true satisfies Same<client.Usage, Usage>,
  true satisfies Same<client.Job, JobBody>,
  true satisfies Same<client.JobList, JobsBody>,
  true satisfies Same<client.JobEnd, JobEndBody>,
  true satisfies Same<client.WebhookSecret, WebhookSecretBody>,
  true satisfies Same<client.LiveMessage, StreamServerMessage>,
  true satisfies Same<LiveSpeechMessage, TtsLiveServerMessage>,
];

const DIST = fileURLToPath(new URL("../../src/", import.meta.url));

test("the client's types match the protocol's schemas", () => {
  assert.ok(SAME.every((isSame) => isSame));
});

test("browser modules and their types need no package and no Node API", () => {
  for (const entry of [
    "client/browser.js",
    "client/browser.d.ts",
    "player/sentence-player.js",
    "player/sentence-player.d.ts",
  ]) {
    const files = reachableFrom(join(DIST, entry));
    assert.ok(files.size > 1, entry);
  }
});

/** Returns every file that a module imports, directly or through other modules. */
function reachableFrom(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, specifier] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)) {
    assert.match(specifier!, /^\.\.?\//, `${file} imports ${specifier}`);
    const target = join(dirname(file), specifier!);
    reachableFrom(file.endsWith(".d.ts") ? target.replace(/\.js$/, ".d.ts") : target, found);
  }
  return found;
}
