// Part of `npm ci`: patches the database driver where a closing connection ends the whole process, or loses a
// query (postgres-repairs.mjs). The service does not start with an unpatched driver
// (src/store/postgres/patched-driver.ts has the hash of the patched file): if you change the repairs, change
// the hash too.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { REPAIRS } from "./postgres-repairs.mjs";

const MENDED_VERSION = "3.4.9";

// Modules import src/index.js.
const entry = import.meta.resolve("postgres");
const { version } = JSON.parse(readFileSync(new URL("../package.json", entry), "utf8"));
const path = fileURLToPath(new URL("connection.js", entry));
let code = readFileSync(path, "utf8");
// An earlier version of this script may have applied some of them.
const missing = REPAIRS.filter(([, wanted]) => !code.includes(wanted));
if (missing.length > 0 && version !== MENDED_VERSION) {
  throw new Error(
    `Cannot patch postgres ${version}, only ${MENDED_VERSION}: check whether it still needs the patch`,
  );
}
for (const [found, wanted] of missing) {
  if (code.split(found).length !== 2)
    throw new Error(`Cannot patch ${path}: it is not the file of ${version}`);
  code = code.replace(found, () => wanted);
}
if (missing.length > 0) writeFileSync(path, code);
