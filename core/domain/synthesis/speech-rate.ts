/** Sample rate of all speech of the service; voices of other rates are resampled in their worker. */
export const SPEECH_RATE_HZ = 24_000;
