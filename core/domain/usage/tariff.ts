/** Credits per unit of use, as a fraction of whole numbers. */
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

/** What is metered. Files and live sessions count samples, synthesis counts characters. */
export type UsageKind = "synthesis" | "file" | "live";

export type Tariffs = Readonly<Record<UsageKind, Tariff>>;

export const DEFAULT_TARIFFS: Tariffs = { synthesis: SYNTHESIS_TARIFF, file: FILE_TARIFF, live: LIVE_TARIFF };

/** What every new organization is given: one US dollar. */
export const FREE_GRANT_CREDITS = 25_000;

/** So many units at so many a second; characters come at 1. */
export interface Quantity {
  readonly units: number;
  readonly unitsPerSecond: number;
}

/** Credits for a use of any kind. */
export function creditsFor({ units, unitsPerSecond }: Quantity, tariff: Tariff): number {
  return ceilingOfFraction(units * tariff.credits, unitsPerSecond * tariff.perUnits);
}

/** Rounds up in whole numbers: money never passes through a fraction. */
function ceilingOfFraction(numerator: number, denominator: number): number {
  if (!Number.isSafeInteger(numerator) || numerator < 0) {
    throw new RangeError(`Cannot price a use: it must be a whole number of units, received ${numerator}`);
  }
  if (!Number.isSafeInteger(denominator) || denominator <= 0) {
    throw new RangeError(
      `Cannot price a use: its rate must be a positive whole number, received ${denominator}`,
    );
  }
  const rest = numerator % denominator;
  return (numerator - rest) / denominator + (rest > 0 ? 1 : 0);
}
