/** Minimum of 4 s at 16 kHz: an average utterance and the replay context. */
const LEAST_RING_SAMPLES = 2 ** 16;
/** Maximum of 131 s at 16 kHz: the longest utterance, the replay context and a full backlog. */
const MOST_RING_SAMPLES = 2 ** 21;

/** Returns the capacity for the ring of a live session that must hold this many samples, within limits. */
export function ringCapacityFor(sampleCount: number): number {
  let capacity = LEAST_RING_SAMPLES;
  while (capacity < sampleCount && capacity < MOST_RING_SAMPLES) capacity *= 2;
  return capacity;
}
