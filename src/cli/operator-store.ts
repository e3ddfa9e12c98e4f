import { stat } from "node:fs/promises";
import type { Store } from "../store/store.js";
import { CommandError, type CommandInput } from "./command.js";
import { exitCodeOf } from "./interruption.js";
import { operatorsPart } from "./operators-part.js";

/** What the help of operators' commands says about where they work. */
export const OPERATOR_HELP =
  "works on DATABASE_URL, or on the private database in DATA_DIR, whether the service runs or not";

/**
 * Runs `work` on the service's store: the database of `DATABASE_URL`, the private one of a service that runs, or that
 * one started for the moment.
 */
export async function withStore(input: CommandInput, work: (store: Store) => Promise<void>): Promise<void> {
  const { createLog, openStore, readConfig } = await loadStore();
  const config = readConfig(input.environment);
  await refuseStrayFolder(config.databaseUrl, config.dataDir);
  const level = input.environment["LOG_LEVEL"] ? config.logLevel : "error";
  const log = createLog({ level, destination: process.stderr });
  const store = await openStore(config, log, { purpose: "command" });
  // Without this a signal would end the command at once and leave the private server to the kernel.
  const stop = (signal: NodeJS.Signals) => process.exit(exitCodeOf(signal));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await work(store);
  } finally {
    await store.close();
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

async function loadStore() {
  const [{ createLog }, { openStore }, { readConfig }] = await operatorsPart(() =>
    Promise.all([
      import("../observe/log.js"),
      import("../store/store.js"),
      import("../settings/settings.js"),
    ]),
  );
  return { createLog, openStore, readConfig };
}

/** In a wrong working directory the default `./data` would silently become a new, empty database. */
async function refuseStrayFolder(databaseUrl: string | null, dataDir: string): Promise<void> {
  if (databaseUrl !== null) return;
  if ((await stat(dataDir).catch(() => null))?.isDirectory() === true) return;
  throw new CommandError(
    `there is no data folder ${dataDir}: run this where the service runs, or set DATA_DIR or DATABASE_URL`,
  );
}
