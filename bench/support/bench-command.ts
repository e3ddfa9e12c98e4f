import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { BenchResult } from "../../src/cli/bench/result.js";

const DAUYS = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));
const RATE_HZ = 16_000;
const MOST_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs `dauys bench` in a separate process, as users do. */
export async function benched(url: string, key: string, args: readonly string[]): Promise<BenchResult> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [DAUYS, "bench", url, "--key", key, "--json", "--quiet", ...args],
    { maxBuffer: MOST_OUTPUT_BYTES },
  );
  return JSON.parse(stdout) as BenchResult;
}

/** Writes a WAV file at 16 kHz and its text, as `--clips` expects them. */
export async function writeClip(folder: string, name: string, pcm: Int16Array, text: string): Promise<void> {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + pcm.byteLength, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(RATE_HZ, 24);
  head.writeUInt32LE(2 * RATE_HZ, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(pcm.byteLength, 40);
  const bytes = new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  await writeFile(join(folder, `${name}.wav`), Buffer.concat([head, bytes]));
  await writeFile(join(folder, `${name}.txt`), text);
}
