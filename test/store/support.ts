import type { StoreConfig } from "../../src/store/store.js";

export function privateStore(dataDir: string, changes: Partial<StoreConfig> = {}): StoreConfig {
  return { dataDir, databaseUrl: null, devApiKey: null, keyPepper: null, ...changes };
}
