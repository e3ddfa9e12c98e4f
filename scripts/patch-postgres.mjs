// Part of `npm ci`: mends the database driver where a connection that closes ends the whole process, or loses a query
// (postgres-repairs.mjs). The service refuses a driver without its repairs (src/store/postgres/patched-driver.ts), which
// holds the hash of the patched file: a change of the repairs changes it there.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { REPAIRS } from "./postgres-repairs.mjs";

const MENDED_VERSION = "3.4.9";

// What modules import is src/index.js.
const entry = import.meta.resolve("postgres");
const { version } = JSON.parse(readFileSync(new URL("../package.json", entry), "utf8"));
const path = fileURLToPath(new URL("connection.js", entry));
let code = readFileSync(path, "utf8");
// An earlier version of this script may have made some of them.
const missing = REPAIRS.filter(([, wanted]) => !code.includes(wanted));
if (missing.length > 0 && version !== MENDED_VERSION) {
  throw new Error(`Cannot mend postgres ${version}, only ${MENDED_VERSION}: see whether it needs it still`);
}
for (const [found, wanted] of missing) {
  if (code.split(found).length !== 2) throw new Error(`Cannot mend ${path}: it is not that of ${version}`);
  code = code.replace(found, () => wanted);
}
if (missing.length > 0) writeFileSync(path, code);
