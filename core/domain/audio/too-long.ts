import { ServiceError } from "../errors.js";

/** The refusal of audio that is longer than a file may be. */
export function audioTooLong(maxSeconds: number): ServiceError {
  const hours = maxSeconds / 3_600;
  return new ServiceError(
    "AUDIO_TOO_LONG",
    `audio must be at most ${hours} hours long; split it and send the parts`,
  );
}
