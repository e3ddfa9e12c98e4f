/**
 * Lists the sets of speakers that the classes of a powerset stand for: nobody, then each speaker, then each
 * pair in lexical order.
 *
 * @returns bit sets, bit 0 for the first speaker
 * @throws {RangeError} if no number of speakers has so many classes
 */
export function powersetOf(classCount: number): Uint8Array {
  const speakers = speakersOf(classCount);
  const sets = [0, ...Array.from({ length: speakers }, (_, speaker) => 1 << speaker)];
  for (let one = 0; one < speakers; one++) {
    for (let other = one + 1; other < speakers; other++) sets.push((1 << one) | (1 << other));
  }
  return Uint8Array.from(sets);
}

/** Most speakers of a window that fit the bit sets. */
const MOST_SPEAKERS = 8;

function speakersOf(classCount: number): number {
  for (let speakers = 1; speakers <= MOST_SPEAKERS; speakers++) {
    if (1 + speakers + (speakers * (speakers - 1)) / 2 === classCount) return speakers;
  }
  throw new RangeError(`a powerset with pairs must have 2, 4, 7 or more classes, found ${classCount}`);
}

/** Decodes scores `[frames, classes]` to the most probable set of speakers of each frame. */
export function speakersPerFrame(scores: Float32Array, sets: Uint8Array): Uint8Array {
  const width = sets.length;
  return Uint8Array.from({ length: Math.floor(scores.length / width) }, (_, frame) => {
    let best = 0;
    for (let i = 1; i < width; i++) {
      if (scores[frame * width + i]! > scores[frame * width + best]!) best = i;
    }
    return sets[best]!;
  });
}

/** Counts the members of a bit set. */
export function sizeOfSet(set: number): number {
  let size = 0;
  for (let rest = set; rest !== 0; rest &= rest - 1) size++;
  return size;
}
