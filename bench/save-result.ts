import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import type { Bench } from "tinybench";

/** Path of the repository's `bench/results`, from `dist/bench`. */
const RESULTS = fileURLToPath(new URL("../../bench/results/", import.meta.url));

/** Significant digits of saved numbers and raw samples; runs differ from the second digit on. */
const DIGITS = 5;
const SAMPLE_DIGITS = 4;
/** Lists with at least this many numbers contain raw samples. */
const SAMPLES = 8;

/** Origin of a saved result. */
export interface ResultOrigin {
  readonly name: string;
  /** Short hash, with `+` if tracked files differ from the commit; null outside a repository. */
  readonly commit: string | null;
  readonly date: string;
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryBytes: number };
  readonly node: string;
}

export function originOf(name: string): ResultOrigin {
  const cores = cpus();
  return {
    name,
    commit: commit(),
    date: new Date().toISOString(),
    machine: {
      cpu: cores[0]?.model ?? `${process.platform} ${process.arch}`,
      cores: cores.length,
      memoryBytes: totalmem(),
    },
    node: process.version,
  };
}

/**
 * Writes `bench/results/<name>.json`: origin, then `data` (parameters, measurements, raw samples).
 * @returns the file's path
 */
export async function saveResult(name: string, data: Readonly<Record<string, unknown>>): Promise<string> {
  await mkdir(RESULTS, { recursive: true });
  const path = `${RESULTS}${name}.json`;
  await writeFile(path, `${onFewLines({ ...originOf(name), ...data })}\n`);
  return path;
}

/**
 * Formats compact, readable JSON: lists of numbers and objects of single values are one line each.
 */
export function onFewLines(value: unknown): string {
  const to = (digits: number) => (item: unknown) =>
    typeof item === "number" && !Number.isInteger(item) ? Number(item.toPrecision(digits)) : item;
  const rounded = (_key: string, item: unknown) =>
    Array.isArray(item) && item.length >= SAMPLES ? item.map(to(SAMPLE_DIGITS)) : to(DIGITS)(item);
  const numbers = /\[\n\s+(?:(?:-?[\d.eE+-]+|null),?\s*)+\]/g;
  const flatObjects = /\{\n(?: +"[^"\n]*": [^{}[\]\n]+\n)+ +\}/g;
  return JSON.stringify(value, rounded, 1)
    .replace(numbers, (list) => list.replace(/\s+/g, ""))
    .replace(flatObjects, (object) => object.replace(/\n +/g, " "));
}

/** Returns the measurements of a finished tinybench run; its tasks need `retainSamples`. */
export function taskFigures(bench: Bench): { name: string; p50Ms: number; samplesMs: number[] }[] {
  return bench.tasks.map(({ name, result }) => {
    if (result.state !== "completed") throw new Error(`bench task "${name}" is ${result.state}`);
    const samplesMs = [...(result.latency.samples ?? [])];
    return { name, p50Ms: result.latency.p50, samplesMs };
  });
}

function commit(): string | null {
  try {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: RESULTS, encoding: "utf8" }).trim();
    return git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain", "-uno") === "" ? "" : "+");
  } catch {
    return null;
  }
}
