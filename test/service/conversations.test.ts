import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { STRETCH_WORDS } from "../../core/domain/text/display/text-windows.js";
import { Metrics } from "../../core/observe/metrics.js";
import type { Caller, Conversations, SynthesisConversation } from "../../core/ports/conversations.js";
import { ENDLESS_ROOM } from "../../core/ports/spool-room.js";
import type { TranscriptReader } from "../../core/ports/transcript-reader.js";
import type { SynthesisRequest } from "../../core/protocol/synthesis-request.js";
import { ReadingThread } from "../../native/reading/reading-thread.js";
import { THREAD_ENTRIES } from "../../src/service/base.js";
import { makeConversations } from "../../src/service/conversations.js";
import { type Engines, makeEngines, stopEngines } from "../../src/service/engines.js";
import { readInstalledModels } from "../../src/service/installed-models.js";
import { readMachine } from "../../src/service/machine.js";
import { Placements } from "../../src/service/placements.js";
import { planModels } from "../../src/service/worker-plan.js";
import { readConfig } from "../../src/settings/settings.js";
import { RATE_HZ, silence, speech, wavOf } from "../support/audio.js";
import { temporaryFolder } from "../support/folders.js";
import { FreeMeter } from "../support/free-meter.js";
import { SILENT } from "../support/silent-log.js";

const REQUEST: SynthesisRequest = {
  text: "Сәлем 😀!",
  model: "svc-kk-v1",
  voice: null,
  speed: 1,
  nfe: 4,
  seed: 1,
  normalize: true,
  pronunciations: [],
  room_tone: true,
};

let engines: Engines;
let folder: string;
let conversations: Conversations;
/** The same, with a reader that reads texts only when they are complete. */
let readingLast: Conversations;
const metrics = new Metrics({ withProcess: false });
const meter = new FreeMeter();
const thread = new ReadingThread({ onFailure: assert.ifError });
let wordsAhead = 0;
const reader: TranscriptReader = {
  read: (task) => thread.read(task),
  begin: () => {
    const text = thread.begin();
    return {
      add: (words) => {
        wordsAhead += words.length;
        text.add(words);
      },
      read: (task) => text.read(task),
    };
  },
};

before(async () => {
  folder = await temporaryFolder();
  const config = readConfig({ DATA_DIR: folder, SENTENCE_CACHE_MB: "1", SYNTHESIS_WORKERS: "1" });
  const installed = await readInstalledModels(config, SILENT);
  const parts = { config, metrics, log: SILENT, spoolFolder: folder, room: ENDLESS_ROOM };
  const workers = await planModels(config, installed, readMachine());
  const placements = new Placements(config, new Map(), parts);
  engines = makeEngines({ ...parts, installed, workers, placements, tunings: {}, entries: THREAD_ENTRIES });
  const others = { ...parts, engines, meter, catalog: installed.catalog };
  conversations = makeConversations({ ...others, reader });
  readingLast = makeConversations({ ...others, reader: { read: (task) => thread.read(task) } });
});

after(async () => {
  await stopEngines(engines);
  await thread.stop();
});

/** A caller from an organization, and how long its requests have waited for a model. */
function callerOf(organizationId: string): { readonly caller: Caller; readonly waits: number[] } {
  const waits: number[] = [];
  const identity = { keyId: "key_1", organizationId, tier: "paid" } as const;
  const onModelWait = (waitedMs: number) => void waits.push(waitedMs);
  return { caller: { requestId: "req_1", identity, endpoint: "/v1/tts", onModelWait }, waits };
}

/** Reads a conversation as the stream endpoint does, and returns its samples. */
async function read(conversation: SynthesisConversation): Promise<number> {
  let samples = 0;
  for await (const { pcm } of conversation.chunks()) {
    if (samples === 0) await conversation.charge();
    samples += pcm.length;
  }
  conversation.complete();
  return samples;
}

/** Returns the counters so far, by name. */
async function counts(): Promise<(name: string) => number> {
  const lines = (await metrics.text()).split("\n");
  return (name) => Number(lines.find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
}

test("speech is charged, counted and synthesized once per organization", async () => {
  const first = callerOf("org_1");
  const samples = await read(await conversations.synthesis(first.caller, REQUEST, "sentences"));
  assert.deepEqual(meter.calls, ["hold", "charge", "delivered 8", "complete"]);
  assert.equal(first.waits.length, 1, "it waited for the model");
  const count = await counts();
  assert.equal(count('tts_first_audio_ms_count{model="svc-kk-v1"}'), 1);
  assert.equal(count("tts_characters_total"), 8);
  assert.equal(count("text_dropped_characters_total"), 1);
  assert.ok(Math.abs(count("tts_audio_seconds_total") - samples / 24_000) < 1e-9);

  const again = callerOf("org_1");
  assert.equal(await read(await conversations.synthesis(again.caller, REQUEST, "whole")), samples);
  assert.deepEqual(again.waits, [], "a finished sentence needs no model");
  const other = callerOf("org_2");
  await read(await conversations.synthesis(other.caller, REQUEST, "whole"));
  assert.equal(other.waits.length, 1, "what others had spoken is made again");
  assert.equal((await counts())("tts_cache_hits_total"), 1);
});

test("a file is charged and counted by its seconds", async () => {
  meter.calls.length = 0;
  const path = join(folder, "silence.wav");
  await writeFile(path, wavOf(silence(2, 8_000), 8_000, 1));
  const { caller, waits } = callerOf("org_1");
  const conversation = conversations.transcription(caller, path, { model: "svc-kk-ru-v2", hotWords: [] });
  const transcript = await conversation.transcript;
  conversation.complete();
  assert.equal(transcript.creditsCharged, 7);
  assert.ok(transcript.processingSeconds > 0);
  assert.deepEqual(meter.calls, ["hold", "charge", "complete"]);
  assert.equal(waits.length, 1);
  const count = await counts();
  assert.equal(count("asr_file_audio_seconds_total"), 2);
  assert.equal(count('asr_file_rtf_count{model="svc-kk-ru-v2"}'), 1);
});

test("a file is read while it is transcribed, with the same text as at the end", async () => {
  const path = join(folder, "long.wav");
  const prompt = speech("asterisk-ru-core/conf-getconfno.flac");
  const long = new Int16Array(50 * (prompt.length + RATE_HZ));
  for (let nth = 0; nth < 50; nth++) long.set(prompt, nth * (prompt.length + RATE_HZ));
  await writeFile(path, wavOf(long, RATE_HZ, 1));
  const wishes = {
    ...{ model: "svc-kk-ru-v2", hotWords: [] },
    reading: { display: true, numerals: "auto", redact: [] },
  } as const;
  const { caller } = callerOf("org_1");
  const read = await conversations.transcription(caller, path, wishes).transcript;
  const words = read.segments.flatMap((segment) => segment.words);
  assert.ok(words.length > STRETCH_WORDS, `${words.length} words`);
  assert.equal(wordsAhead, words.length);
  const last = await readingLast.transcription(caller, path, wishes).transcript;
  assert.deepEqual(read.segments, last.segments);
  assert.ok(read.segments.some(({ readable }) => readable?.some(({ word }) => /[.,]$/.test(word))));
});
