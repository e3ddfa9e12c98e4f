import { findEspeak } from "../../native/phonemes/espeak.js";

/** Path of Debian's espeak-ng. `npm test` installs it as root. */
export const ESPEAK = findEspeak(process.env["PATH"] ?? "");

/** For the options of a test that needs it. */
export const NEEDS_ESPEAK = { skip: ESPEAK === null ? "espeak-ng is not installed" : false };
