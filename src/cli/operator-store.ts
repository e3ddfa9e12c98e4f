import { stat } from "node:fs/promises";
import type { Store } from "../store/store.js";
import { CommandError, type CommandInput } from "./command.js";
import { exitCodeOf } from "./interruption.js";

/** Note in the help of commands that open the database. */
export const DATABASE_NOTE =
  "Works on the service's database, whether or not the service is running (see `dauys help connection`).";

/**
 * Runs `work` on the service's store: the database of `DATABASE_URL`, or the private one in `DATA_DIR`, which
 * is started for this command if no service is running.
 */
export async function withStore(input: CommandInput, work: (store: Store) => Promise<void>): Promise<void> {
  const [{ createLog }, { openStore }, { readConfig }] = await operatorModules(() =>
    Promise.all([
      import("../../core/observe/log.js"),
      import("../store/store.js"),
      import("../settings/settings.js"),
    ]),
  );
  const config = readConfig(input.environment);
  await refuseStrayFolder(config.databaseUrl, config.dataDir);
  const level = input.environment["LOG_LEVEL"] ? config.logLevel : "error";
  const log = createLog({ level, destination: process.stderr });
  const store = await openStore(config, log, { purpose: "command" });
  // Without these handlers, a signal would end the command before the private server has stopped.
  const stop = (signal: NodeJS.Signals) => process.exit(exitCodeOf(signal));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    await work(store);
  } finally {
    await store.close();
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

/** Loads modules that only operator commands need; the client package omits them. */
export async function operatorModules<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const advice = "this command is not in the client package; run it in the service's own folder";
    throw new CommandError(advice, { cause: error });
  }
}

/** Rejects a wrong working directory, in which the default `./data` would become a new, empty database. */
async function refuseStrayFolder(databaseUrl: string | null, dataDir: string): Promise<void> {
  if (databaseUrl !== null) return;
  if ((await stat(dataDir).catch(() => null))?.isDirectory() === true) return;
  throw new CommandError(
    `no data folder at ${dataDir}; run this in the service's folder, or set DATA_DIR or DATABASE_URL`,
  );
}
