import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { LoadFigures } from "./load-process.js";

const LOAD_PROCESS = fileURLToPath(new URL("./load-process.js", import.meta.url));

/** @param seconds length of the utterance that a recogniser reads */
export async function measureLoad(folder: string, seconds: number): Promise<LoadFigures> {
  const { stdout } = await promisify(execFile)(process.execPath, [LOAD_PROCESS, folder, String(seconds)]);
  return JSON.parse(stdout) as LoadFigures;
}
