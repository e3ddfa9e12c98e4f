import { stat } from "node:fs/promises";
import { SHARED_FROM_BYTES } from "../../native/models/graph-files.js";
import { type PackageFolder, pathOf } from "../../native/models/package.js";

/** A thread with its heap, the runtime's working memory, and buffers of batches; measured, see this room's README. */
const WORKER_BYTES = 96 * 2 ** 20;

/**
 * Memory that each worker with a model takes for itself: its graphs, which the runtime packs once for every worker, and what
 * any worker needs. Graphs from a gigabyte on are not packed; their workers share the pages of the file.
 */
export async function workerBytes(model: PackageFolder): Promise<number> {
  const sizes = await Promise.all(Object.keys(model.manifest.files).map((name) => graphBytes(model, name)));
  return sizes.reduce((sum, bytes) => sum + (bytes < SHARED_FROM_BYTES ? bytes : 0), WORKER_BYTES);
}

/** Of a graph with its side files; 0 of any other file, and of one that is missing, which its load will tell. */
async function graphBytes(model: PackageFolder, name: string): Promise<number> {
  const file = model.manifest.files[name];
  if (file === undefined || !file.path.endsWith(".onnx")) return 0;
  const paths = [name, ...(file.external ?? [])].map((part) => pathOf(model, part));
  const sizes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
