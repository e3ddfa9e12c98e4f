import { creditsFor, DEFAULT_TARIFFS } from "../../core/domain/usage/tariff.js";

/** Returns the default price of a file with `sampleCount` samples per channel at its own rate. */
export function fileCredits(sampleCount: number, sampleRateHz: number): number {
  return creditsFor({ units: sampleCount, unitsPerSecond: sampleRateHz }, DEFAULT_TARIFFS.file);
}

/** Returns the default price of a live session that accepted `sampleCount` samples. */
export function liveCredits(sampleCount: number, sampleRateHz: number): number {
  return creditsFor({ units: sampleCount, unitsPerSecond: sampleRateHz }, DEFAULT_TARIFFS.live);
}

/** Returns the default price of `billedCharacters` Unicode code points of text. */
export function synthesisCredits(billedCharacters: number): number {
  return creditsFor({ units: billedCharacters, unitsPerSecond: 1 }, DEFAULT_TARIFFS.synthesis);
}
