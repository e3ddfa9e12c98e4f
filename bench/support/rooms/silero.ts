import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import type { SealedFolder } from "../../../native/models/package.js";
import { SileroVad } from "../../../native/models/silero-vad.js";
import { ROOT } from "../../evaluate/paths.js";

const FOLDER = join(ROOT, "bench/.cache/silero");
export const SILERO_PACKAGE = "@ricky0123/vad-web@0.0.31";
const FILES = {
  v6: {
    path: "silero_vad_v6.onnx",
    sha256: "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
  },
  v5: {
    path: "silero_vad_v5.onnx",
    sha256: "2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f",
  },
} as const;
export const SILERO_WINDOW_SAMPLES = 512;

export type SileroVersion = keyof typeof FILES;
export const SILERO_VERSIONS = Object.keys(FILES) as SileroVersion[];

/** Silero VAD with public weights. */
export interface Silero {
  /** Probability of speech in each whole window of a recording. */
  windows(pcm: Int16Array): Promise<Float32Array>;
  release(): Promise<void>;
}

/** Returns whether the weights have been downloaded. */
export function hasSilero(): boolean {
  return Object.values(FILES).every(({ path }) => existsSync(join(FOLDER, path)));
}

/**
 * Loads one version; the first call downloads the weights.
 *
 * @throws an error with the file if its hash is wrong
 */
export async function openSilero(version: SileroVersion): Promise<Silero> {
  const vad = await SileroVad.load(await sileroPackage(version), { intraOpThreads: 1 });
  return { windows: (pcm) => windowsOf(vad, pcm), release: () => vad.release() };
}

/**
 * Loads one version as the file `vad` of a package; the first call downloads the weights.
 *
 * @throws an error with the file if its hash is wrong
 */
export async function sileroPackage(version: SileroVersion): Promise<SealedFolder> {
  if (!hasSilero()) await download();
  const { path, sha256 } = FILES[version];
  const found = createHash("sha256")
    .update(await readFile(join(FOLDER, path)))
    .digest("hex");
  if (found !== sha256) throw new Error(`${join(FOLDER, path)} must have SHA-256 ${sha256}, found ${found}`);
  return { folder: FOLDER, manifest: { id: `silero-${version}`, files: { vad: FILES[version] } } };
}

async function windowsOf(vad: SileroVad, pcm: Int16Array): Promise<Float32Array> {
  const samples = toFloat(pcm);
  const state = new Float32Array(vad.stateSize);
  const probabilities = new Float32Array(Math.floor(samples.length / SILERO_WINDOW_SAMPLES));
  for (let window = 0; window < probabilities.length; window++) {
    const start = window * SILERO_WINDOW_SAMPLES;
    probabilities[window] = await vad.push(state, samples.subarray(start, start + SILERO_WINDOW_SAMPLES));
  }
  return probabilities;
}

/** Downloads the package without its dependency, a runtime, and keeps only the weights. */
async function download(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const packed = join(
    FOLDER,
    run("npm", ["pack", "--silent", "--pack-destination", FOLDER, SILERO_PACKAGE]).trim(),
  );
  const paths = Object.values(FILES).map(({ path }) => `package/dist/${path}`);
  run("tar", ["-xzf", packed, "-C", FOLDER, "--strip-components=2", ...paths]);
  await rm(packed);
}

function run(command: string, args: readonly string[]): string {
  const { status, stdout } = spawnSync(command, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`Cannot install ${SILERO_PACKAGE}: ${command} ${args[0]} failed`);
  return stdout;
}
