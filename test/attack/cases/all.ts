import type { AttackCase } from "../support/attack-case.js";
import { FLOODS } from "./floods.js";
import { REQUESTS } from "./requests.js";

/** Every attack of `npm run attack`; a topic is a file of this folder. */
export const CASES: readonly AttackCase[] = [...FLOODS, ...REQUESTS];
