import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** SHA-256 of the driver's `connection.js` with all patches of `scripts/patch-postgres.mjs`. */
const PATCHED_SHA256 = "9f015f290881f8fa09c9431053ce7830670125993307cca895d94b1a5718ca72";

/**
 * Rejects an unpatched database driver, as after `npm ci --ignore-scripts` or an update. With one, a
 * connection that closes at the wrong moment would end the service days later.
 *
 * @param path path of the driver's `connection.js`
 * @throws {Error} that says which command to run
 */
export function requirePatchedDriver(path: string = installedConnection()): void {
  const found = createHash("sha256").update(readFileSync(path)).digest("hex");
  if (found === PATCHED_SHA256) return;
  throw new Error(
    `the database driver is not patched, so a connection that closes would end the service (${path}; was it ` +
      "installed with --ignore-scripts?). Run: node scripts/patch-postgres.mjs",
  );
}

function installedConnection(): string {
  return fileURLToPath(new URL("connection.js", import.meta.resolve("postgres")));
}
