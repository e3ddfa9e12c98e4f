import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type CatalogueEntry,
  type CatalogueSource,
  packageIdOf,
  type WantedFile,
  wantedFiles,
} from "../catalogue.js";
import { type ModelFolders, readablePackages } from "../folders.js";
import { AddError } from "./add-error.js";
import { HubClient, type HubOptions } from "./client.js";
import { download, type RetryRule } from "./download.js";
import { type Installed, installPackage, takeFile } from "./install.js";
import { withInstallLock } from "./install-lock.js";

export interface AddProgress {
  /** Path of the current file. */
  readonly file: string;
  readonly bytes: number;
  /** Null if unknown. */
  readonly total: number | null;
}

/** Receives the progress of an addition. */
interface AddObserver {
  progress(progress: AddProgress): void;
  note(message: string): void;
}

export interface Addition {
  readonly catalogue: readonly CatalogueEntry[];
  readonly folders: ModelFolders;
  readonly hub: HubOptions;
  readonly isTrusted: boolean;
  readonly retry: RetryRule;
  readonly signal: AbortSignal;
  readonly observer: AddObserver;
}

export interface AddJob extends Addition {
  readonly entry: CatalogueEntry;
  readonly variant: string;
  /** A detector from `vadsOf`. */
  readonly vad: string;
  /** A folder with manually downloaded files; null to download them. */
  readonly from: string | null;
}

export const USUAL_RETRY: RetryRule = { tries: 6, firstPauseMs: 1_000 };

/**
 * Adds a model from the catalogue. Waits for other commands that use the same folder.
 * @throws {AddError} and whatever `installPackage` throws
 */
export async function addFromCatalogue(job: AddJob): Promise<Installed> {
  const { folders, signal, observer, isTrusted } = job;
  const client = new HubClient(job.hub);
  try {
    return await withInstallLock(folders.install, { signal, onWait: observer.note }, async () => {
      const origin = new Origin(job, client);
      const id = packageIdOf(job.entry, job.variant);
      const files = wantedFiles(job.catalogue, job.entry, job.variant, job.vad);
      const fields = () => manifestFields(job, origin.revision);
      const card = cardOf(job.entry, id);
      const installed = await readablePackages(folders);
      const fetch = (file: WantedFile, path: string) => origin.fetch(file, path);
      return await installPackage(
        { id, files, fields, card, fetch },
        { folder: folders.install, isTrusted, installed },
      );
    });
  } finally {
    await client.close();
  }
}

/** Fetches the files for one addition. */
class Origin {
  readonly #job: AddJob;
  readonly #client: HubClient;
  /** The commit that the hub has reported. All files of a package come from the same commit. */
  #commit: string | null = null;

  constructor(job: AddJob, client: HubClient) {
    this.#job = job;
    this.#client = client;
  }

  /** The pinned commit of the entry's repository, otherwise the downloaded one. */
  get revision(): string | null {
    const { source } = this.#job.entry;
    return "repository" in source ? (source.revision ?? this.#commit) : null;
  }

  async fetch(file: WantedFile, path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
    const { from, hub, signal, retry, observer, entry } = this.#job;
    if (from !== null) return await takeFrom(from, file, path);
    const found = await download(
      {
        url: this.#urlOf(file),
        name: `${entry.name}/${file.path}`,
        path,
        bytes: file.bytes,
        sha256: file.sha256,
        termsUrl: "repository" in file.source ? `${hub.endpoint}/${file.source.repository}` : null,
      },
      {
        client: this.#client,
        signal,
        retry,
        onBytes: (bytes, total) =>
          observer.progress({
            file: file.path,
            bytes,
            total: total ?? file.bytes ?? file.aboutBytes ?? null,
          }),
        onRetry: (message) => observer.note(message),
      },
    );
    if (file.source === entry.source) this.#commit ??= found.commit;
    return found;
  }

  #urlOf({ source, from }: WantedFile): string {
    const path = from.split("/").map(encodeURIComponent).join("/");
    if ("baseUrl" in source) return `${source.baseUrl}${path}`;
    const revision = source.revision ?? this.#commit ?? "main";
    return `${this.#job.hub.endpoint}/${source.repository}/resolve/${revision}/${path}`;
  }
}

/** Copies a file from a folder, where it has its path in the repository or just its name. */
async function takeFrom(folder: string, file: WantedFile, path: string) {
  for (const name of new Set([file.from, basename(file.from)])) {
    const place = join(folder, name);
    if ((await stat(place).catch(() => null))?.isFile() === true)
      return await takeFile(place, path, { sha256: file.sha256, isMoved: false });
  }
  throw new AddError(`${folder} has no ${basename(file.from)} (${addressOf(file.source)}, ${file.from})`);
}

function manifestFields({ entry, variant }: AddJob, revision: string | null): Record<string, unknown> {
  const { task, family, languages, manifest, licence, source } = entry;
  const origin =
    "repository" in source ? { repository: source.repository, revision } : { baseUrl: source.baseUrl };
  return {
    task,
    family,
    languages,
    ...manifest,
    licence: licence.name,
    licenceTerms: licence,
    source: { ...origin, variant },
  };
}

function cardOf(entry: CatalogueEntry, id: string): string {
  const { licence, quality, source, languages } = entry;
  const figures = quality.map(({ set, figure, unit, source: by }) => `- ${set}: ${figure} ${unit} (${by})`);
  return [
    `# ${id}`,
    `For ${entry.task} of ${languages.join(", ")}, from ${addressOf(source)}.`,
    `Licence: ${licence.name}, ${licence.url}`,
    ...(figures.length === 0 ? [] : [`Published figures:\n\n${figures.join("\n")}`]),
    "",
  ].join("\n\n");
}

function addressOf(source: CatalogueSource): string {
  return "repository" in source
    ? `${source.repository} at ${source.revision ?? "its newest commit"}`
    : source.baseUrl;
}
