import { ServiceError } from "../errors.js";

export function audioTooLong(maxSeconds: number): ServiceError {
  const rule = `audio must be at most ${maxSeconds / 3_600} hours long; split it and send the parts`;
  return new ServiceError("AUDIO_TOO_LONG", rule);
}
