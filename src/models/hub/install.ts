import { copyFile, link, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readManifest, readPackage } from "../../../native/models/find-packages.js";
import { TASKS } from "../../../native/models/manifest.js";
import type { PackageFolder } from "../../../native/models/package.js";
import { packageFiles } from "../../../native/models/package-files.js";
import type { WantedFile } from "../catalogue.js";
import { syncPath, writeDurably } from "../durable.js";
import { hashFile, verifyPackage } from "../verify.js";
import { AddError } from "./add-error.js";
import { requireFreeSpace } from "./free-space.js";
import { PARTIAL, REPLACED } from "./install-lock.js";

export type PackageFile = Omit<WantedFile, "source" | "from">;

export interface AddedFile {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** True if no expected hash was known, so the file's own hash was accepted. */
  readonly isTrusted: boolean;
}

interface PackageOutline {
  readonly id: string;
  readonly files: readonly PackageFile[];
  /** Returns the manifest's fields except `id` and `files`; called when all files have arrived. */
  readonly fields: () => Readonly<Record<string, unknown>>;
  /** Content of CARD.md; null for none. */
  readonly card: string | null;
}

interface PackagePlan<F extends PackageFile> extends PackageOutline {
  readonly files: readonly F[];
  /** Puts a file at `path`, and checks its hash if known. */
  readonly fetch: (file: F, path: string) => Promise<{ readonly bytes: number; readonly sha256: string }>;
}

export interface InstallOptions {
  /** Parent folder of the package. */
  readonly folder: string;
  /** Whether to accept files without a known hash. */
  readonly isTrusted: boolean;
  /** Packages whose files can be reused. */
  readonly installed: readonly PackageFolder[];
}

export interface Installed {
  readonly folder: string;
  readonly files: readonly AddedFile[];
  /** False if the same package was already installed. */
  readonly isNew: boolean;
}

/**
 * Assembles a package in a hidden folder, and renames that when it is complete, checked and synced to disk.
 * An interrupted installation leaves the hidden folder, and the next one resumes it. The caller holds the
 * folder's lock.
 *
 * @throws {AddError} if a file is unavailable, wrong, or of unknown hash and not trusted
 * @throws {ServiceError} `MODEL_BROKEN` if the manifest or a JSON file breaks a rule of its family
 */
export async function installPackage<F extends PackageFile>(
  plan: PackagePlan<F>,
  options: InstallOptions,
): Promise<Installed> {
  const { folder, isTrusted } = options;
  const target = join(folder, plan.id);
  const present = await sameInstalled(plan, target);
  if (present !== null) return { folder: target, files: present, isNew: false };
  requireKnownHashes(plan, isTrusted);
  const partial = join(folder, `.${plan.id}${PARTIAL}`);
  await mkdir(partial, { recursive: true });
  const files: AddedFile[] = [];
  await requireFreeSpace(folder, await missingBytes(plan.files, partial));
  for (const file of plan.files) files.push(await obtain(file, partial, plan, options));
  await removeStrays(partial, plan);
  await describe(plan, partial, files);
  await checkWhole(partial);
  for (const path of new Set(plan.files.map(({ path }) => dirname(join(partial, path)))))
    await syncPath(path);
  await syncPath(partial);
  await replace(target, partial, join(folder, `.${plan.id}${REPLACED}`));
  await syncPath(folder);
  return { folder: target, files, isNew: true };
}

/** Returns the files of an installed package that equals the plan; null if it is missing or damaged. */
async function sameInstalled(plan: PackageOutline, target: string): Promise<readonly AddedFile[] | null> {
  const manifest = await readManifest(target).catch(() => null);
  if (manifest === null || manifest.id !== plan.id) return null;
  const files = packageFiles(manifest.files);
  const isSame = plan.files.every(({ name, isForGpu, path, sha256 }) => {
    const found = files.find((file) => file.name === name && file.isForGpu === isForGpu);
    return found?.path === path && (sha256 === null || found.sha256 === sha256);
  });
  if (!isSame || files.length !== plan.files.length) return null;
  const checks = await verifyPackage({ folder: target, manifest });
  if (checks.some(({ isGood }) => !isGood)) return null;
  return files.map(({ name, path, sha256 }, index) => ({
    name,
    path,
    sha256,
    bytes: checks[index]!.bytes,
    isTrusted: false,
  }));
}

