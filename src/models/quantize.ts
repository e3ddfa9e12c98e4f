import { createHash } from "node:crypto";
import { copyFile, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ServiceError } from "../../core/domain/errors.js";
import { readManifest } from "../../native/models/find-packages.js";
import type { ExternalPlace } from "./onnx/graph-messages.js";
import { quantizeGraph } from "./onnx/quantize-graph.js";
import { hashFile } from "./verify.js";

export interface QuantizeOptions {
  /** Bits per weight; 7 by default, because 8 bits overflow on x86 processors without VNNI. */
  readonly weightBits?: 7 | 8;
  /** ID of the new package; by default the old ID with the suffix `-int8`. */
  readonly id?: string;
  readonly onProgress?: (progress: QuantizeProgress) => void;
}

interface QuantizeProgress {
  /** Path of the graph within the package. */
  readonly file: string;
  /** Number of this graph's matrix products that are quantized. */
  readonly done: number;
  readonly total: number;
}

export interface QuantizedPackage {
  readonly id: string;
  /** Number of quantized matrix products. */
  readonly products: number;
  /** Size of all files in the manifest. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

interface NamedFile {
  readonly path: string;
  readonly sha256: string;
  /** For a graph: names of the files that contain its weights. */
  readonly external?: readonly string[];
  /** The graph's GPU variant. */
  readonly gpu?: NamedFile;
}

interface RawManifest {
  readonly id: string;
  readonly notes?: string;
  readonly files: Readonly<Record<string, NamedFile>>;
}

/** Graphs that stay unchanged: they are small, and features and voice activity need full precision. */
const UNCHANGED = new Set(["vad", "preprocessor"]);
/** Limit of protobuf messages, and of Node's `readFile`. */
const LARGEST_BYTES = 2 ** 31 - 1;
const NOTE =
  "Its matrix products have int8 weights, made from the package with `models quantize`; convolutions are unchanged.";

/**
 * Writes an int8 variant of the package in `folder` to `outFolder`, which must not exist. The write is
 * atomic. Records hashes, adds a note, and moves weights from side files into their graph.
 *
 * @throws {ServiceError} `MODEL_BROKEN` if a file does not match the manifest, has nothing to quantize, or is
 *   too large
 */
