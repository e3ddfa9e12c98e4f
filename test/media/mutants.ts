/**
 * Damaged copies of a file, one after the other: bits flipped, bytes set to extremes, runs cut out, doubled, zeroed or
 * moved, the end missing. The beginning, where containers say what they are, is hit as often as all the rest.
 */
export function* mutantsOf(file: Uint8Array, count: number, seed: number): Generator<Uint8Array> {
  const next = uniform(seed);
  for (let i = 0; i < count; i++) {
    let mutant = new Uint8Array(file);
    const wounds = 1 + Math.floor(next() ** 2 * 6);
    for (let wound = 0; wound < wounds && mutant.length > 16; wound++) mutant = wounded(mutant, next);
    yield mutant;
  }
}

function wounded(bytes: Uint8Array, next: () => number): Uint8Array<ArrayBuffer> {
  const reach = next() < 0.5 ? Math.min(bytes.length, 600) : bytes.length;
  const at = Math.floor(next() * reach);
  const run = 1 + Math.floor(next() ** 3 * 400);
  const copy = new Uint8Array(bytes);
  switch (Math.floor(next() * 7)) {
    case 0:
      copy[at] = copy[at]! ^ (1 << Math.floor(next() * 8));
      return copy;
    case 1:
      copy[at] = [0, 0x7f, 0x80, 0xff][Math.floor(next() * 4)]!;
      return copy;
    case 2:
      return copy.fill(next() < 0.5 ? 0 : 0xff, at, at + Math.min(run, 8));
    case 3:
      return joined(copy.subarray(0, at), copy.subarray(at + run));
    case 4:
      return joined(copy.subarray(0, at + run), copy.subarray(at));
    case 5:
      return copy.copyWithin(at, Math.floor(next() * bytes.length), Math.floor(next() * bytes.length));
    default:
      return copy.slice(0, Math.max(1, Math.floor(next() * bytes.length)));
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

/** Numbers from 0 to 1 that a seed determines. @see mulberry32, Tommy Ettinger, public domain */
function uniform(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
