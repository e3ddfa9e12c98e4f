import type { SpeakerWishes } from "../domain/diarization/speaker-turns.js";
import { ServiceError } from "../domain/errors.js";
import { flag, optionalQueryInteger } from "./fields.js";

/** Maximum number of speakers that a client may announce. */
const MOST_SPEAKERS = 20;

/** Parameters for speaker labels. */
export const SPEAKER_FIELDS = {
  diarize: flag("diarize", false).meta({
    description:
      "Adds `speakers`, and words and segments with `speaker`; requires an installed model for " +
      "diarization, and is an extension",
  }),
  speakers: optionalQueryInteger("speakers", { min: 1, max: MOST_SPEAKERS }).meta({
    description: "Number of speakers, if known; only with `diarize=true`. An extension",
  }),
};

/**
 * Returns the options, or null if the client does not want speakers.
 * @throws {ServiceError} `INVALID_REQUEST` for a number of speakers without `diarize`
 */
export function speakersOf({
  diarize,
  speakers,
}: {
  readonly diarize: boolean;
  readonly speakers?: number | undefined;
}): SpeakerWishes | null {
  if (diarize) return { count: speakers ?? null };
  if (speakers === undefined) return null;
  throw new ServiceError(
    "INVALID_REQUEST",
    `speakers requires diarize=true, received speakers=${speakers} alone`,
    {
      param: "speakers",
    },
  );
}

/**
 * Returns the error for speakers of channels that are transcribed separately.
 * @param split the parameter with its value
 */
export function splitWithSpeakers(split: string): ServiceError {
  return new ServiceError(
    "INVALID_REQUEST",
    `diarize=true and ${split} exclude each other, received both: leave out one of them`,
    { param: "diarize" },
  );
}
