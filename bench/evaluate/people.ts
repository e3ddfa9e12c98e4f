import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bootstrapRate, type Estimate } from "../../core/domain/statistics/bootstrap.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import type { PackageFolder } from "../../native/models/package.js";
import { originOf } from "../save-result.js";
import { FileListener } from "../support/file-listener.js";
import { recognizerIn } from "../support/recognizer.js";
import { groupBy } from "./group-by.js";
import { HeardCache } from "./heard-cache.js";
import { percent, table } from "./report.js";
import { type ScoringOptions, scoreText, type TextScore } from "./scoring-text.js";
import { type SpokenItem, selectItems } from "./sets.js";
import { readTranscripts } from "./transcripts.js";
import { weightsOf } from "./versions.js";

const PROGRESS_EVERY_MS = 10_000;
const ALL = "all";

export interface PeopleOptions extends ScoringOptions {
  /** Folder of the recordings and their tables, see `readTranscripts`. */
  readonly folder: string;
  readonly split: string | null;
  /** Words that select sets by name; empty for all. */
  readonly sets: readonly string[];
  /** Maximum number of recordings per set. */
  readonly limit: number;
  /** Whether to omit recordings whose reference has digits that cannot be verbalized. */
  readonly isDigitFree: boolean;
  /** Language of recordings whose table lists none. */
  readonly language: string;
  /** Whether to transcribe everything again. */
  readonly isFresh: boolean;
  readonly intraOpThreads: number;
  /** Folder for cached transcripts, one file for each model's weights. */
  readonly cacheFolder: string;
}

interface PeopleReport {
  readonly modelId: string;
  /** Identifies the weights, see `weightsOf`. */
  readonly weights: string;
  /** One row per set, and one for all if there are several. */
  readonly rows: readonly PeopleRow[];
  /**
   * Processing time relative to the length of the audio, excluding container decoding; cached results keep
   * their original time.
   */
  readonly realTimeFactor: number;
  /** Recordings that could not be transcribed, with the reason. */
  readonly failed: readonly string[];
  readonly missing: readonly string[];
}

interface PeopleRow {
  readonly set: string;
  readonly recordings: number;
  readonly minutes: number;
  readonly characterErrorRate: Estimate;
  readonly wordErrorRate: Estimate;
  /** Number of recordings whose reference has digits that cannot be verbalized. */
  readonly withDigits: number;
}

/** One recogniser's scored result for one recording. */
interface Scored {
  readonly item: SpokenItem;
  readonly seconds: number;
  readonly workSeconds: number;
  readonly score: TextScore;
}

interface ComparisonRow {
  readonly set: string;
  readonly recordings: number;
  /** Word error rate of the first model minus that of the second. */
  readonly difference: Estimate;
}

export interface PeopleResult {
  readonly reports: readonly PeopleReport[];
  /** Comparison of the first model with the second; empty for one model. */
  readonly comparison: readonly ComparisonRow[];
}

/**
 * Scores one recogniser, or compares two, on your own recordings. Earlier transcripts come from the cache.
 *
 * @throws {RangeError} if there is nothing to score, or a set or a model cannot be read
 */
export async function evaluatePeople(
  models: readonly PackageFolder<RecognizerManifest>[],
  options: PeopleOptions,
): Promise<PeopleResult> {
  const { items, missing } = await readTranscripts(options.folder, options.split);
  const chosen = selectItems(
    items.map((item) => ({ ...item, language: item.language || options.language })),
    options.sets,
    options.limit,
  );
  if (chosen.length === 0) {
    throw new RangeError(
      `${options.folder} has no recordings to score: ${missing.length} listed in its tables are missing`,
    );
  }
  const heard: (readonly Scored[])[] = [];
  const reports: PeopleReport[] = [];
  for (const model of models) {
    const { scored, failed } = await hearAll(model, chosen, options);
    heard.push(scored);
    reports.push(reportOf(model, scored, { failed, missing }));
  }
  const [first, second] = heard;
  return { reports, comparison: first === undefined || second === undefined ? [] : compare(first, second) };
}

export function peopleTable({ reports, comparison }: PeopleResult): string {
  return [
    ...reports.map(reportTable),
    ...(comparison.length === 0 ? [] : [comparisonTable(reports, comparison)]),
  ].join("\n\n");
}

/** @returns the file's path */
export async function savePeople(
  path: string,
  options: PeopleOptions,
  result: PeopleResult,
): Promise<string> {
  await writeFile(
    path,
    `${JSON.stringify({ ...originOf("people"), parameters: options, ...result }, null, 1)}\n`,
  );
  return path;
}

async function hearAll(
  { folder, manifest }: PackageFolder<RecognizerManifest>,
  items: readonly SpokenItem[],
  options: PeopleOptions,
): Promise<{ readonly scored: Scored[]; readonly failed: string[] }> {
  const cachePath = join(options.cacheFolder, `${manifest.id}-${weightsOf(manifest)}.jsonl`);
  const cache = await HeardCache.open(cachePath, options.isFresh);
  const recognizer = await recognizerIn(folder, options.intraOpThreads);
  const listener = await FileListener.open(recognizer);
  const progress = new Progress(manifest.id, items.length);
  const scored: Scored[] = [];
  const failed: string[] = [];
  try {
    for (const item of items) {
      const { heard, failure, isKnown } = await cache.get(item.path, () => listener.hear(item.path));
      progress.passed(isKnown);
      if (heard === null) {
        failed.push(`${item.path}: ${failure}`);
        continue;
      }
      const { reference, language } = item;
      const score = scoreText({ reference, hypothesis: heard.text, language }, options);
      if (options.isDigitFree && score.hasDigits) continue;
      scored.push({ item, seconds: heard.audioSeconds, workSeconds: heard.workSeconds, score });
    }
  } finally {
    await listener.close();
    await recognizer.model.release();
  }
  if (scored.length === 0)
    throw new RangeError(`nothing to score: ${failed[0] ?? "all references have digits"}`);
  return { scored, failed };
}

