// Runs the service like `src/main.ts`, with a lower password cost, for tests that sign up many users.
import { runService } from "../../src/service/process.js";
import { CHEAP_PASSWORDS } from "./cheap-passwords.js";

runService({ passwordCost: CHEAP_PASSWORDS });
