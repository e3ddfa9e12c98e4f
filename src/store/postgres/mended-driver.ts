import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** SHA-256 of the driver's `connection.js` with all repairs of `scripts/patch-postgres.mjs`. */
const MENDED_SHA256 = "9f015f290881f8fa09c9431053ce7830670125993307cca895d94b1a5718ca72";

/**
 * Refuses a database driver without its repairs: one whose install scripts did not run (`--ignore-scripts`), or another
 * release. A connection that closes at the wrong moment would end the whole service, days later and without a reason.
 *
 * @param path of the driver's `connection.js`; that which is installed when absent
 * @throws {Error} naming what to run
 */
export function requireMendedDriver(path: string = installedConnection()): void {
  const found = createHash("sha256").update(readFileSync(path)).digest("hex");
  if (found === MENDED_SHA256) return;
  throw new Error(
    "the database driver is installed without its repairs, and a connection that closes would end the service " +
      `(${path}; was it installed with --ignore-scripts?). Run: node scripts/patch-postgres.mjs`,
  );
}

function installedConnection(): string {
  return fileURLToPath(new URL("connection.js", import.meta.resolve("postgres")));
}
