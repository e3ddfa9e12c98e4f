import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ResultOrigin } from "../save-result.js";

/** Path of the repository, from `dist/bench/plots`. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Reads a saved result; `name` is its path from `bench/results`, without `.json`. */
export function resultOf<T>(name: string): ResultOrigin & T {
  return readJson(`bench/results/${name}.json`);
}

export function readJson<T>(path: string): ResultOrigin & T {
  return JSON.parse(readFileSync(`${ROOT}${path}`, "utf8"));
}

/** Returns the value below which `share` of the samples lie. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
