import { assert as assertOf, type IAsyncProperty, type IProperty, type Parameters } from "fast-check";
import { RUN_FACTOR, SEED } from "./seed.js";

/** fast-check with the seed and run factor of `seed.ts`. Tests import it only from this file. */
export * from "fast-check";

/** The default number of runs in fast-check. */
const DEFAULT_RUNS = 100;

export function assert<Ts>(property: IAsyncProperty<Ts>, parameters?: Parameters<Ts>): Promise<void>;
export function assert<Ts>(property: IProperty<Ts>, parameters?: Parameters<Ts>): void;
export function assert<Ts>(
  property: IAsyncProperty<Ts> | IProperty<Ts>,
  parameters: Parameters<Ts> = {},
): Promise<void> | void {
  const numRuns = Math.ceil((parameters.numRuns ?? DEFAULT_RUNS) * RUN_FACTOR);
  return assertOf(property as IProperty<Ts>, { seed: SEED, ...parameters, numRuns });
}
