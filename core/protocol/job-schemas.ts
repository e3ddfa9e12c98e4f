import { z } from "zod";
import { JOB_STATUSES } from "../domain/jobs/job.js";
import type { DeepReadonly } from "./fields.js";

const moment = (description: string) =>
  z
    .string()
    .nullable()
    .meta({ format: "date-time", description: `${description}; UTC` });

export const JOB_ERROR = z.object({
  code: z.string().meta({ description: "Stable name of the failure, as in `X-Svc-Error`" }),
  detail: z.string(),
});

/** A transcription that outlives its request. */
export const JOB = z.object({
  id: z.string().meta({ description: "`job_` and 32 hex digits" }),
  status: z.enum(JOB_STATUSES),
  share: z.number().min(0).max(1).meta({ description: "Transcribed share of the audio, 0 to 1" }),
  model: z.string(),
  file_name: z.string().nullable().meta({ description: "`x-filename` of the upload" }),
  url: z.string().nullable().meta({ description: "Address of the audio; null for an upload" }),
  created_at: z.string().meta({ format: "date-time", description: "UTC" }),
  started_at: moment("When it was first run"),
  ended_at: moment("When it was done, failed or cancelled"),
  expires_at: moment("When the job and its result are deleted"),
  audio_seconds: z.number().nullable().meta({ description: "Duration of the audio, once it is done" }),
  credits_charged: z.int().nullable().meta({ description: "ceil(audio_seconds × 2.5), once it is done" }),
  error: JOB_ERROR.nullable().meta({ description: "Why it failed" }),
  webhook: z.enum(["pending", "delivered", "failed"]).nullable().meta({
    description: "Delivery status of the webhook; null without one",
  }),
});

export const JOBS = z.object({
  data: z.array(JOB).meta({ description: "Newest first" }),
  next: z.string().nullable().meta({ description: "`after` of the next page; null on the last one" }),
});

export const JOB_END = z.object({
  id: z.string(),
  status: z.enum(["cancelled", "deleted"]),
});

export const WEBHOOK_SECRET = z.object({
  secret: z.string().meta({ description: "Key of the HMAC in `Dauys-Signature`" }),
  created_at: z.string().meta({ format: "date-time", description: "UTC" }),
});

export const WEBHOOK = z.object({
  id: z.string().meta({ description: "Equal for all attempts, as `Dauys-Webhook-Id`" }),
  type: z.enum(["job.done", "job.failed", "job.cancelled"]),
  job: JOB,
});

export type JobBody = DeepReadonly<z.output<typeof JOB>>;
export type JobsBody = DeepReadonly<z.output<typeof JOBS>>;
export type JobEndBody = DeepReadonly<z.output<typeof JOB_END>>;
export type WebhookSecretBody = DeepReadonly<z.output<typeof WEBHOOK_SECRET>>;
