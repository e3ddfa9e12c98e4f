import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../core/domain/errors.js";
import { FAMILIES } from "./families.js";
import type { Family } from "./family.js";
import { ANY_MANIFEST, type ModelManifest, type PackageSchema } from "./manifest.js";
import {
  brokenModel,
  fileNameOf,
  type ModelPackage,
  type PackageFolder,
  readPackageFile,
} from "./package.js";
import { brokenRule } from "./rules.js";

export interface BrokenPackage {
  readonly folder: string;
  /** The manifest's id if it has one, else the folder's name. */
  readonly id: string;
  readonly error: ServiceError;
}

export interface FoundPackages {
  readonly packages: PackageFolder[];
  readonly broken: readonly BrokenPackage[];
}

/**
 * Finds every package in a models folder, and the broken ones. Skips folders without a manifest, and names
 * that start with a dot (installations in progress). Follows links to folders.
 */
export async function surveyPackages(modelsFolder: string): Promise<FoundPackages> {
  const packages: PackageFolder[] = [];
  const broken: BrokenPackage[] = [];
  const entries = await readdir(modelsFolder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith(".") || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
    const folder = join(modelsFolder, entry.name);
    try {
      const manifest = await readManifest(folder);
      if (manifest !== null) packages.push({ folder, manifest });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      broken.push({ folder, id: (await writtenId(folder)) ?? entry.name, error });
    }
  }
  // The sort is stable: of two packages with the same id, the first folder stays first.
  return { packages: packages.sort((a, b) => a.manifest.id.localeCompare(b.manifest.id)), broken };
}

/**
 * Finds the packages of a models folder without broken ones.
 * @throws {ServiceError} `MODEL_BROKEN` with the first broken file and the reason
 */
export async function findPackages(modelsFolder: string): Promise<PackageFolder[]> {
  const { packages, broken } = await surveyPackages(modelsFolder);
  const [first] = broken;
  if (first !== undefined) throw first.error;
  return packages;
}

/**
 * Reads and checks a manifest. Returns null for a folder without one, and for a part of other packages.
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the reason
 */
export async function readManifest(folder: string): Promise<ModelManifest | null> {
  return (await checkManifest(folder))?.manifest ?? null;
}

/**
 * Reads the package in `folder`, which must be for `task`, with its JSON files.
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the reason
 */
export async function readPackage<M extends ModelManifest, C = unknown>(
  folder: string,
  task: M["task"],
): Promise<ModelPackage<M, C>> {
  const checked = await checkManifest(folder);
  if (checked?.manifest.task === task) {
    const { manifest, schema } = checked;
    const contents = await readContents({ folder, manifest }, schema);
    // The manifest names the family whose schema has checked both.
    return { folder, manifest: manifest as M, contents: contents as C };
  }
  const found = checked === null ? "no manifest.json" : `one for ${checked.manifest.task}`;
  throw brokenModel(`Cannot load ${folder}: it must be a package for ${task}, found ${found}`);
}

async function checkManifest(
  folder: string,
): Promise<{ readonly manifest: ModelManifest; readonly schema: PackageSchema } | null> {
  const path = join(folder, "manifest.json");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A symlink may point to a file, or be dangling.
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw brokenModel(`Cannot read ${path}`, error);
  }
  const broken = (rule: string, cause?: unknown) => brokenModel(`Cannot use ${path}: ${rule}`, cause);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw broken((error as Error).message, error);
  }
  if (isPart(value)) return null;
  const any = ANY_MANIFEST.safeParse(value, { reportInput: true });
  if (!any.success) throw broken(brokenRule(any.error));
  const family: Family | undefined = FAMILIES.find(({ name }) => name === any.data.family);
  if (family === undefined) {
    const names = FAMILIES.map(({ name }) => name).join(", ");
    throw broken(`family must be one of ${names}, found ${any.data.family}`);
  }
  const schema: PackageSchema = await family.schema();
  const checked = schema.manifest.safeParse(value, { reportInput: true });
  if (!checked.success) throw broken(brokenRule(checked.error));
  return { manifest: checked.data, schema };
}

/** A part is not a package: recognisers of other packages load it, see `readNearVoice`. */
function isPart(value: unknown): boolean {
  return typeof value === "object" && value !== null && "task" in value && value.task === "part";
}

/** Reads the id of a manifest that breaks other rules; null if it has none. */
async function writtenId(folder: string): Promise<string | null> {
  try {
    const value: unknown = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
    const id = typeof value === "object" && value !== null && "id" in value ? value.id : null;
    return typeof id === "string" && id !== "" ? id : null;
  } catch {
    return null;
  }
}

async function readContents(model: PackageFolder, schema: PackageSchema): Promise<unknown> {
  const values: Record<string, unknown> = {};
  for (const name of schema.jsonFiles) {
    if (name in model.manifest.files) values[name] = await readJson(model, name);
  }
  const checked = schema.contents(model.manifest).safeParse(values, { reportInput: true });
  if (checked.success) return checked.data;
  const name = String(checked.error.issues[0]?.path[0]);
  // For a missing file, throw the same error as elsewhere.
  if (!(name in values)) await readPackageFile(model, name);
  throw brokenModel(`Cannot load ${fileNameOf(model, name)}: ${brokenRule(checked.error, 1)}`);
}

async function readJson(model: PackageFolder, name: string): Promise<unknown> {
  const text = new TextDecoder().decode(await readPackageFile(model, name));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw brokenModel(`Cannot load ${fileNameOf(model, name)}: ${(error as Error).message}`, error);
  }
}
