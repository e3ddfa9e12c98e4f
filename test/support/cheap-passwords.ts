import { fileURLToPath } from "node:url";
import type { PasswordCost } from "../../src/console/server/passwords.js";

/**
 * The default cost takes a third of a second of CPU, which is most of the time of signing up or signing in.
 */
export const CHEAP_PASSWORDS: PasswordCost = { N: 2 ** 10, r: 8, p: 1 };
/** The program that runs the service with this cost; see `startServiceProcess`. */
export const CHEAP_PASSWORDS_MAIN = fileURLToPath(new URL("./cheap-passwords-main.js", import.meta.url));
