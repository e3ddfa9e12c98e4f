import { recognizerFamilyOf } from "../../native/models/families.js";
import type { RecognizerFamily } from "../../native/models/family.js";
import { type ModelManifest, TASKS } from "../../native/models/manifest.js";
import { NEAR_VOICE_ID } from "../../native/models/near-voice-package.js";
import type { PackageFolder } from "../../native/models/package.js";
import {
  type CatalogueEntry,
  packageIdOf,
  readCatalogue,
  sizeOf,
  vadsOf,
  variantsOf,
  wantedFiles,
} from "../models/catalogue.js";
import { chooseDefault, readDefaults } from "../models/defaults.js";
import { readablePackages, seePackages } from "../models/folders.js";
import { type CommandInput, type HelpRow, printLine, printNote } from "./command.js";
import { foldersOf } from "./model-folders.js";
import { megabytes } from "./progress.js";
import { aligned } from "./table.js";

const FEATURES = { livePartials: "live partials", wordTimes: "word times", hotWords: "hot words" } as const;
const SHOWN_FIGURES = 3;

/** An entry of the list: a model from the catalogue, an installed model, or both in one. */
interface Listed {
  readonly name: string;
  readonly entry: CatalogueEntry | null;
  /** Installed variants. */
  readonly packages: readonly PackageFolder[];
}

/** Runs `models list`. */
export async function listModels(input: CommandInput): Promise<void> {
  const folders = foldersOf(input);
  const [catalogue, packages, seen, defaults] = await Promise.all([
    readCatalogue(input.options.text("catalogue") ?? undefined),
    readablePackages(folders),
    seePackages(folders),
    readDefaults(folders.install),
  ]);
  const chosen = new Set(
    TASKS.map((task) => chooseDefault(packages, task, { defaults, folder: folders.install })?.manifest.id),
  );
  const listed = pair(catalogue, packages);
  if (input.options.isSet("json")) {
    return printLine(JSON.stringify({ data: listed.map((each) => toJson(each, catalogue, chosen)) }));
  }
  printLine(listed.map((each) => block(each, catalogue, chosen)).join("\n\n"));
  for (const { fault } of seen) if (fault !== null) printNote(fault);
}

function pair(catalogue: readonly CatalogueEntry[], packages: readonly PackageFolder[]): readonly Listed[] {
  const entries = catalogue.filter(({ task }) => task !== "part");
  const ofEntry = (entry: CatalogueEntry) => {
    const ids = variantsOf(entry).map((variant) => packageIdOf(entry, variant));
    return packages.filter(({ manifest }) => ids.includes(manifest.id));
  };
  const known = entries.map((entry) => ({ name: entry.name, entry, packages: ofEntry(entry) }));
  const taken = new Set(known.flatMap((each) => each.packages));
  const others = packages.filter((each) => !taken.has(each));
  return [...others.map((each) => ({ name: each.manifest.id, entry: null, packages: [each] })), ...known];
}

function block(
  { name, entry, packages }: Listed,
  catalogue: readonly CatalogueEntry[],
  chosen: ReadonlySet<string | undefined>,
): string {
  const states = packages.map(({ manifest }) => {
    const what = manifest.id === name ? "installed" : `${manifest.id} installed`;
    return chosen.has(manifest.id) ? `${what}, default for ${manifest.task}` : what;
  });
  const head = states.length === 0 ? name : `${name}  (${states.join("; ")})`;
  const rows = entry === null ? packageRows(packages) : entryRows(entry, catalogue, packages);
  return [head, ...aligned(rows).map((row) => `  ${row}`)].join("\n");
}

/** Describes an installed model that is not in the catalogue. */
function packageRows(packages: readonly PackageFolder[]): readonly HelpRow[] {
  const { task, languages, notes } = packages[0]!.manifest;
  return [
    ["task", task],
    ["languages", languages.join(", ")],
    ...liveRows(packages[0]!.manifest),
    ...voiceRows(packages),
    ...(notes === undefined ? [] : [["notes", notes] as const]),
  ];
}

