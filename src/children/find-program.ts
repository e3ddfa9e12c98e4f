import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** A program, and the argument with which it tells its version and ends. */
export interface WantedProgram {
  readonly name: string;
  readonly versionArgument: string;
}

/** Absolute path of the first program of that name on `searchPath` which runs. */
export function findProgram({ name, versionArgument }: WantedProgram, searchPath: string): string | null {
  const folders = searchPath.split(delimiter).filter((folder) => isAbsolute(folder));
  const found = folders.map((folder) => join(folder, name)).find(isExecutable);
  if (found === undefined) return null;
  return spawnSync(found, [versionArgument], { stdio: "ignore", timeout: 30_000 }).status === 0
    ? found
    : null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us: the next folder is asked.
    return false;
  }
}
