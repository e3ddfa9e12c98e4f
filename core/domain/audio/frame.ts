/** Samples a second of live audio, as recognisers hear it. */
export const LIVE_RATE_HZ = 16_000;

/** One frame of live audio, 40 ms: what recognisers step by, endpoints are counted in, and audio is sent again from. */
export const FRAME_SAMPLES = 640;
