/** Sample rate of live audio. */
export const LIVE_RATE_HZ = 16_000;
/** A frame of live audio, 40 ms: the unit of recognizer steps, endpointing and replays. */
export const FRAME_SAMPLES = 640;
