import { createHash } from "node:crypto";
import { recognizerFamilyOf } from "../../native/models/families.js";
import type { ModelManifest } from "../../native/models/manifest.js";
import { readNearVoice } from "../../native/models/near-voice-package.js";
import type { ErrorRates } from "./error-rates.js";
import { percent, table } from "./report.js";

/** Number of columns in the table; older versions stay in evaluation.json. */
const SHOWN_VERSIONS = 3;

/** Scores of one version of the weights, finals with beam search and language model, by row. */
export interface VersionFigures {
  /** Short hash over the hashes of the package's files; "first" if the evaluation did not record it. */
  readonly weights: string;
  readonly date: string;
  readonly figures: Readonly<Record<string, readonly [characterErrorRate: number, wordErrorRate: number]>>;
}

interface EvaluatedRow {
  readonly set?: string;
  readonly voice?: string;
  readonly speed?: number;
  readonly nfe?: number | null;
  readonly beam: ErrorRates;
}

/** The fields of an `evaluation.json` that versions require. */
export interface EvaluatedPackage {
  readonly date: string;
  readonly rows: readonly EvaluatedRow[];
  readonly versions?: readonly VersionFigures[];
}

/**
 * Identifies a package's weights, voice activity and decoding; changing a file or setting changes the name.
 */
export function weightsOf(manifest: ModelManifest): string {
  const hash = createHash("sha256");
  for (const name of Object.keys(manifest.files).sort())
    hash.update(`${name} ${manifest.files[name]?.sha256}\n`);
  if (manifest.task === "transcription") {
    hash.update(JSON.stringify(manifest.decoding));
    if (recognizerFamilyOf(manifest).voiceSource(manifest) === "near-voice")
      hash.update(JSON.stringify(readNearVoice().manifest.files));
  }
  return hash.digest("hex").slice(0, 8);
}

/**
 * Returns the file's earlier versions, oldest first, and the one just evaluated; new results for the same
 * weights replace the old ones.
 */
export function addVersion(
  before: EvaluatedPackage | null,
  now: { readonly weights: string; readonly date: string; readonly rows: readonly EvaluatedRow[] },
): VersionFigures[] {
  const known =
    before === null
      ? []
      : (before.versions ?? [{ weights: "first", date: before.date, figures: figuresOf(before.rows) }]);
  const current = { weights: now.weights, date: now.date, figures: figuresOf(now.rows) };
  return [...known.filter(({ weights }) => weights !== now.weights), current];
}

/**
 * Renders CER / WER in per cent of the latest versions side by side, with a dash where a version was not
 * scored.
 */
export function versionsTable(versions: readonly VersionFigures[]): string {
  const shown = versions.slice(-SHOWN_VERSIONS);
  const names = [...new Set(shown.flatMap(({ figures }) => Object.keys(figures)))];
  const head = [
    "finals",
    ...shown.map(({ weights, date }) => `${weights} (${date.slice(0, 16).replace("T", " ")})`),
  ];
  const rows = names.map((name) => [
    name,
    ...shown.map(({ figures }) => {
      const rates = figures[name];
      return rates === undefined ? "–" : `${percent(rates[0])} / ${percent(rates[1])}`;
    }),
  ]);
  return table(head, rows);
}

function figuresOf(rows: readonly EvaluatedRow[]): VersionFigures["figures"] {
  return Object.fromEntries(
    rows.map(({ set, voice, speed = 1, nfe, beam }) => [
      set ?? `${voice}${speed === 1 ? "" : ` speed ${speed}`} ${nfe === null ? "reference" : `nfe ${nfe}`}`,
      [beam.characterErrorRate, beam.wordErrorRate] as const,
    ]),
  );
}
