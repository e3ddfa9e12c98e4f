import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { packageFiles } from "../../../native/models/package-files.js";
import { type CatalogueEntry, isInnerPath, type Licence, packageIdOf, variantsOf } from "../catalogue.js";
import { readCheckedJson } from "../checked-json.js";
import { readablePackages } from "../folders.js";
import { AddError } from "./add-error.js";
import type { Addition } from "./add-from-catalogue.js";
import { unpackBundle } from "./bundle.js";
import { HubClient } from "./client.js";
import { download } from "./download.js";
import { requireFreeSpace } from "./free-space.js";
import { type Installed, installPackage, type PackageFile, takeFile } from "./install.js";
import { UNPACKED, withInstallLock } from "./install-lock.js";

export interface PackageJob extends Addition {
  /** A folder with a manifest, a bundle, or the URL of a bundle. */
  readonly from: string;
  /** Expected hash of a bundle from a URL. */
  readonly sha256: string | null;
  /** Receives the licence before anything is installed. @throws if it is not accepted */
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
  files: z.record(z.string(), FILE.extend({ gpu: FILE.optional() }), { error: "must list files" }),
});

/**
 * Adds a complete package: the user's own weights, or a package downloaded on another machine.
 * @throws {AddError} and whatever `installPackage` throws
 */
export async function addPackage(job: PackageJob): Promise<Installed> {
  const { folders, signal, observer, from } = job;
  const install = (folder: string, isMoved = false) => installFolder(folder, isMoved, job);
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
    `the hash of ${from} is unknown; specify it with --sha256, or use --trust, which accepts the file and prints its hash`,
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

/** @param isMoved whether the files may be moved, because nobody else reads the folder */
async function installFolder(source: string, isMoved: boolean, job: PackageJob): Promise<Installed> {
  const { folders, isTrusted, catalogue, onLicence } = job;
  const { id, licence, files, ...fields } = await readPlan(source);
  onLicence(
    id,
    knownLicence(catalogue, id) ?? fields.licenceTerms ?? { name: licence, url: "", isRestricted: false },
  );
  const wanted = await Promise.all(
    packageFiles(files).map(async ({ sha256, ...file }): Promise<PackageFile> => {
      // Moved files take no additional space.
      const bytes = isMoved ? null : ((await stat(join(source, file.path)).catch(() => null))?.size ?? null);
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
    fetch: (file: PackageFile, path: string) =>
      takeFile(join(source, file.path), path, { sha256: file.sha256, isMoved }),
  };
  return await installPackage(plan, { folder: folders.install, isTrusted, installed });
}

async function readPlan(source: string) {
  const path = join(source, "manifest.json");
  return await readCheckedJson(path, MANIFEST, (rule, cause) => {
    return new AddError(`Cannot use ${path}: ${rule}`, { cause });
  });
}

/** Finds a package's licence in the catalogue, which overrides the one in the package. */
function knownLicence(catalogue: readonly CatalogueEntry[], id: string): Licence | null {
  const hasId = (entry: CatalogueEntry) =>
    variantsOf(entry).some((variant) => packageIdOf(entry, variant) === id);
  return catalogue.find(hasId)?.licence ?? null;
}
