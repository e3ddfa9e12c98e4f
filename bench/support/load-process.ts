// Loads one package in a separate process, and prints the cost: `LoadFigures` as JSON.
import { readFileSync } from "node:fs";
import { synthesizerFamilyOf } from "../../native/models/families.js";
import { readManifest, readPackage } from "../../native/models/find-packages.js";
import type { SynthesizerManifest } from "../../native/models/manifest.js";
import { recognizerIn } from "./recognizer.js";

/** Cost of loading a package in an otherwise empty process. Bytes are resident. */
export interface LoadFigures {
  /** Loading time, which includes the hash check. */
  readonly loadMs: number;
  readonly beforeBytes: number;
  readonly loadedBytes: number;
  /** The part of `loadedBytes` in file pages, which the system may reclaim. */
  readonly mappedBytes: number;
  /** Peak memory so far. */
  readonly peakBytes: number;
  /** Memory after a recogniser has transcribed an utterance; null for voices. */
  readonly workedBytes: number | null;
  readonly workedPeakBytes: number | null;
}

const SECOND_SAMPLES = 16_000;

const [folder = "", seconds = "0"] = process.argv.slice(2);
const manifest = await readManifest(folder);
const beforeBytes = bytesOf("VmRSS");
const startedAtMs = performance.now();
if (manifest?.task === "transcription") {
  const { model } = await recognizerIn(folder);
  const loaded = figures();
  // Use quiet noise, since only its length matters.
  const pcm = Float32Array.from(
    { length: Number(seconds) * SECOND_SAMPLES },
    (_, i) => Math.sin(i * i) / 100,
  );
  await model.decodeUtterance(pcm);
  print({ ...loaded, workedBytes: bytesOf("VmRSS"), workedPeakBytes: bytesOf("VmHWM") });
  await model.release();
} else {
  const model = await readPackage<SynthesizerManifest>(folder, "synthesis");
  await synthesizerFamilyOf(model.manifest).load(model, { intraOpThreads: 1 });
  print({ ...figures(), workedBytes: null, workedPeakBytes: null });
  process.exit();
}

function figures(): Omit<LoadFigures, "workedBytes" | "workedPeakBytes"> {
  return {
    loadMs: performance.now() - startedAtMs,
    beforeBytes,
    loadedBytes: bytesOf("VmRSS"),
    mappedBytes: bytesOf("RssFile"),
    peakBytes: bytesOf("VmHWM"),
  };
}

function bytesOf(field: "VmRSS" | "VmHWM" | "RssFile" | "VmHWM"): number {
  const match = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync("/proc/self/status", "utf8"));
  return Number(match?.[1] ?? 0) * 1_024;
}

function print(value: LoadFigures): void {
  console.log(JSON.stringify(value));
}
