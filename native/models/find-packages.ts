import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../src/domain/errors.js";
import { FAMILIES } from "./families.js";
import type { Family } from "./family.js";
import { ANY_MANIFEST, type ModelManifest } from "./manifest.js";
import { fileNameOf, type ModelPackage, type PackageFolder, readPackageFile } from "./package.js";
import type { PackageSchema } from "./package-schema.js";
import { brokenRule } from "./rules.js";

/** Every package of a models folder, its manifest checked; folders without a manifest, and hidden ones, are not packages. */
export async function findPackages(modelsFolder: string): Promise<PackageFolder[]> {
  const packages: PackageFolder[] = [];
  for (const entry of await readdir(modelsFolder, { withFileTypes: true })) {
    // A name with a dot in front is a package that is still being made.
    if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
    const folder = join(modelsFolder, entry.name);
    const manifest = await readManifest(folder);
    if (manifest !== null) packages.push({ folder, manifest });
  }
  return packages.sort((a, b) => a.manifest.id.localeCompare(b.manifest.id));
}

/**
 * Null for a folder without a manifest.
 * @throws {ServiceError} `MODEL_BROKEN` naming the file and what is wrong with it
 */
export async function readManifest(folder: string): Promise<ModelManifest | null> {
  const checked = await checkManifest(folder);
  return checked === null ? null : checked.manifest;
}

/**
 * The package in `folder`, which must be one for `task`, with what its JSON files say.
 * @throws {ServiceError} `MODEL_BROKEN` naming the file and what is wrong with it
 */
export async function readPackage<M extends ModelManifest, C = unknown>(
  folder: string,
  task: M["task"],
): Promise<ModelPackage<M, C>> {
  const checked = await checkManifest(folder);
  if (checked?.manifest.task === task) {
    const { manifest, schema } = checked;
    const contents = await readContents({ folder, manifest }, schema);
    // The schema is that of the family, whose name is in the manifest.
    return { folder, manifest: manifest as M, contents: contents as C };
  }
  const found = checked === null ? "no manifest.json" : `one for ${checked.manifest.task}`;
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot load ${folder}: it must be a package for ${task}, found ${found}`,
  );
}

async function checkManifest(
  folder: string,
): Promise<{ readonly manifest: ModelManifest; readonly schema: PackageSchema } | null> {
  const path = join(folder, "manifest.json");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new ServiceError("MODEL_BROKEN", `Cannot read ${path}`, { cause: error });
  }
  const broken = (rule: string, cause?: unknown) =>
    new ServiceError("MODEL_BROKEN", `Cannot use ${path}: ${rule}`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw broken((error as Error).message, error);
  }
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

async function readContents(model: PackageFolder, schema: PackageSchema): Promise<unknown> {
  const values: Record<string, unknown> = {};
  for (const name of schema.jsonFiles) {
    if (name in model.manifest.files) values[name] = await readJson(model, name);
  }
  const checked = schema.contents(model.manifest).safeParse(values, { reportInput: true });
  if (checked.success) return checked.data;
  const name = String(checked.error.issues[0]?.path[0]);
  // The rule that a file must be there is told as that of every other file.
  if (!(name in values)) await readPackageFile(model, name);
  const rule = brokenRule(checked.error, 1);
  throw new ServiceError("MODEL_BROKEN", `Cannot load ${fileNameOf(model, name)}: ${rule}`);
}

async function readJson(model: PackageFolder, name: string): Promise<unknown> {
  const text = new TextDecoder().decode(await readPackageFile(model, name));
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = (error as Error).message;
    throw new ServiceError("MODEL_BROKEN", `Cannot load ${fileNameOf(model, name)}: ${reason}`, {
      cause: error,
    });
  }
}
