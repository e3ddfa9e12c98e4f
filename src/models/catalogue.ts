import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ServiceError } from "../../core/domain/errors.js";
import { packageFiles } from "../../native/models/package-files.js";

/** From `dist/src/models/catalogue.js` to the catalogue beside the shipped packages. */
const SHIPPED_CATALOGUE = fileURLToPath(new URL("../../../models/catalogue.json", import.meta.url));

const HASH = z.string().regex(/^[0-9a-f]{64}$/, { error: "must be 64 hexadecimal digits" });
/** Ids of packages are names of folders, and parts of addresses. */
const NAME = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, { error: "must be made of small letters, digits, dots and dashes" });
/** A path that stays inside its folder. */
const INNER_PATH = z.string().refine(isInnerPath, { error: "must be a path that stays inside" });
const HTTP_URL = z.string().refine((url) => /^https?:\/\//.test(url) && URL.canParse(url), {
  error: "must be an http address",
});

const PLAIN_FILE = z.strictObject({
  /** Its path below the source. */
  from: INNER_PATH,
  /** Its path in the package. */
  path: INNER_PATH,
  bytes: z.int().positive().nullable(),
  /** Where `bytes` is not known exactly. */
  aboutBytes: z.int().positive().optional(),
  /** Null where it is not known: such a file is refused unless it is trusted. */
  sha256: HASH.nullable(),
  /** Of a graph: names of the files that hold its weights. */
  external: z.array(z.string()).optional(),
});
const FILE = PLAIN_FILE.extend({
  /** Of a graph: its variant for GPUs. */
  gpu: PLAIN_FILE.optional(),
});

const SOURCE = z.union(
  [
    /** Files of a repository of the hub, at a commit; null is the newest, told when it is downloaded. */
    z.strictObject({
      repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/, { error: "must be owner/name" }),
      revision: z
        .string()
        .regex(/^[0-9a-f]{40}$/)
        .nullable(),
    }),
    /** Files below an address of any other server. */
    z.strictObject({ baseUrl: HTTP_URL.refine((url) => url.endsWith("/"), { error: "must end with /" }) }),
  ],
  { error: "must be a repository and its revision, or a baseUrl" },
);

const QUALITY = z.strictObject({
  set: z.string(),
  figure: z.number(),
  unit: z.string(),
  /** Who measured it. */
  source: z.string(),
});

const VARIANT = z.strictObject({ files: z.record(z.string(), FILE) });

const ENTRY = z.strictObject({
  /** The package's id. */
  name: NAME,
  /** A part is no package of its own: others need it. */
  task: z.enum(["transcription", "synthesis", "part"]),
  family: z.string().nullable(),
  languages: z.array(z.string()).default([]),
  licence: z.strictObject({
    name: z.string(),
    url: HTTP_URL,
    /** Restricts what the model may be used for: the operator is asked to accept it. */
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
  /** Files of the manifest that are another entry's `model`. */
  needs: z.record(z.string(), NAME).default({}),
  /** Voice activity that can be brought along as the file `vad`, in place of the near voice: what it is called, and its part. */
  vads: z.record(NAME, NAME).default({}),
  /** The first is the one that is added when none is named. */
  variants: z
    .record(NAME, VARIANT)
    .refine((variants) => Object.keys(variants).length > 0, { error: "must not be empty" }),
  /** Fields of the package's manifest, without its id and files. */
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

/** A file of a package that is to be added, and where it comes from. */
export interface WantedFile extends CatalogueFile {
  /** Its name in the manifest. */
  readonly name: string;
  /** It is the variant for GPUs of the graph of that name. */
  readonly isForGpu: boolean;
  readonly source: CatalogueSource;
}

/**
 * Public models, by name. A new one is a new entry.
 *
 * @param path a catalogue of one's own
 * @throws {ServiceError} `MODEL_BROKEN` naming the file, the field and its rule
 */
export async function readCatalogue(path = SHIPPED_CATALOGUE): Promise<readonly CatalogueEntry[]> {
  const broken = (rule: string, cause: unknown) =>
    new ServiceError("MODEL_BROKEN", `Cannot use ${path}: ${rule}`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw broken((error as Error).message, error);
  }
  const checked = CATALOGUE.safeParse(value);
  if (checked.success) return checked.data;
  const { path: field = [], message = "" } = checked.error.issues[0] ?? {};
  throw broken([field.map(String).join("."), message].join(" "), checked.error);
}

/** Variants of an entry, the usual one first. */
export function variantsOf(entry: CatalogueEntry): readonly string[] {
  return Object.keys(entry.variants);
}

/** The id of the package that a variant becomes: variants can lie side by side, to be compared. */
export function packageIdOf(entry: CatalogueEntry, variant: string): string {
  return variant === variantsOf(entry)[0] ? entry.name : `${entry.name}-${variant}`;
}

/** The voice activity of packages that bring none. */
export const NEAR_VAD = "near";

/** Voice activity that a model can have, the usual one first; empty for a model that has no choice. */
export function vadsOf({ task, needs, vads }: CatalogueEntry): readonly string[] {
  return task === "transcription" && !("vad" in needs) ? [NEAR_VAD, ...Object.keys(vads)] : [];
}

/**
 * All files of a variant, those of parts among them.
 * @param vad one of `vadsOf`
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

/** Bytes of files together, as far as they are known. */
export function sizeOf(files: readonly Pick<CatalogueFile, "bytes" | "aboutBytes">[]): number {
  return files.reduce((sum, { bytes, aboutBytes }) => sum + (bytes ?? aboutBytes ?? 0), 0);
}

/** Whether a path leads nowhere but below the folder it starts in. */
export function isInnerPath(path: string): boolean {
  const parts = path.split("/");
  return (
    !path.includes("\\") && !path.includes("\0") && parts.every((part) => !["", ".", ".."].includes(part))
  );
}
