import type { AttackCase } from "../support/attack-case.js";
import { FLOODS } from "./floods.js";
import { REQUESTS } from "./requests.js";

/** All attacks of `npm run attack`. Each file in this folder covers one topic. */
export const CASES: readonly AttackCase[] = [...FLOODS, ...REQUESTS];
