export interface ClusterOptions {
  /** Number of speakers, if known. */
  readonly speakerCount: number | null;
  /** Cosine distance from which two groups are different speakers; ignored if the number is known. */
  readonly threshold: number;
  /** Called periodically; may throw to stop the work. */
  readonly checkpoint?: () => void;
}

/** Distances of this many embeddings fill 32 MB. */
const MOST_LINKED = 4_000;

/** Its multiples spread evenly without a period, which matters because windows may list speakers in turns. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/**
 * Groups embeddings by speaker: agglomerative, complete linkage, cosine distance. Beyond 4,000 embeddings,
 * evenly spread ones are linked and the others join the group with the nearest centre.
 *
 * @returns a group per embedding, numbered by first appearance
 */
export function clusterEmbeddings(embeddings: readonly Float32Array[], options: ClusterOptions): Int32Array {
  if (embeddings.length === 0) return new Int32Array(0);
  const unit = embeddings.map(normalized);
  if (unit.length <= MOST_LINKED) return cut(linkages(unit, options), unit.length, options);
  const share = MOST_LINKED / unit.length;
  const some = unit.filter((_, index) => (index * GOLDEN_RATIO) % 1 < share);
  const centres = centresOf(some, cut(linkages(some, options), some.length, options));
  return numberedByAppearance(unit.map((row) => nearest(row, centres)));
}

interface Linkage {
  /** One item of each of the two groups. */
  readonly one: number;
  readonly other: number;
  readonly distance: number;
}

/**
 * Joins all items pair by pair along chains of nearest neighbours. With complete linkage, this finds the same
 * tree as joining the closest pair each time, in quadratic time.
 */
function linkages(unit: readonly Float32Array[], { checkpoint }: ClusterOptions): Linkage[] {
  const count = unit.length;
  const distances = distancesOf(unit, checkpoint);
  const at = (a: number, b: number) => {
    const [low, high] = a < b ? [a, b] : [b, a];
    return low * count - (low * (low + 1)) / 2 + high - low - 1;
  };
  const living = new Set(unit.keys());
  const found: Linkage[] = [];
  const chain: number[] = [];
  while (living.size > 1) {
    if (chain.length === 0) chain.push(living.values().next().value!);
    const tip = chain.at(-1)!;
    let best = chain.at(-2) ?? -1;
    let least = best < 0 ? Number.POSITIVE_INFINITY : distances[at(tip, best)]!;
    for (const candidate of living) {
      const distance = candidate === tip ? Number.POSITIVE_INFINITY : distances[at(tip, candidate)]!;
      if (distance < least) [least, best] = [distance, candidate];
    }
    if (best !== chain.at(-2)) {
      chain.push(best);
      continue;
    }
    chain.length -= 2;
    found.push({ one: tip, other: best, distance: least });
    living.delete(tip);
    // The remaining item stands for both; the farther one counts.
    for (const each of living) {
      if (each === best) continue;
      const index = at(best, each);
      distances[index] = Math.max(distances[index]!, distances[at(tip, each)]!);
    }
    checkpoint?.();
  }
  return found.toSorted((a, b) => a.distance - b.distance);
}

function distancesOf(unit: readonly Float32Array[], checkpoint?: () => void): Float32Array {
  const distances = new Float32Array((unit.length * (unit.length - 1)) / 2);
  let at = 0;
  for (let i = 0; i < unit.length; i++) {
    for (let j = i + 1; j < unit.length; j++) distances[at++] = Math.max(0, 1 - dot(unit[i]!, unit[j]!));
    checkpoint?.();
  }
  return distances;
}

/** Applies the linkages up to the number of groups, or below the threshold. */
function cut(links: readonly Linkage[], count: number, options: ClusterOptions): Int32Array {
  const { speakerCount, threshold } = options;
  const byDistance = links.findIndex(({ distance }) => distance >= threshold);
  const applied =
    speakerCount === null
      ? byDistance < 0
        ? links.length
        : byDistance
      : Math.max(0, count - Math.max(1, speakerCount));
  const parents = Int32Array.from({ length: count }, (_, index) => index);
  const rootOf = (item: number): number => {
    let root = item;
    while (parents[root] !== root) root = parents[root]!;
    parents[item] = root;
    return root;
  };
  for (const { one, other } of links.slice(0, applied)) parents[rootOf(one)] = rootOf(other);
  return numberedByAppearance(Array.from({ length: count }, (_, index) => rootOf(index)));
}

function numberedByAppearance(groups: readonly number[]): Int32Array {
  const numbers = new Map<number, number>();
  return Int32Array.from(groups, (group) => {
    if (!numbers.has(group)) numbers.set(group, numbers.size);
    return numbers.get(group)!;
  });
}

function centresOf(unit: readonly Float32Array[], labels: Int32Array): Float32Array[] {
  const centres: Float32Array[] = [];
  for (const [index, row] of unit.entries()) {
    const label = labels[index]!;
    centres[label] ??= new Float32Array(row.length);
    for (let i = 0; i < row.length; i++) centres[label]![i]! += row[i]!;
  }
  return centres.map(normalized);
}

function nearest(row: Float32Array, centres: readonly Float32Array[]): number {
  let best = 0;
  for (let i = 1; i < centres.length; i++) if (dot(row, centres[i]!) > dot(row, centres[best]!)) best = i;
  return best;
}

/** Scales a vector to length 1; zeros stay zeros. */
function normalized(row: Float32Array): Float32Array {
  const length = Math.sqrt(dot(row, row));
  return length > 0 ? row.map((value) => value / length) : row;
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
