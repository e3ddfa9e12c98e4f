import type { Job } from "../../core/domain/jobs/job.js";
import type { Jobs } from "../../core/ports/jobs.js";

/** The only job of `fakeJobs`. */
export const FAKE_JOB: Job = {
  id: `job_${"0123456789abcdef".repeat(2)}`,
  status: "done",
  options: { model: "svc-kk-ru-v2", timestamps: true, hotWords: [], reading: null },
  fileName: "call.wav",
  url: null,
  share: 1,
  createdAt: new Date("2026-11-21T08:00:00Z"),
  startedAt: new Date("2026-11-21T08:00:01Z"),
  endedAt: new Date("2026-11-21T08:00:02Z"),
  expiresAt: new Date("2026-11-22T08:00:02Z"),
  audioSeconds: 2,
  credits: 5,
  error: null,
  webhook: "delivered",
};

const RESULT = {
  ...{ text: "сәлем", model: "svc-kk-ru-v2", audio_seconds: 2, processing_seconds: 1, rtf: 0.5 },
  ...{ x_realtime: 2, chunks: 1, sample_rate_in: 16_000, credits_charged: 5 },
  words: [{ word: "сәлем", start: 0.5, end: 1 }],
  segments: [{ id: 0, text: "сәлем", start: 0.5, end: 1 }],
};

/** Jobs for tests of routes. The tests of the whole service cover stored jobs. */
export function fakeJobs(): Jobs {
  const secret = { secret: `whsec_${"00".repeat(32)}`, createdAt: new Date("2026-11-21T08:00:00Z") };
  return {
    submit: async (_job, audio) => {
      for await (const _part of audio?.parts ?? []);
      return { type: "submitted", job: FAKE_JOB };
    },
    isKnown: async () => false,
    find: async () => FAKE_JOB,
    list: async () => [FAKE_JOB],
    end: async () => "deleted",
    result: async () => JSON.stringify(RESULT),
    webhookSecret: async () => secret,
    rotateWebhookSecret: async () => secret,
  };
}
