import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileLength, TimedTranscript } from "../../core/domain/decoding/transcript.js";
import type { JobQueue, JobRun } from "../../core/ports/jobs.js";
import { ENDLESS_ROOM } from "../../core/ports/spool-room.js";
import { JobRunner, type JobRunnerParts } from "../../src/jobs/job-runner.js";
import { deferred } from "../support/deferred.js";
import { temporaryFolder } from "../support/folders.js";
import { SILENT } from "../support/silent-log.js";

const RUN: JobRun = {
  ...{ id: "job_1", attempt: 1, organizationId: "org_1", keyId: "key_1", losses: 0 },
  options: { model: "svc-kk-ru-v2", timestamps: false, hotWords: [], reading: null },
  ...{ fileName: null, url: null },
};
const LENGTH: FileLength = { sampleCountIn: 16_000, sampleRateInHz: 16_000 };
const TRANSCRIPT: TimedTranscript = {
  ...LENGTH,
  ...{ segments: [], modelId: "svc-kk-ru-v2", processingSeconds: 0 },
};

test("a result is stored once the requests in progress have passed", async () => {
  const events: string[] = [];
  const waits = deferred<void>();
  const passed = deferred<void>();
  const finished = deferred<void>();
  const waiting = [RUN];
  const queue = {
    take: async () => waiting.shift() ?? null,
    async *audioOf() {
      yield Uint8Array.of(1);
    },
    progress: async () => true,
    finish: async () => {
      events.push("stored");
      finished.resolve();
      return "done";
    },
    sweep: async () => 0,
    counts: async () => ({ queued: 0, running: 0 }),
  } as unknown as JobQueue;
  const runner = new JobRunner({
    queue,
    meter: {
      hold: async () => ({ credits: 6, release: async () => {} }),
    } as unknown as JobRunnerParts["meter"],
    transcribe: (_caller, _path, _wishes, onLength) => ({
      transcript: onLength(LENGTH).then(() => TRANSCRIPT),
      stop() {},
    }),
    requests: {
      behind: async function* (chunks) {
        yield* chunks;
      },
      pass: () => {
        waits.resolve();
        return passed.promise;
      },
    },
    urls: {} as JobRunnerParts["urls"],
    spoolDir: await temporaryFolder(),
    room: ENDLESS_ROOM,
    atOnce: 1,
    observer: { counted() {}, ended() {}, transcribed() {} },
    log: SILENT,
  });
  runner.start();
  await waits.promise;
  await new Promise((resolve) => setImmediate(resolve));
  events.push("requests ended");
  passed.resolve();
  await finished.promise;
  assert.deepEqual(events, ["requests ended", "stored"]);
  await runner.stop();
});
