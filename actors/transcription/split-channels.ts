import { MOST_CHANNELS } from "../../core/domain/audio/channels.js";
import type { FileTranscript } from "../../core/domain/decoding/transcript.js";
import { ServiceError } from "../../core/domain/errors.js";

/** @throws {ServiceError} `INVALID_REQUEST` for more than `MOST_CHANNELS` */
export function requireFewChannels(count: number): void {
  if (count <= MOST_CHANNELS) return;
  const rule = `a recording must have at most ${MOST_CHANNELS} channels to be transcribed separately`;
  throw new ServiceError("INVALID_REQUEST", `${rule}, received ${count}; use channels=mix`);
}

/** Joins the transcripts of a recording's channels, with turns and masked data in order of time. */
export function joinedChannels(transcripts: readonly FileTranscript[]): FileTranscript {
  const [first] = transcripts;
  if (first === undefined) throw new RangeError("cannot join the transcripts of no channels");
  const segments = transcripts.flatMap((own, channel) =>
    own.segments.map((segment) => ({ channel, ...segment })),
  );
  const redactions = transcripts.flatMap((own, channel) =>
    (own.redactions ?? []).map((redaction) => ({ channel, ...redaction })),
  );
  return {
    ...first,
    // The sort is stable, so what starts together stays in the order of channels.
    segments: segments.sort((a, b) => a.startSeconds - b.startSeconds),
    ...(first.redactions !== undefined && { redactions: redactions.sort((a, b) => a.start - b.start) }),
    channelCount: transcripts.length,
  };
}