export async function quantizePackage(
  folder: string,
  outFolder: string,
  options: QuantizeOptions = {},
): Promise<QuantizedPackage> {
  if ((await readManifest(folder)) === null) throw broken(`${folder} has no manifest.json`);
  if ((await stat(outFolder).catch(() => null)) !== null) throw broken(`${outFolder} already exists`);
  const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as RawManifest;
  const partial = join(dirname(outFolder), `.${basename(outFolder)}.${process.pid}`);
  await mkdir(partial, { recursive: true });
  try {
    const made = await writePackage(manifest, folder, partial, options);
    await rename(partial, outFolder);
    return made;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function writePackage(
  manifest: RawManifest,
  from: string,
  to: string,
  options: QuantizeOptions,
): Promise<QuantizedPackage> {
  const files = new Map<string, NamedFile>();
  let products = 0;
  for (const [name, file] of Object.entries(manifest.files)) {
    if (!file.path.endsWith(".onnx") || UNCHANGED.has(name)) continue;
    const sides = (file.external ?? []).map((side) => manifest.files[side]!);
    const made = await writeGraph({ file, sides, from, to }, options);
    if (made === null) continue;
    products += made.products;
    files.set(name, { path: file.path, sha256: made.sha256 });
  }
  if (products === 0)
    throw broken(`${manifest.id} has no matrix products with constant fp32 or fp16 weights`);
  const kept = withoutSides(manifest.files, files);
  for (const [name, file] of kept) {
    // A quantized graph loses its GPU variant, which was derived from the fp32 graph.
    if (files.has(name)) continue;
    for (const { path } of file.gpu === undefined ? [file] : [file, file.gpu]) {
      await mkdir(dirname(join(to, path)), { recursive: true });
      await copyFile(join(from, path), join(to, path));
    }
  }
  const id = options.id ?? `${manifest.id}-int8`;
  const sealed = {
    ...manifest,
    id,
    notes: [manifest.notes, NOTE].filter((note) => note !== undefined).join(" "),
    files: Object.fromEntries(kept.map(([name, file]) => [name, files.get(name) ?? file])),
  };
  await writeFile(join(to, "manifest.json"), `${JSON.stringify(sealed, null, 2)}\n`);
  return {
    id,
    products,
    bytesBefore: await bytesOf(from, Object.values(manifest.files)),
    bytesAfter: await bytesOf(to, Object.values(sealed.files)),
  };
}

/** Drops side files whose weights have moved into a quantized graph. */
function withoutSides(
  all: Readonly<Record<string, NamedFile>>,
  quantized: ReadonlyMap<string, NamedFile>,
): [string, NamedFile][] {
  const entries = Object.entries(all);
  const sidesOf = (isQuantized: boolean) =>
    entries.flatMap(([name, { external = [] }]) => (quantized.has(name) === isQuantized ? external : []));
  const needed = new Set(sidesOf(false));
  const inlined = new Set(sidesOf(true).filter((name) => !needed.has(name)));
  return entries.filter(([name]) => !inlined.has(name));
}

interface GraphFile {
  readonly file: NamedFile;
  /** Files that contain the graph's weights. */
  readonly sides: readonly NamedFile[];
  readonly from: string;
  readonly to: string;
}

/** Writes a quantized graph. Returns null if there is nothing to quantize. */
async function writeGraph({ file, sides, from, to }: GraphFile, options: QuantizeOptions) {
  const path = join(from, file.path);
  if ((await stat(path)).size > LARGEST_BYTES) throw broken(`${path} must be at most ${LARGEST_BYTES} bytes`);
  const bytes = await readFile(path);
  requireHash(path, file, createHash("sha256").update(bytes).digest("hex"));
  for (const side of sides) {
    const sidePath = join(from, side.path);
    requireHash(sidePath, side, (await hashFile(sidePath)).sha256);
  }
  const { chunks, products } = await quantizeGraph(bytes, {
    weightBits: options.weightBits ?? 7,
    readExternal: (place) => {
      const sidePath = join(dirname(file.path), place.location);
      if (sides.some((side) => side.path === sidePath)) return readPlace(join(from, sidePath), place);
      throw broken(`${path} has weights in ${place.location}, which its "external" does not list`);
    },
    onProgress: (done, total) => options.onProgress?.({ file: file.path, done, total }),
  });
  if (products === 0) return null;
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  if (size > LARGEST_BYTES) {
    throw broken(
      `${path} would have ${size} bytes with its side files, and one graph may have ${LARGEST_BYTES}`,
    );
  }
  const sha256 = await writeChunks(join(to, file.path), chunks);
  return { sha256, products };
}

function requireHash(path: string, { sha256 }: NamedFile, found: string): void {
  if (found !== sha256) throw broken(`sha256 of ${path} must be ${sha256}, found ${found}`);
}

async function readPlace(path: string, { offset, length }: ExternalPlace): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const wanted = length ?? (await file.stat()).size - offset;
    const { buffer, bytesRead } = await file.read(new Uint8Array(wanted), 0, wanted, offset);
    if (bytesRead < wanted) throw broken(`${path} ends before ${offset + wanted} bytes`);
    return buffer;
  } finally {
    await file.close();
  }
}

/** Writes a file. @returns its SHA-256 */
async function writeChunks(path: string, chunks: readonly Uint8Array[]): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  const hash = createHash("sha256");
  const file = await open(path, "wx");
  try {
    for (const chunk of chunks) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  return hash.digest("hex");
}

async function bytesOf(folder: string, files: readonly NamedFile[]): Promise<number> {
  const sizes = await Promise.all(files.map(async ({ path }) => (await stat(join(folder, path))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function broken(reason: string): ServiceError {
  return new ServiceError("MODEL_BROKEN", `Cannot quantize: ${reason}`);
}
