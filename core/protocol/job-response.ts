import type { Job } from "../domain/jobs/job.js";
import { ratio } from "../domain/rounded.js";
import type { JobBody } from "./job-schemas.js";
import type { Transcription } from "./transcription-schemas.js";

/** Renders a job. Only `audio_seconds` is not rounded, because it is billed. */
export function jobBody(job: Job): JobBody {
  return {
    id: job.id,
    status: job.status,
    share: ratio(job.share),
    model: job.options.model,
    file_name: job.fileName,
    url: job.url,
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    expires_at: job.expiresAt?.toISOString() ?? null,
    audio_seconds: job.audioSeconds,
    credits_charged: job.credits,
    error: job.error,
    webhook: job.webhook,
  };
}

/** Removes what the job did not request from a stored transcription, which has all times. */
export function requestedResult(transcription: Transcription, wantsTimes: boolean): Transcription {
  if (wantsTimes) return transcription;
  const { channels } = transcription;
  return {
    ...withoutTimes(transcription),
    ...(channels !== undefined && { channels: channels.map(withoutTimes) }),
  };
}

function withoutTimes<T extends Pick<Transcription, "words" | "segments" | "display_words">>(
  part: T,
): Omit<T, "words" | "segments" | "display_words"> {
  const { words: _words, segments: _segments, display_words: _displayWords, ...plain } = part;
  return plain;
}
