import { creditsFor, DEFAULT_TARIFFS } from "../../core/domain/usage/tariff.js";

/** Credits at default prices for a file of `sampleCount` samples per channel at its own rate. */
export function fileCredits(sampleCount: number, sampleRateHz: number): number {
  return creditsFor({ units: sampleCount, unitsPerSecond: sampleRateHz }, DEFAULT_TARIFFS.file);
}

/** Credits at default prices for a live session that accepted `sampleCount` samples. */
export function liveCredits(sampleCount: number, sampleRateHz: number): number {
  return creditsFor({ units: sampleCount, unitsPerSecond: sampleRateHz }, DEFAULT_TARIFFS.live);
}

/** Credits at default prices for `billedCharacters` Unicode code points of submitted text. */
export function synthesisCredits(billedCharacters: number): number {
  return creditsFor({ units: billedCharacters, unitsPerSecond: 1 }, DEFAULT_TARIFFS.synthesis);
}
