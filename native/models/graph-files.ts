import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, normalize, relative } from "node:path";
import {
  brokenModel,
  type GraphVariant,
  graphFile,
  namedFile,
  placeOf,
  requireHash,
  type SealedFolder,
  unreadable,
} from "./package.js";
import type { PackageFile } from "./package-files.js";

/** Size from which a graph keeps no packed weights: runs take 10 % longer, but workers share all weights. */
export const SHARED_FROM_BYTES = 2 ** 30;

const READ_BYTES = 1 << 20;
/**
 * Marks the name of a side file in a graph: an entry of a tensor's `external_data` with the key `location`,
 * followed by its value. Every exporter uses this format; a graph in another format is still pinned by its
 * hash.
 */
const LOCATION_KEY = Buffer.from("\n\x08location\x12", "latin1");
const LONGEST_LOCATION = 1_024;

/** A graph on disk and the files with its weights, hashed and unchanged since. */
export interface GraphFiles {
  readonly path: string;
  readonly name: string;
  readonly variant: GraphVariant;
  readonly byteCount: number;
  readonly hasSideFiles: boolean;
  /** @throws {ServiceError} `MODEL_BROKEN` if a file is no longer the one that was hashed */
  requireUnchanged(): Promise<void>;
}

/**
 * Checks the hashes of a graph and of its side files, in constant memory.
 *
 * @param placement where the graph will run, which selects its variant
 * @throws {ServiceError} `MODEL_BROKEN` if a file is missing, has another hash, or is a side file that the
 *   manifest does not list
 */
export async function checkGraphFiles(
  model: SealedFolder,
  name: string,
  placement: { readonly provider: string } = { provider: "cpu" },
): Promise<GraphFiles> {
  const { variant, external = [], ...file } = graphFile(model, name, placement);
  const path = placeOf(model, file);
  const graph = await hashFile(model, file, new LocationFinder());
  const sides = [];
  for (const side of external) sides.push(await hashFile(model, namedFile(model, side), null));
  const named = sides.map((side) => relative(dirname(path), side.path));
  const unnamed = graph.locations.find((location) => !named.includes(normalize(location)));
  const fullName = `${model.manifest.id}/${file.path}`;
  if (unnamed !== undefined) {
    const field = variant === "gpu" ? `${name}.gpu` : name;
    const rule = `its weights are in ${unnamed}, which files.${field}.external does not list`;
    throw brokenModel(`Cannot load ${fullName}: ${rule}`);
  }
  const all = [graph, ...sides];
  return {
    path,
    name: fullName,
    variant,
    byteCount: all.reduce((total, file) => total + Number(file.identity.size), 0),
    hasSideFiles: sides.length > 0,
    requireUnchanged: async () => {
      for (const file of all) await file.requireUnchanged();
    },
  };
}

/**
 * The attributes that change when a file is written or replaced. Excludes the ctime, which changes with every
 * new hard link, because packages share files that way.
 */
interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

async function hashFile(model: SealedFolder, file: PackageFile, finder: LocationFinder | null) {
  const path = placeOf(model, file);
  const hash = createHash("sha256");
  let identity: FileIdentity;
  try {
    identity = await stat(path, { bigint: true });
    for await (const bytes of createReadStream(path, { highWaterMark: READ_BYTES })) {
      hash.update(bytes as Buffer);
      finder?.push(bytes as Buffer);
    }
  } catch (error) {
    throw unreadable(model, path, error);
  }
  requireHash(model, file, hash.digest("hex"));
  const requireUnchanged = async (): Promise<void> => {
    const now = await stat(path, { bigint: true }).catch((error: unknown) => {
      throw unreadable(model, path, error);
    });
    const { dev, ino, size, mtimeNs } = identity;
    if (now.dev === dev && now.ino === ino && now.size === size && now.mtimeNs === mtimeNs) return;
    throw brokenModel(`Cannot load ${model.manifest.id}: ${path} was changed while it was loaded`);
  };
  return { path, identity, locations: finder?.locations ?? [], requireUnchanged };
}

/** Finds the names of side files in the bytes of a graph, however they are split into chunks. */
export class LocationFinder {
  readonly #locations = new Set<string>();
  /** The last bytes so far, in which an entry may start. */
  #held = Buffer.alloc(0);

  get locations(): readonly string[] {
    return [...this.#locations];
  }

  push(bytes: Buffer): void {
    const joined = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    let at = joined.indexOf(LOCATION_KEY);
    while (at >= 0) {
      const location = locationAt(joined, at + LOCATION_KEY.length);
      if (location === null) break;
      if (location !== "") this.#locations.add(location);
      at = joined.indexOf(LOCATION_KEY, at + LOCATION_KEY.length);
    }
    const keepFrom = at >= 0 ? at : Math.max(0, joined.length - LOCATION_KEY.length + 1);
    this.#held = Buffer.from(joined.subarray(keepFrom));
  }
}

/** Reads a name; null if the bytes end within it, empty if it is not a name. */
function locationAt(bytes: Buffer, offset: number): string | null {
  const first = bytes[offset];
  if (first === undefined) return null;
  let length = first & 0x7f;
  let start = offset + 1;
  if (first >= 0x80) {
    const second = bytes[start++];
    if (second === undefined) return null;
    length |= second << 7;
  }
  if (length > LONGEST_LOCATION) return "";
  return bytes.length < start + length ? null : bytes.toString("utf8", start, start + length);
}