function entryRows(
  entry: CatalogueEntry,
  catalogue: readonly CatalogueEntry[],
  packages: readonly PackageFolder[],
): readonly HelpRow[] {
  const { task, languages, licence, quality } = entry;
  const sizes = variantsOf(entry).map((variant) => {
    const files = wantedFiles(catalogue, entry, variant);
    const about = files.some(({ bytes }) => bytes === null) ? "about " : "";
    return `${variant} ${about}${megabytes(sizeOf(files))} MB`;
  });
  const features = featuresOf(entry);
  const figures = quality
    .slice(0, SHOWN_FIGURES)
    .map(({ set, figure, unit, source }) => `${set} ${figure} ${unit} (${source})`);
  const unpinned = variantsOf(entry).some((variant) =>
    wantedFiles(catalogue, entry, variant).some(({ sha256 }) => sha256 === null),
  );
  return [
    ["task", task],
    ["languages", languages.join(", ")],
    ["variants", sizes.join(", ")],
    ["licence", `${licence.name}${licence.isRestricted ? " (needs --accept-licence)" : ""}`],
    ...(features.length === 0 ? [] : [["features", features.join(", ")] as const]),
    ...liveRows(entry),
    ...voiceRows(packages),
    ...figures.map((figure) => ["published", figure] as const),
    ...(unpinned ? [["hashes", "some are unknown (needs --trust)"] as const] : []),
  ];
}

interface ListedModel {
  readonly task: string;
  readonly family: string | null;
}

/** Describes how a recogniser works in live sessions, which determines the delay of finals. */
function liveRows(model: ListedModel): readonly HelpRow[] {
  const can = abilitiesOf(model);
  if (can === null) return [];
  if (can.streams) return [["live", "streams"]];
  return [["live", can.windows ? "reads in windows" : "reads whole utterances"]];
}

/** Returns null for models that are not recognisers. */
function abilitiesOf({ task, family }: ListedModel): RecognizerFamily["can"] | null {
  return task === "transcription" && family !== null ? recognizerFamilyOf({ family }).can : null;
}

/** Lists the voice activity detectors of installed recognisers that need one. */
function voiceRows(packages: readonly PackageFolder[]): readonly HelpRow[] {
  return packages.flatMap(({ manifest }) => {
    const voice = voiceOf(manifest);
    const suffix = packages.length === 1 ? "" : ` (${manifest.id})`;
    return voice === null ? [] : [["voice activity", `${voice}${suffix}`] as const];
  });
}

/**
 * Returns a package's voice activity detector (the shipped one or a file); null for models that need none.
 */
function voiceOf(manifest: ModelManifest): string | null {
  if (manifest.task !== "transcription") return null;
  switch (recognizerFamilyOf(manifest).voiceSource(manifest)) {
    case "model":
      return null;
    case "near-voice":
      return NEAR_VOICE_ID;
    case "package":
      return manifest.files["vad"]!.path;
  }
}

function featuresOf({ can }: CatalogueEntry): readonly string[] {
  return Object.entries(FEATURES).flatMap(([name, words]) => (can[name as keyof typeof can] ? [words] : []));
}

function toJson(
  { name, entry, packages }: Listed,
  catalogue: readonly CatalogueEntry[],
  chosen: ReadonlySet<string | undefined>,
) {
  const manifest = packages[0]?.manifest;
  return {
    name,
    task: entry?.task ?? manifest?.task,
    languages: entry?.languages ?? manifest?.languages,
    streams: abilitiesOf(entry ?? manifest!)?.streams ?? null,
    licence: entry?.licence ?? null,
    quality: entry?.quality ?? [],
    can:
      entry === null
        ? null
        : {
            live_partials: entry.can.livePartials,
            word_times: entry.can.wordTimes,
            hot_words: entry.can.hotWords,
          },
    variants: (entry === null ? [] : variantsOf(entry)).map((variant) => {
      const files = wantedFiles(catalogue, entry!, variant);
      return {
        name: variant,
        id: packageIdOf(entry!, variant),
        bytes: sizeOf(files),
        needs_trust: files.some(({ sha256 }) => sha256 === null),
      };
    }),
    installed: packages.map(({ folder, manifest }) => ({
      id: manifest.id,
      task: manifest.task,
      folder,
      default: chosen.has(manifest.id),
      voice_activity: voiceOf(manifest),
    })),
    vads: entry === null ? [] : vadsOf(entry),
  };
}
