import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { z } from "zod";
import type { COMPONENTS, ComponentName } from "../../core/protocol/components.js";
import { ENDPOINTS } from "../../core/protocol/endpoints.js";
import type { DeepReadonly } from "../../core/protocol/fields.js";
import type * as client from "../../src/client/exports.js";
import type { LiveCommand } from "../../src/client/live-socket.js";
import type { LiveSpeechMessage } from "../../src/client/live-speech-types.js";
import type { SpeechCommand } from "../../src/client/speech-outbox.js";
import { OTHER_VENDORS } from "./other-vendors.js";

/** Components of other vendors' interfaces. */
const NOT_OURS = [
  ...(["SpeechRequest", "SpeechDelta", "SpeechDone", "AudioModels", "AudioVoices"] as const),
  ...(["TranscriptionFields", "PlainTranscript", "VerboseTranscript", "VerboseSegment"] as const),
  ...(["TranscriptDelta", "TranscriptDone", "RealtimeClientEvent", "RealtimeServerEvent"] as const),
  ...(["ClientSecretRequest", "ClientSecret", "OpenAiError"] as const),
  ...(["TranscriptionSessionRequest", "TranscriptionSession"] as const),
  ...(["ListenClientMessage", "ListenServerMessage", "ListenUrl", "ListenTranscript"] as const),
  ...(["SpeakRequest", "SpeakClientMessage", "SpeakServerMessage"] as const),
  ...(["TurnsClientMessage", "TurnsServerMessage", "DeepgramError"] as const),
] as const satisfies readonly ComponentName[];

/** The client's types of what it receives. */
interface Received {
  readonly TimedSpeech: {
    readonly audio: string;
    readonly words: readonly client.SpeechWord[];
    // The client reads these from the WAV.
    readonly format: "wav";
    readonly sample_rate: number;
    readonly duration: number;
  };
  readonly WordTime: client.SpeechWord;
  readonly Transcription: client.Transcription;
  readonly Word: client.FileWord;
  readonly TranscriptSegment: client.TranscriptSegment;
  readonly TranscriptionProgress: { readonly share: number };
  readonly ErrorEvent: Pick<client.ApiError, "status" | "code" | "detail">;
  readonly Model: client.Model;
  readonly Recognizer: client.Recognizer;
  readonly Models: {
    readonly object: "list";
    readonly data: readonly client.Model[];
    readonly transcription: readonly client.Recognizer[];
  };
  readonly Voice: client.Voice;
  readonly Voices: client.Voices;
  readonly Health: client.Health;
  // The client returns a boolean and the detail of the error instead.
  readonly Readiness: { readonly status: "ready" };
  readonly StreamToken: client.StreamToken;
  readonly Balance: client.Balance;
  readonly KeyInfo: client.KeyInfo;
  readonly Usage: client.Usage;
  readonly UsageRow: client.UsageRow;
  readonly Vocabulary: client.VocabularyWords;
  readonly Job: client.Job;
  readonly JobError: client.JobError;
  readonly Jobs: client.JobList;
  readonly JobEnd: client.JobEnd;
  readonly Webhook: client.Webhook;
  readonly WebhookSecret: client.WebhookSecret;
  readonly StreamServerMessage: client.LiveMessage;
  readonly TtsLiveServerMessage: LiveSpeechMessage;
  readonly Error: Pick<client.ApiError, "detail">;
}

/** The client's types of what it sends. */
interface Sent {
  readonly SynthesisRequest: client.SpeechRequest;
  readonly VocabularyRequest: client.VocabularyWords;
  readonly StreamClientMessage: LiveCommand;
  readonly TtsLiveClientMessage: SpeechCommand;
}

type Ours = Exclude<ComponentName, (typeof NOT_OURS)[number]>;
type Body<Name extends ComponentName> = DeepReadonly<z.output<(typeof COMPONENTS)[Name]>>;
type Assignable<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** Without the optional members made required, a type that lacks one would be assignable. */
type Same<A, B> = Assignable<readonly [A, Complete<A>], readonly [B, Complete<B>]>;
type Complete<T> = T extends object ? { [Key in keyof T]-?: Complete<T[Key]> } : T;
/** Field names; schemas of requests accept any value, in order to say what is wrong with it. */
type Fields<T> = T extends object ? { [Key in keyof T]-?: Key extends "type" ? T[Key] : unknown } : never;
type Matches<Name extends Ours> = Name extends keyof Received
  ? Same<Received[Name], Body<Name>>
  : Name extends keyof Sent
    ? Assignable<Fields<Sent[Name]>, Fields<Body<Name>>>
    : false;
type Different = { [Name in Ours]: Matches<Name> extends true ? never : Name }[Ours];

// The compiler compares the types. Its error lists the components that the client lacks or writes differently.
const DIFFERENT: Readonly<Record<Different, never>> = {};

const DIST = fileURLToPath(new URL("../../src/", import.meta.url));

test("the client has a type for every component of our interface, with the same members", () => {
  assert.deepEqual(DIFFERENT, {});
});

test("components without a type in the client belong to other vendors' endpoints", () => {
  for (const { method, path, request = {}, answer } of ENDPOINTS) {
    if (OTHER_VENDORS.includes(path)) continue;
    const used = [request, answer].flatMap((content) => Object.values(content)).flat();
    for (const name of NOT_OURS) assert.ok(!used.includes(name), `${name} of ${method} ${path}`);
  }
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
