/** Credits per unit of use, as a fraction of integers. */
export interface Tariff {
  readonly credits: number;
  readonly perUnits: number;
}

/** 2.5 credits per second of a file. */
const FILE_TARIFF: Tariff = { credits: 5, perUnits: 2 };
/** 6 credits per second of live audio. */
export const LIVE_TARIFF: Tariff = { credits: 6, perUnits: 1 };
/** 2 credits per 5 billed characters. */
export const SYNTHESIS_TARIFF: Tariff = { credits: 2, perUnits: 5 };

/** Metered kinds of work. Files and live sessions count samples, synthesis counts characters. */
export type UsageKind = "synthesis" | "file" | "live";

export type Tariffs = Readonly<Record<UsageKind, Tariff>>;

export const DEFAULT_TARIFFS: Tariffs = { synthesis: SYNTHESIS_TARIFF, file: FILE_TARIFF, live: LIVE_TARIFF };

/** Grant of a new organization, worth one US dollar. */
export const FREE_GRANT_CREDITS = 25_000;

/** An amount of use; `unitsPerSecond` is the sample rate, or 1 for characters. */
export interface Quantity {
  readonly units: number;
  readonly unitsPerSecond: number;
}

/** Returns the price of usage, rounded up; integer arithmetic keeps it exact. */
export function creditsFor({ units, unitsPerSecond }: Quantity, tariff: Tariff): number {
  const numerator = units * tariff.credits;
  const denominator = unitsPerSecond * tariff.perUnits;
  if (!Number.isSafeInteger(numerator) || numerator < 0)
    throw new RangeError(`cannot price a use: units must be a whole number, received ${numerator}`);
  if (!Number.isSafeInteger(denominator) || denominator <= 0)
    throw new RangeError(`cannot price a use: rate must be a positive integer, received ${denominator}`);
  const rest = numerator % denominator;
  return (numerator - rest) / denominator + (rest > 0 ? 1 : 0);
}
