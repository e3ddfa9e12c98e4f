/** Rate of all speech that leaves the service; voices of other rates are resampled where they speak. */
export const SPEECH_RATE_HZ = 24_000;
