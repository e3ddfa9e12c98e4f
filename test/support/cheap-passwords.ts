import { fileURLToPath } from "node:url";
import type { PasswordCost } from "../../src/console/server/passwords.js";

/** A hash of the service's own takes a third of a second of a core, which is what most of signing up and in costs. */
export const CHEAP_PASSWORDS: PasswordCost = { N: 2 ** 10, r: 8, p: 1 };
/** The program that runs the service with them; see `startServiceProcess`. */
export const CHEAP_PASSWORDS_MAIN = fileURLToPath(new URL("./cheap-passwords-main.js", import.meta.url));
