import { CommandError } from "./command.js";

/** Loads modules that only operators' commands need: the client package leaves them out. */
export async function operatorsPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const advice = "this command is not in the client package; run it in the service's own folder";
    throw new CommandError(advice, { cause: error });
  }
}
