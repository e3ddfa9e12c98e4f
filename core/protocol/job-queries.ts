import { z } from "zod";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import { JOB_STATUSES, type JobPage } from "../domain/jobs/job.js";
import { oneOf, queryInteger } from "./fields.js";
import { type Query, readQuery } from "./query.js";
import { parseTranscribeQuery, TRANSCRIBE_QUERY, type TranscribeOptions } from "./transcribe-query.js";

/** Query of a job: that of `/v1/transcribe`, and an address for the webhook. */
export const JOB_QUERY = {
  schema: TRANSCRIBE_QUERY.schema.extend({
    webhook_url: z.string().optional().meta({
      format: "uri",
      description: "Public address that receives a signed POST (`Webhook`) when the job has ended",
    }),
  }),
  others: "refused",
  repeatable: ["url"],
} as const satisfies Query;

export interface AskedJob extends TranscribeOptions {
  readonly webhookUrl: string | null;
}

/** @throws {ServiceError} as `parseTranscribeQuery` */
export function parseJobQuery(query: URLSearchParams, models: ModelList<HearingModel>): AskedJob {
  const { webhook_url: webhookUrl } = readQuery(JOB_QUERY, query);
  const others = new URLSearchParams(query);
  others.delete("webhook_url");
  const wanted = webhookUrl === undefined || webhookUrl === "" ? null : webhookUrl;
  return { ...parseTranscribeQuery(others, models), webhookUrl: wanted };
}

const EVERY_STATUS = ["any", ...JOB_STATUSES] as const;
const MOST_PER_PAGE = 1_000;

export const JOBS_QUERY = {
  schema: z.object({
    status: oneOf("status", EVERY_STATUS, { otherwise: "any", code: "INVALID_REQUEST" }),
    limit: queryInteger("limit", { min: 1, max: MOST_PER_PAGE, otherwise: 100 }).meta({
      description: "Jobs on a page",
    }),
    after: z.string().optional().meta({ description: "Id of the last job of the previous page" }),
    idempotency_key: z.string().optional().meta({
      description: "Return only the job submitted with this `Idempotency-Key`",
    }),
  }),
  others: "refused",
} as const satisfies Query;

/** @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER` */
export function parseJobsQuery(query: URLSearchParams): JobPage {
  const {
    status,
    limit,
    after = null,
    idempotency_key: idempotencyKey = null,
  } = readQuery(JOBS_QUERY, query);
  return { status: status === "any" ? null : status, limit, after, idempotencyKey };
}

const RESULT_FORMATS = ["json", "txt", "srt", "vtt"] as const;
export type ResultFormat = (typeof RESULT_FORMATS)[number];

export const JOB_RESULT_QUERY = {
  schema: z.object({
    format: oneOf("format", RESULT_FORMATS, { otherwise: "json", code: "INVALID_REQUEST" }),
  }),
  others: "refused",
} as const satisfies Query;
