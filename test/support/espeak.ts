import { findEspeak } from "../../native/phonemes/espeak.js";

/** The path of espeak-ng, which `npm test` installs as root; null if it is missing. */
export const ESPEAK = findEspeak(process.env["PATH"] ?? "");

/** Options of tests that need it. */
export const NEEDS_ESPEAK = { skip: ESPEAK === null ? "espeak-ng is not installed" : false };
