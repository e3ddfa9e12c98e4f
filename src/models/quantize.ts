import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ServiceError } from "../../core/domain/errors.js";
import { readManifest } from "../../native/models/find-packages.js";
import type { ExternalPlace } from "./onnx/graph-messages.js";
import { quantizeGraph } from "./onnx/quantize-graph.js";

export interface QuantizeOptions {
  /** Bits of weights, 7 by default: 8 overflow on x86 processors without VNNI. */
  readonly weightBits?: 7 | 8;
  /** Of the package that is made, when it is not the old one with `-int8` behind it. */
  readonly id?: string;
  readonly onProgress?: (progress: QuantizeProgress) => void;
}

interface QuantizeProgress {
  /** Path of the graph inside the package. */
  readonly file: string;
  /** Matrix products that are done, of all in this graph. */
  readonly done: number;
  readonly total: number;
}

export interface QuantizedPackage {
  readonly id: string;
  /** Matrix products that are int8 now. */
  readonly products: number;
  /** Of all files that the manifests name. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

interface NamedFile {
  readonly path: string;
  readonly sha256: string;
  /** Names of the files beside a graph that hold weights of it. */
  readonly external?: readonly string[];
  /** The graph's variant for GPUs; its weights may lie in the graph. */
  readonly gpu?: NamedFile;
}

interface RawManifest {
  readonly id: string;
  readonly notes?: string;
  readonly files: Readonly<Record<string, NamedFile>>;
}

/** Graphs that are left alone: small, and features and voice activity are no place to save digits. */
const LEFT_ALONE = new Set(["vad", "preprocessor"]);
/** Protobuf messages, and Node's reader of files, end there. */
const LARGEST_BYTES = 2 ** 31 - 1;
const NOTE =
  "Its matrix products have int8 weights, made from the fp32 package with `models quantize`; convolutions are fp32.";

/**
 * Writes an int8 variant of the package in `folder` to `outFolder`, which must not be there yet; it appears whole or not at
 * all. Hashes are sealed and notes say what was done. Weights that lie
 * beside a graph come into it.
 *
 * @throws {ServiceError} `MODEL_BROKEN` when a file is not what the manifest says, holds nothing to quantize, or is too large
 */
export async function quantizePackage(
  folder: string,
  outFolder: string,
  options: QuantizeOptions = {},
): Promise<QuantizedPackage> {
  if ((await readManifest(folder)) === null) throw broken(`${folder} holds no manifest.json`);
  if ((await stat(outFolder).catch(() => null)) !== null) throw broken(`${outFolder} is there already`);
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
    if (!file.path.endsWith(".onnx") || LEFT_ALONE.has(name)) continue;
    const sides = (file.external ?? []).map((side) => manifest.files[side]!);
    const made = await writeGraph({ file, sides, from, to }, options);
    if (made === null) continue;
    products += made.products;
    files.set(name, { path: file.path, sha256: made.sha256 });
  }
  if (products === 0) throw broken(`${manifest.id} has no matrix products of fp32 by constants`);
  const kept = withoutSides(manifest.files, files);
  for (const [name, file] of kept) {
    // What is quantized has lost its variant for GPUs, which was made of the graph before.
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

/** The files that are needed still: weights beside a graph are in it once it is quantized. */
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
  /** Weights beside it. */
  readonly sides: readonly NamedFile[];
  readonly from: string;
  readonly to: string;
}

/** Null when the graph has nothing to quantize. */
async function writeGraph({ file, sides, from, to }: GraphFile, options: QuantizeOptions) {
  const path = join(from, file.path);
  if ((await stat(path)).size > LARGEST_BYTES) throw broken(`${path} must be at most ${LARGEST_BYTES} bytes`);
  const bytes = await readFile(path);
  requireHash(path, file, createHash("sha256").update(bytes));
  for (const side of sides) requireHash(join(from, side.path), side, await hashOf(join(from, side.path)));
  const { chunks, products } = await quantizeGraph(bytes, {
    weightBits: options.weightBits ?? 7,
    readExternal: (place) => {
      const sidePath = join(dirname(file.path), place.location);
      if (sides.some((side) => side.path === sidePath)) return readPlace(join(from, sidePath), place);
      throw broken(`${path} has weights in ${place.location}, which its "external" does not name`);
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

async function hashOf(path: string): Promise<Hash> {
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(path)) hash.update(bytes as Uint8Array);
  return hash;
}

function requireHash(path: string, { sha256 }: NamedFile, hash: Hash): void {
  const found = hash.digest("hex");
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

/** @returns the file's sha256 */
async function writeChunks(path: string, chunks: readonly Uint8Array[]): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  const hash: Hash = createHash("sha256");
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
