import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** A program, and the argument that makes it print its version. */
export interface WantedProgram {
  readonly name: string;
  readonly versionArgument: string;
}

const TRIED = { stdio: "ignore", timeout: 30_000 } as const;

/** Returns the absolute path of the first program of that name on `searchPath`, if it runs. */
export function findProgram({ name, versionArgument }: WantedProgram, searchPath: string): string | null {
  const found = pathOfProgram(name, searchPath);
  if (found === null) return null;
  return spawnSync(found, [versionArgument], TRIED).status === 0 ? found : null;
}

/** Returns the absolute path of the first program of that name on `searchPath`, without running it. */
export function pathOfProgram(name: string, searchPath: string): string | null {
  const folders = searchPath.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

/** Returns whether a program runs, without blocking the thread. */
export async function runsProgram(path: string, versionArgument: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(path, [versionArgument], TRIED);
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Missing or not executable: try the next folder.
    return false;
  }
}
