import { CommandError } from "./command.js";

/** Loads what only operators' commands need: the packed library holds the commands that speak to a service, and none of it. */
export async function operatorsPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const advice = "operators' commands are not in the client package: run them in the service's own folder";
    throw new CommandError(advice, { cause: error });
  }
}
