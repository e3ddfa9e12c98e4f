import type { Jobs } from "../../core/ports/jobs.js";
import type { UrlFetcher } from "../input/url/url-fetcher.js";
import { JobRunner, type JobRunnerParts } from "../jobs/job-runner.js";
import { WebhookLoop } from "../jobs/webhook-loop.js";
import type { Base, Owned } from "./base.js";

export interface JobParts extends Base {
  readonly transcribe: JobRunnerParts["transcribe"];
  readonly requests: JobRunnerParts["requests"];
  readonly urls: UrlFetcher;
}

/**
 * Opens jobs for requests. If this service transcribes files, also runs the jobs and sends their webhooks.
 */
export function openJobs(parts: JobParts, owned: Owned): Jobs {
  const { config, store, meter, metrics, log, spoolFolder, room, transcribe, requests, urls } = parts;
  const limits = {
    storageBytes: config.jobStorageBytes,
    waitingMost: config.jobsPerOrganization,
    keptMs: config.jobKeptMs,
  };
  let runner: JobRunner | null = null;
  const { jobs, queue } = store.openJobs(meter.serviceId, limits, () => runner?.wake());
  if (!config.serve.includes("transcription")) return jobs;
  const observer = { ...metrics.observeJobs, transcribed: metrics.observeFile };
  runner = new JobRunner({
    ...{ queue, meter, transcribe, requests, urls, room, observer, log },
    spoolDir: spoolFolder,
    atOnce: config.jobsAtOnce,
  });
  const nowMs = () => store.sharedClock.nowMs();
  const webhooks = new WebhookLoop({ queue, sender: urls, nowMs, observer: metrics.observeWebhooks, log });
  owned.add("webhooks", () => webhooks.stop());
  owned.add("jobs", async () => runner?.stop());
  runner.start();
  webhooks.start();
  return jobs;
}
