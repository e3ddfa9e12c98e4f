import { NO_QUERY } from "./catalog-schemas.js";
import { JOB_QUERY, JOB_RESULT_QUERY, JOBS_QUERY } from "./job-queries.js";

/** Endpoints of jobs, for the complete table. */
export const JOB_ENDPOINTS = [
  {
    method: "POST",
    path: "/v1/jobs/transcriptions",
    group: "Jobs",
    summary: "Transcribe a file later",
    description:
      "Accepts the audio and immediately returns the job, which runs in the background. Send the audio as " +
      "for `/v1/transcribe`; audio given by `url` is fetched when the job runs. A job is charged once, when " +
      "it is done.",
    query: JOB_QUERY,
    requestHeaders: {
      "x-filename": "File name of a raw body; its extension gives the container, and the job keeps the name",
    },
    request: { "application/octet-stream": "bytes", "multipart/form-data": "bytes" },
    status: 202,
    answer: { "application/json": "Job" },
    isBilled: true,
    errors: [400, 401, 404, 408, 413, 429, 503],
  },
  {
    method: "GET",
    path: "/v1/jobs",
    group: "Jobs",
    summary: "Jobs of the key's organization",
    query: JOBS_QUERY,
    status: 200,
    answer: { "application/json": "Jobs" },
    errors: [400, 401, 503],
  },
  {
    method: "GET",
    path: "/v1/jobs/{id}",
    group: "Jobs",
    summary: "Status and progress of a job",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "Job" },
    errors: [400, 401, 404, 503],
  },
  {
    method: "GET",
    path: "/v1/jobs/{id}/result",
    group: "Jobs",
    summary: "Result of a job that is done",
    description: "Returns 409 with the job's status if the job has not ended, or ended without a result.",
    query: JOB_RESULT_QUERY,
    status: 200,
    answer: {
      "application/json": "Transcription",
      "text/plain": "text",
      "application/x-subrip": "text",
      "text/vtt": "text",
    },
    errors: [400, 401, 404, 409, 503],
  },
  {
    method: "DELETE",
    path: "/v1/jobs/{id}",
    group: "Jobs",
    summary: "Cancel a job, or delete an ended job and its result",
    description: "Cancelled jobs cost nothing.",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "JobEnd" },
    errors: [400, 401, 404, 503],
  },
  {
    method: "GET",
    path: "/v1/jobs/webhook-secret",
    group: "Jobs",
    summary: "Secret that signs the webhooks of the key's organization",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "WebhookSecret" },
    errors: [400, 401, 503],
  },
  {
    method: "POST",
    path: "/v1/jobs/webhook-secret",
    group: "Jobs",
    summary: "Replace that secret",
    description: "For a day, webhooks are signed with both the old and the new secret.",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "WebhookSecret" },
    errors: [400, 401, 503],
  },
] as const;
