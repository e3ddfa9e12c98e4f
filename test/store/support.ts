import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoreConfig } from "../../src/store/store.js";

export function privateStore(dataDir: string, changes: Partial<StoreConfig> = {}): StoreConfig {
  return { dataDir, databaseUrl: null, devApiKey: null, keyPepper: null, ...changes };
}

/** Returns the URL of the private database that runs in a data folder. */
export async function databaseUrlOf(dataDir: string): Promise<string> {
  const { host, port, user, password, database } = JSON.parse(
    await readFile(join(dataDir, "postgres.json"), "utf8"),
  );
  return `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${database}`;
}
