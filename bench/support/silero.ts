import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SealedFolder } from "../../native/models/package.js";

/** Below the repository, seen from `dist/bench/support`. */
const CACHE = fileURLToPath(new URL("../../../bench/.cache/silero/", import.meta.url));
const FOLDER = join(CACHE, "node_modules/@ricky0123/vad-web/dist");
export const SILERO_PACKAGE = "@ricky0123/vad-web@0.0.31";
const FILE = {
  path: "silero_vad_v6.onnx",
  sha256: "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
} as const;

/**
 * Silero VAD 6 as the file `vad` of a package, installed beside the benches once.
 * @throws an error that says what failed, and when the file is not the pinned one
 */
export async function prepareSilero(): Promise<SealedFolder> {
  const path = join(FOLDER, FILE.path);
  if (!existsSync(path)) {
    await mkdir(CACHE, { recursive: true });
    const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", CACHE];
    const { status } = spawnSync("npm", ["install", ...options, SILERO_PACKAGE], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (status !== 0) throw new Error(`Cannot prepare Silero VAD: npm install ${SILERO_PACKAGE} failed`);
  }
  const found = createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
  if (found !== FILE.sha256)
    throw new Error(`Cannot use ${path}: sha256 must be ${FILE.sha256}, found ${found}`);
  return { folder: FOLDER, manifest: { id: SILERO_PACKAGE, files: { vad: FILE } } };
}