function requireKnownHashes(plan: PackageOutline, isTrusted: boolean): void {
  const unknown = plan.files.filter(({ sha256 }) => sha256 === null).map(({ path }) => path);
  if (unknown.length === 0 || isTrusted) return;
  throw new AddError(
    `${plan.id}: the hash of ${unknown.join(", ")} is unknown; --trust accepts the file, ` +
      "prints its hash and stores it in the package",
  );
}

/** Sums the known sizes of files that are not in the folder yet. */
async function missingBytes(files: readonly PackageFile[], partial: string): Promise<number> {
  let missing = 0;
  for (const { path, bytes, aboutBytes } of files) {
    const wanted = bytes ?? aboutBytes ?? 0;
    const here = (await sizeOf(join(partial, path))) + (await sizeOf(join(partial, `${path}.part`)));
    missing += Math.max(0, wanted - here);
  }
  return missing;
}

async function obtain<F extends PackageFile>(
  file: F,
  partial: string,
  plan: PackagePlan<F>,
  { installed }: InstallOptions,
): Promise<AddedFile> {
  const { name, path, sha256 } = file;
  const place = join(partial, path);
  await mkdir(dirname(place), { recursive: true });
  const known = sha256 === null ? null : await knownCopy(sha256, place, installed);
  const { bytes, sha256: found } = known ?? (await plan.fetch(file, place));
  return { name, path, bytes, sha256: found, isTrusted: sha256 === null };
}

/** Reuses a file with this hash from an earlier attempt or another package, after checking it. */
async function knownCopy(
  sha256: string,
  place: string,
  installed: readonly PackageFolder[],
): Promise<{ readonly bytes: number; readonly sha256: string } | null> {
  const earlier = await hashFile(place).catch(() => null);
  if (earlier?.sha256 === sha256) return earlier;
  await rm(place, { force: true });
  for (const { folder, manifest } of installed) {
    for (const file of packageFiles(manifest.files)) {
      if (file.sha256 !== sha256) continue;
      const path = join(folder, file.path);
      const found = await hashFile(path).catch(() => null);
      if (found?.sha256 !== sha256) continue;
      // Copy the file if the file system has no hard links.
      await link(path, place).catch(async () => {
        await copyFile(path, place);
        await syncPath(place);
      });
      return found;
    }
  }
  return null;
}

async function describe(plan: PackageOutline, partial: string, files: readonly AddedFile[]): Promise<void> {
  const named: Record<string, object> = {};
  for (const [index, { name, path, sha256 }] of files.entries()) {
    const { external, isForGpu } = plan.files[index]!;
    const file = { path, sha256, ...(external === undefined ? {} : { external }) };
    // A GPU variant comes after its graph.
    named[name] = isForGpu ? { ...named[name], gpu: file } : file;
  }
  const manifest = { id: plan.id, ...plan.fields(), files: named };
  await writeDurably(join(partial, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  if (plan.card !== null) await writeDurably(join(partial, "CARD.md"), plan.card);
}

/** Deletes other files of an earlier attempt. */
async function removeStrays(partial: string, plan: PackageOutline): Promise<void> {
  const kept = new Set(plan.files.map(({ path }) => join(partial, path)));
  for (const entry of await readdir(partial, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isDirectory() && !kept.has(path)) await rm(path, { force: true });
  }
}

/** Reads the package as the service would, to check it. */
async function checkWhole(partial: string): Promise<void> {
  const { task } = JSON.parse(await readFile(join(partial, "manifest.json"), "utf8")) as {
    readonly task: unknown;
  };
  await readPackage(partial, TASKS.find((each) => each === task) ?? "transcription");
}

/** Renames the new package into place, and deletes its predecessor. */
async function replace(target: string, partial: string, replaced: string): Promise<void> {
  const isThere = (await stat(target).catch(() => null)) !== null;
  if (isThere) await rename(target, replaced);
  await rename(partial, target);
  if (isThere) await rm(replaced, { recursive: true, force: true });
}

/** Copies or moves a local file to `path`. @throws {AddError} if its hash is not `sha256` */
export async function takeFile(
  from: string,
  path: string,
  { sha256, isMoved }: { readonly sha256: string | null; readonly isMoved: boolean },
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  await (isMoved ? rename(from, path) : copyFile(from, path));
  const found = await hashFile(path);
  if (sha256 !== null && found.sha256 !== sha256)
    throw new AddError(`${from} is the wrong file: its sha256 must be ${sha256}, found ${found.sha256}`);
  await syncPath(path);
  return found;
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}
