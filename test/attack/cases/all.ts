import type { AttackCase } from "../support/attack-case.js";
import { FLOODS } from "./floods.js";
import { REQUESTS } from "./requests.js";
import { SPEECH } from "./speech.js";

/** Every attack of `npm run attack`; each file of this folder is a topic. */
export const CASES: readonly AttackCase[] = [...FLOODS, ...SPEECH, ...REQUESTS];
