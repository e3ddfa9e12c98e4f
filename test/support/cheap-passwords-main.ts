// The service as `src/main.ts` runs it, but for what a password costs: for tests that sign up many people.
import { runService } from "../../src/service/process.js";
import { CHEAP_PASSWORDS } from "./cheap-passwords.js";

runService({ passwordCost: CHEAP_PASSWORDS });
