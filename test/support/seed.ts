import { relative } from "node:path";

/** The gate uses the same cases every time, so that it fails only because of a change in the code. */
const GATE_SEED = 20_261_121;

/** The seed of random cases: `PROPERTY_SEED=<number>`, or `random` for a search, which prints its seed. */
export const SEED = seedFrom(process.env["PROPERTY_SEED"]);

/** Multiplies the number of cases, for example `PROPERTY_RUNS=20`. */
export const RUN_FACTOR = factorFrom(process.env["PROPERTY_RUNS"]);

/** Returns a generator of numbers from 0 to 1. @see mulberry32, Tommy Ettinger, public domain */
export function uniform(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function seedFrom(setting: string | undefined): number {
  if (setting === undefined) return GATE_SEED;
  const seed = setting === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(setting);
  if (!Number.isInteger(seed))
    throw new Error(`PROPERTY_SEED must be an integer or "random", received ${setting}`);
  console.log(`PROPERTY_SEED=${seed} in ${relative(process.cwd(), process.argv[1] ?? "")}`);
  return seed;
}

function factorFrom(setting: string | undefined): number {
  const factor = Number(setting ?? 1);
  if (!(factor > 0)) throw new Error(`PROPERTY_RUNS must be a number above 0, received ${setting}`);
  return factor;
}
