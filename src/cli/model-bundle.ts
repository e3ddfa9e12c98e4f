import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { PackageFolder } from "../../native/models/package.js";
import { packageFiles } from "../../native/models/package-files.js";
import { readablePackages } from "../models/folders.js";
import { bundlePackage } from "../models/hub/bundle.js";
import { type CommandInput, printLine, UsageError } from "./command.js";
import { Interruption } from "./interruption.js";
import { foldersOf, requireInstalled } from "./model-folders.js";
import { FileProgress } from "./model-progress.js";
import { megabytes, startProgress } from "./progress.js";

/** Runs `models bundle NAME -o FILE`. */
export async function bundleModel(input: CommandInput, name: string | null): Promise<void> {
  const output = input.options.text("output");
  if (output === null) throw new UsageError("bundle needs -o FILE");
  const found = requireInstalled(await readablePackages(foldersOf(input)), name!);
  const total = await sizeOf(found);
  const progress = new FileProgress();
  const stop = startProgress(input, () => progress.parts());
  const interruption = new Interruption();
  const path = resolve(output);
  try {
    const onBytes = (bytes: number) => progress.moved({ file: found.manifest.id, bytes, total });
    const { bytes } = await bundlePackage(found, path, { signal: interruption.signal, onBytes });
    stop();
    const { id } = found.manifest;
    if (input.options.isSet("json")) return printLine(JSON.stringify({ id, path, bytes }));
    printLine(
      `wrote ${id} to ${path}, ${megabytes(bytes)} MB; install it elsewhere with \`dauys models add --from FILE\``,
    );
  } finally {
    stop();
    interruption.over();
  }
}

async function sizeOf({ folder, manifest }: PackageFolder): Promise<number> {
  const sizes = packageFiles(manifest.files).map(async ({ path }) => (await stat(join(folder, path))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
