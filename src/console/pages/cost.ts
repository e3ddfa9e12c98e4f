import { creditsFor, SYNTHESIS_TARIFF } from "../../../core/domain/usage/tariff.js";
import type { Prices } from "./api.js";

/** Credits that a text costs when all of it is spoken; by the usual tariff while the service's own is not known. */
export function speechCredits(text: string, prices: Prices | null): number {
  const told = prices?.tariffs.synthesis;
  const tariff = told === undefined ? SYNTHESIS_TARIFF : { credits: told.credits, perUnits: told.per_units };
  return creditsFor({ units: [...text].length, unitsPerSecond: 1 }, tariff);
}