function reportOf(
  { manifest }: PackageFolder<RecognizerManifest>,
  scored: readonly Scored[],
  lost: Pick<PeopleReport, "failed" | "missing">,
): PeopleReport {
  return {
    modelId: manifest.id,
    weights: weightsOf(manifest),
    rows: withAll(scored).map(([set, group]) => rowOf(set, group)),
    realTimeFactor:
      sumOf(scored, ({ workSeconds }) => workSeconds) /
      Math.max(
        1e-9,
        sumOf(scored, ({ seconds }) => seconds),
      ),
    ...lost,
  };
}

function rowOf(set: string, group: readonly Scored[]): PeopleRow {
  const scores = group.map(({ score }) => score);
  return {
    set,
    recordings: group.length,
    minutes: sumOf(group, ({ seconds }) => seconds) / 60,
    characterErrorRate: bootstrapRate(
      scores.map(({ characterEdits }) => characterEdits),
      scores.map(({ characters }) => characters),
    ),
    wordErrorRate: bootstrapRate(
      scores.map(({ wordEdits }) => wordEdits),
      scores.map(({ words }) => words),
    ),
    withDigits: scores.filter(({ hasDigits }) => hasDigits).length,
  };
}

/** Compares two models over the recordings that both transcribed. */
function compare(first: readonly Scored[], second: readonly Scored[]): ComparisonRow[] {
  const other = new Map(second.map((scored) => [scored.item.path, scored.score]));
  const both = first.filter(({ item }) => other.has(item.path));
  return withAll(both).map(([set, group]) => ({
    set,
    recordings: group.length,
    difference: bootstrapRate(
      group.map(({ item, score }) => score.wordEdits - other.get(item.path)!.wordEdits),
      group.map(({ score }) => score.words),
    ),
  }));
}

function withAll(scored: readonly Scored[]): (readonly [string, readonly Scored[]])[] {
  const sets = [...groupBy(scored, ({ item }) => item.set)].sort(([a], [b]) => a.localeCompare(b));
  return sets.length === 1 ? sets : [...sets, [ALL, scored]];
}

function reportTable({ modelId, weights, rows, realTimeFactor, failed, missing }: PeopleReport): string {
  const head = ["set", "n", "minutes", "CER, % (95 %)", "WER, % (95 %)", "with digits"];
  const lines = rows.map(({ set, recordings, minutes, characterErrorRate, wordErrorRate, withDigits }) => [
    set,
    String(recordings),
    minutes.toFixed(1),
    shown(characterErrorRate),
    shown(wordErrorRate),
    String(withDigits),
  ]);
  const lost = [
    ...(failed.length === 0 ? [] : [`${failed.length} could not be transcribed, the first: ${failed[0]}.`]),
    ...(missing.length === 0 ? [] : [`${missing.length} are missing, the first: ${missing[0]}.`]),
  ];
  return [
    `### ${modelId} (weights ${weights})`,
    table(head, lines),
    [`Real-time factor ${realTimeFactor.toFixed(3)}.`, ...lost].join(" "),
  ].join("\n\n");
}

function comparisonTable(reports: readonly PeopleReport[], rows: readonly ComparisonRow[]): string {
  const [first, second] = reports.map(({ modelId }) => modelId);
  const head = ["set", "n", `WER of ${first} over ${second}, points (95 %)`];
  return table(
    head,
    rows.map(({ set, recordings, difference }) => [set, String(recordings), shown(difference)]),
  );
}

function shown({ value, low, high }: Estimate): string {
  return `${percent(value)} (${percent(low)} to ${percent(high)})`;
}

function sumOf<T>(items: readonly T[], figure: (item: T) => number): number {
  return items.reduce((sum, item) => sum + figure(item), 0);
}

/** Reports the progress and the remaining time periodically. */
class Progress {
  readonly #name: string;
  readonly #total: number;
  readonly #startedAtMs = performance.now();
  #saidAtMs = performance.now();
  #done = 0;
  #heardNow = 0;

  constructor(name: string, total: number) {
    this.#name = name;
    this.#total = total;
  }

  passed(isKnown: boolean): void {
    this.#done++;
    if (!isKnown) this.#heardNow++;
    const nowMs = performance.now();
    if (nowMs - this.#saidAtMs < PROGRESS_EVERY_MS) return;
    this.#saidAtMs = nowMs;
    const leftMs = ((this.#total - this.#done) * (nowMs - this.#startedAtMs)) / Math.max(1, this.#heardNow);
    console.error(
      `${this.#name}: ${this.#done} of ${this.#total} recordings, about ${Math.ceil(leftMs / 60_000)} min left`,
    );
  }
}
