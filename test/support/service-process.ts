import { rm } from "node:fs/promises";
import {
  type ServiceProcess,
  type ServiceProcessOptions,
  startServiceProcess as startProcess,
} from "../../bench/support/service-process.js";
import { temporaryFolder } from "./folders.js";
import { prepareDatabase } from "./prepared-database.js";

export { creditDevelopment, type ServiceProcess, TEST_KEY } from "../../bench/support/service-process.js";

/**
 * Starts the real service in a process of its own. Its database was made before, unless its folder has one, and its
 * models are loaded by the first request that needs them: `MODEL_PRELOAD: "true"` for a test that watches the clock.
 */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>> = {},
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  const ownDir = environment["DATA_DIR"] === undefined ? await temporaryFolder() : null;
  const dataDir = environment["DATA_DIR"] ?? ownDir!;
  if (environment["DATABASE_URL"] === undefined) await prepareDatabase(dataDir);
  const service = await startProcess({ MODEL_PRELOAD: "false", ...environment, DATA_DIR: dataDir }, options);
  return {
    ...service,
    stop: async () => {
      const code = await service.stop();
      if (ownDir !== null) await rm(ownDir, { recursive: true, force: true });
      return code;
    },
  };
}
