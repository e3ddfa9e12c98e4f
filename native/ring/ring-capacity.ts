/** A ring begins with room for 4 s: an utterance of usual length and the replay context. */
const LEAST_RING_SAMPLES = 2 ** 16;
/** Holds the longest utterance, the replay context and a full backlog: 131 s at 16 kHz. */
const MOST_RING_SAMPLES = 2 ** 21;

/** How large the ring of a live session is that has to hold so many samples, as far as it may grow. */
export function ringCapacityFor(sampleCount: number): number {
  let capacity = LEAST_RING_SAMPLES;
  while (capacity < sampleCount && capacity < MOST_RING_SAMPLES) capacity *= 2;
  return capacity;
}
