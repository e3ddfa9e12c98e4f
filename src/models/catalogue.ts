import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ServiceError } from "../../core/domain/errors.js";
import { TASKS } from "../../native/models/manifest.js";
import { packageFiles } from "../../native/models/package-files.js";
import { readCheckedJson } from "./checked-json.js";

/** Path relative to `dist/src/models`. */
const SHIPPED_CATALOGUE = fileURLToPath(new URL("../../../models/catalogue.json", import.meta.url));

const HASH = z.string().regex(/^[0-9a-f]{64}$/, { error: "must be 64 hexadecimal digits" });
/** Package IDs are folder names, and parts of URLs. */
const NAME = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, {
  error: "must consist of lower-case letters, digits, dots and dashes",
});
const INNER_PATH = z.string().refine(isInnerPath, { error: "must be a path inside its folder" });
const HTTP_URL = z.string().refine((url) => /^https?:\/\//.test(url) && URL.canParse(url), {
  error: "must be an HTTP URL",
});

const PLAIN_FILE = z.strictObject({
  /** Path below the source. */
  from: INNER_PATH,
  /** Path within the package. */
  path: INNER_PATH,
  bytes: z.int().positive().nullable(),
  /** Approximate size, if `bytes` is unknown. */
  aboutBytes: z.int().positive().optional(),
  /** Null if unknown; such a file is rejected without `--trust`. */
  sha256: HASH.nullable(),
  /** For a graph: names of the files that contain its weights. */
  external: z.array(z.string()).optional(),
});
const FILE = PLAIN_FILE.extend({
  /** For a graph: its GPU variant. */
  gpu: PLAIN_FILE.optional(),
});

const SOURCE = z.union(
  [
    /** Files of a hub repository at a commit; null for the newest commit. */
    z.strictObject({
      repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/, { error: "must be owner/name" }),
      revision: z
        .string()
        .regex(/^[0-9a-f]{40}$/)
        .nullable(),
    }),
    /** Files below a URL on another server. */
    z.strictObject({ baseUrl: HTTP_URL.refine((url) => url.endsWith("/"), { error: "must end with /" }) }),
  ],
  { error: "must be a repository and its revision, or a baseUrl" },
);

const QUALITY = z.strictObject({
  set: z.string(),
  figure: z.number(),
  unit: z.string(),
  /** Who measured the score. */
  source: z.string(),
});

const VARIANT = z.strictObject({ files: z.record(z.string(), FILE) });

const ENTRY = z.strictObject({
  /** ID of the package. */
  name: NAME,
  /** A `part` is not a package itself, but packages need it. */
  task: z.enum([...TASKS, "part"]),
  family: z.string().nullable(),
  languages: z.array(z.string()).default([]),
  licence: z.strictObject({
    name: z.string(),
    url: HTTP_URL,
    /** The licence restricts how the model may be used, so the operator must accept it. */
    isRestricted: z.boolean(),
  }),
  quality: z.array(QUALITY).default([]),
  can: z
    .strictObject({
      livePartials: z.boolean().default(false),
      wordTimes: z.boolean().default(false),
      hotWords: z.boolean().default(false),
    })
    .prefault({}),
  source: SOURCE,
  /** Files of the manifest that are the `model` of a part: name of the file, then part. */
  needs: z.record(z.string(), NAME).default({}),
  /** Voice activity detectors that can replace the near-voice one as the file `vad`: name, then part. */
  vads: z.record(NAME, NAME).default({}),
  /** The first variant is the default. */
  variants: z
    .record(NAME, VARIANT)
    .refine((variants) => Object.keys(variants).length > 0, { error: "must not be empty" }),
  /** Fields of the package's manifest, except its ID and files. */
  manifest: z.record(z.string(), z.unknown()).default({}),
});

const CATALOGUE = z.array(ENTRY).superRefine((entries, context) => {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  for (const [index, entry] of entries.entries()) {
    if (byName.get(entry.name) !== entry)
      context.addIssue({ code: "custom", path: [index, "name"], message: `${entry.name} is taken` });
    for (const field of ["needs", "vads"] as const) {
      for (const [name, part] of Object.entries(entry[field])) {
        if (byName.get(part)?.task !== "part")
          context.addIssue({
            code: "custom",
            path: [index, field, name],
            message: `must name a part, found ${part}`,
          });
      }
    }
  }
});

export type CatalogueEntry = z.output<typeof ENTRY>;
export type CatalogueFile = z.output<typeof PLAIN_FILE>;
export type CatalogueSource = z.output<typeof SOURCE>;
export type Licence = CatalogueEntry["licence"];

/** A file of a package to add, and where to get it. */
export interface WantedFile extends CatalogueFile {
  /** Name in the manifest. */
  readonly name: string;
  /** Whether this is the GPU variant of the graph `name`. */
  readonly isForGpu: boolean;
  readonly source: CatalogueSource;
}

/**
 * Reads the catalogue of public models.
 *
 * @throws {ServiceError} `MODEL_BROKEN` with the file, the field and its rule
 */
export async function readCatalogue(path = SHIPPED_CATALOGUE): Promise<readonly CatalogueEntry[]> {
  return await readCheckedJson(path, CATALOGUE, (rule, cause) => {
    return new ServiceError("MODEL_BROKEN", `Cannot use ${path}: ${rule}`, { cause });
  });
}

/** Lists an entry's variants, the default first. */
export function variantsOf(entry: CatalogueEntry): readonly string[] {
  return Object.keys(entry.variants);
}

/** Returns the package ID of a variant. It is unique, so variants can be installed side by side. */
export function packageIdOf(entry: CatalogueEntry, variant: string): string {
  return variant === variantsOf(entry)[0] ? entry.name : `${entry.name}-${variant}`;
}

/** The voice activity detector of packages without their own one. */
export const NEAR_VAD = "near";

/** Lists the voice activity detectors of a model, the default first; empty if there is no choice. */
export function vadsOf({ task, needs, vads }: CatalogueEntry): readonly string[] {
  return task === "transcription" && !("vad" in needs) ? [NEAR_VAD, ...Object.keys(vads)] : [];
}

/**
 * Lists all files of a variant, including those of parts.
 * @param vad a detector from `vadsOf`
 */
export function wantedFiles(
  catalogue: readonly CatalogueEntry[],
  entry: CatalogueEntry,
  variant: string,
  vad: string = NEAR_VAD,
): readonly WantedFile[] {
  const own = packageFiles(entry.variants[variant]?.files ?? {}).map((file) => ({
    source: entry.source,
    ...file,
  }));
  const needs = vad === NEAR_VAD ? entry.needs : { ...entry.needs, vad: entry.vads[vad]! };
  const parts = Object.entries(needs).map(([name, needed]) => {
    const part = catalogue.find((each) => each.name === needed)!;
    const { gpu: _, ...file } = part.variants[variantsOf(part)[0]!]!.files["model"]!;
    return { name, source: part.source, isForGpu: false, ...file };
  });
  return [...own, ...parts];
}

/** Sums the known bytes of files. */
export function sizeOf(files: readonly Pick<CatalogueFile, "bytes" | "aboutBytes">[]): number {
  return files.reduce((sum, { bytes, aboutBytes }) => sum + (bytes ?? aboutBytes ?? 0), 0);
}

/** Returns whether a relative path stays inside its folder. */
export function isInnerPath(path: string): boolean {
  const parts = path.split("/");
  return (
    !path.includes("\\") && !path.includes("\0") && parts.every((part) => !["", ".", ".."].includes(part))
  );
}
