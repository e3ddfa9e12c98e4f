import { copyFile, mkdtemp, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { packageFiles } from "../../../native/models/package-files.js";
import { type CatalogueEntry, isInnerPath, type Licence, packageIdOf, variantsOf } from "../catalogue.js";
import { syncPath } from "../durable.js";
import { type ModelFolders, readablePackages } from "../folders.js";
import { hashFile } from "../verify.js";
import { AddError } from "./add-error.js";
import type { AddObserver } from "./add-from-catalogue.js";
import { unpackBundle } from "./bundle.js";
import { HubClient, type HubOptions } from "./client.js";
import { download, type RetryRule } from "./download.js";
import { requireFreeSpace } from "./free-space.js";
import { type Installed, installPackage, type PackageFile } from "./install.js";
import { UNPACKED, withInstallLock } from "./install-lock.js";

export interface PackageJob {
  /** A folder with a manifest, a bundle, or a bundle's address. */
  readonly from: string;
  /** Of a bundle that an address leads to. */
  readonly sha256: string | null;
  readonly catalogue: readonly CatalogueEntry[];
  readonly folders: ModelFolders;
  readonly hub: HubOptions;
  readonly isTrusted: boolean;
  readonly retry: RetryRule;
  readonly signal: AbortSignal;
  readonly observer: AddObserver;
  /** Is told the package's licence before anything is kept. @throws when it is not accepted */
  readonly onLicence: (id: string, licence: Licence) => void;
}

const UNSEALED = /^0{64}$/;
const HASH = z.string().regex(/^[0-9a-f]{64}$/, { error: "must be 64 hexadecimal digits" });
const PATH = z.string().refine(isInnerPath, { error: "must be a path inside the package" });
const FILE = z.object({ path: PATH, sha256: HASH.optional(), external: z.array(z.string()).optional() });
const MANIFEST = z.looseObject({
  id: z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, { error: "must be a name without slashes" }),
  licence: z.string().default("not named"),
  licenceTerms: z
    .object({ name: z.string(), url: z.string(), isRestricted: z.boolean() })
    .optional()
    .catch(undefined),
  files: z.record(z.string(), FILE.extend({ gpu: FILE.optional() }), { error: "must name files" }),
});

/**
 * Adds a package that is made already: weights of one's own, or what another machine has downloaded.
 * @throws {AddError} and what `installPackage` throws
 */
export async function addPackage(job: PackageJob): Promise<Installed> {
  const { folders, signal, observer, from } = job;
  const install = (folder: string, isOurs = false) => installFolder(folder, isOurs, job);
  const lock = { signal, onWait: observer.note };
  if (isAddress(from)) requireHash(job);
  else if ((await stat(from)).isDirectory()) {
    return await withInstallLock(folders.install, lock, () => install(from));
  }
  return await withInstallLock(folders.install, lock, async () => {
    const bundle = isAddress(from) ? await fetchBundle(job) : from;
    await requireFreeSpace(folders.install, (await stat(bundle)).size);
    const folder = await mkdtemp(join(folders.install, UNPACKED));
    try {
      await unpackBundle(bundle, folder, signal);
      const installed = await install(folder, true);
      if (bundle !== from) await rm(bundle, { force: true });
      return installed;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

export function isAddress(place: string): boolean {
  return /^https?:\/\//i.test(place);
}

function requireHash({ from, sha256, isTrusted }: PackageJob): void {
  if (sha256 !== null || isTrusted) return;
  throw new AddError(
    `${from}: its hash is not known. --sha256 names it, or --trust takes what comes and prints it`,
  );
}

async function fetchBundle({
  from,
  sha256,
  hub,
  signal,
  retry,
  observer,
  folders,
}: PackageJob): Promise<string> {
  const client = new HubClient(hub);
  const name = basename(new URL(from).pathname) || "bundle";
  const path = join(folders.install, `.${name}`);
  try {
    const onBytes = (bytes: number, total: number | null) => observer.progress({ file: name, bytes, total });
    const job = { url: from, name, path, bytes: null, sha256, termsUrl: null };
    const found = await download(job, { client, signal, retry, onBytes, onRetry: observer.note });
    if (sha256 === null) observer.note(`${name}: sha256 ${found.sha256}`);
    return path;
  } finally {
    await client.close();
  }
}

/** @param isOurs its files may be moved: nobody else reads them */
async function installFolder(source: string, isOurs: boolean, job: PackageJob): Promise<Installed> {
  const { folders, isTrusted, catalogue, onLicence } = job;
  const { id, licence, files, ...fields } = await readPlan(source);
  onLicence(
    id,
    knownLicence(catalogue, id) ?? fields.licenceTerms ?? { name: licence, url: "", isRestricted: false },
  );
  const wanted = await Promise.all(
    packageFiles(files).map(async ({ sha256, ...file }): Promise<PackageFile> => {
      // What is moved takes no space.
      const bytes = isOurs ? null : ((await stat(join(source, file.path)).catch(() => null))?.size ?? null);
      const isSealed = sha256 !== undefined && !UNSEALED.test(sha256);
      return { ...file, bytes, sha256: isSealed ? sha256 : null };
    }),
  );
  const installed = await readablePackages(folders);
  const card = await readFile(join(source, "CARD.md"), "utf8").catch(() => null);
  const plan = {
    id,
    files: wanted,
    fields: () => ({ ...fields, licence }),
    card,
    fetch: (file: PackageFile, path: string) => takeFile(join(source, file.path), path, { ...file, isOurs }),
  };
  return await installPackage(plan, { folder: folders.install, isTrusted, installed });
}

async function readPlan(source: string) {
  const path = join(source, "manifest.json");
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new AddError(
      `Cannot use ${path}: ${isMissing ? "there is no such file" : (error as Error).message}`,
      {
        cause: error,
      },
    );
  }
  const checked = MANIFEST.safeParse(value);
  if (checked.success) return checked.data;
  const { path: field = [], message = "" } = checked.error.issues[0] ?? {};
  throw new AddError(`Cannot use ${path}: ${[field.map(String).join("."), message].join(" ")}`);
}

/** What the catalogue says of a package counts more than what the package says of itself. */
function knownLicence(catalogue: readonly CatalogueEntry[], id: string): Licence | null {
  const isIts = (entry: CatalogueEntry) =>
    variantsOf(entry).some((variant) => packageIdOf(entry, variant) === id);
  return catalogue.find(isIts)?.licence ?? null;
}

async function takeFile(
  from: string,
  path: string,
  { sha256, isOurs }: PackageFile & { readonly isOurs: boolean },
) {
  await (isOurs ? rename(from, path) : copyFile(from, path));
  const found = await hashFile(path);
  if (sha256 !== null && found.sha256 !== sha256)
    throw new AddError(
      `${from} is another file than its manifest says: sha256 must be ${sha256}, found ${found.sha256}`,
    );
  await syncPath(path);
  return found;
}
