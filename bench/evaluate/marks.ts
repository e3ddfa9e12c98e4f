import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrapRate, type Estimate } from "../../core/domain/statistics/bootstrap.js";
import type { Punctuation } from "../../core/domain/text/display/marks.js";
import { readManifest } from "../../native/models/find-packages.js";
import { Punctuator } from "../../native/models/punctuation/punctuator.js";
import { saveResult } from "../save-result.js";
import { groupBy } from "./group-by.js";
import { MODELS, RECIPES } from "./paths.js";
import { percent, percentWithInterval, table } from "./report.js";
import { weightsOf } from "./versions.js";

const MODEL_ID = "punctuation-v1";
/** Number of lines of a source that are joined without their boundaries, also for texts as long as recordings. */
const JOINED = 3;
const JOINED_LONG = 90;
/** Minimum share of the lines that are in the test split. */
const LEAST_TEST_SHARE = 0.02;
const FILES = ["test", "heldout-kk", "heldout-ru", "heldout-mixed"] as const;
/** Sources of the test split without an editor, or with old spelling of marks and capitals. */
const NOT_EDITED: readonly string[] = ["kk/reviews", "kk/abai", "ru/jokes", "ru/ruslit"];

const FIGURES = ["comma", "stop", "question", "capitals", "inside"] as const;
type Figure = (typeof FIGURES)[number];
const MARKS = [
  ["comma", ","],
  ["stop", "."],
  ["question", "?"],
] as const;

interface MarkSet {
  readonly set: string;
  readonly title: string;
  readonly file: (typeof FILES)[number];
  readonly hasSource: (source: string) => boolean;
  /** Number of joined lines; 3 by default. */
  readonly joined?: number;
}

const isEdited = (language: string) => (source: string) =>
  source.startsWith(`${language}/`) && !NOT_EDITED.includes(source);
const isAny = () => true;
const SETS: readonly MarkSet[] = [
  {
    set: "kk-edited",
    title: "Kazakh, edited (news, encyclopedia, proverbs, software)",
    file: "test",
    hasSource: isEdited("kk"),
  },
  { set: "ru-edited", title: "Russian, edited and spoken style", file: "test", hasSource: isEdited("ru") },
  {
    set: "kk-long",
    title: "Kazakh, edited, 90 lines joined",
    file: "test",
    hasSource: isEdited("kk"),
    joined: JOINED_LONG,
  },
  {
    set: "ru-long",
    title: "Russian, edited, 90 lines joined",
    file: "test",
    hasSource: isEdited("ru"),
    joined: JOINED_LONG,
  },
  {
    set: "kk-heldout",
    title: "Kazakh held out, reviews included",
    file: "heldout-kk",
    hasSource: isAny,
  },
  {
    set: "ru-heldout",
    title: "Russian held out, old prose and jokes included",
    file: "heldout-ru",
    hasSource: isAny,
  },
  {
    set: "mixed-heldout",
    title: "code-switched reviews, held out",
    file: "heldout-mixed",
    hasSource: isAny,
  },
];

/** Lowest acceptable F1 of edited text. */
const GOALS: Readonly<Record<string, Readonly<Partial<Record<Figure, number>>>>> = {
  "kk-edited": { comma: 0.62, stop: 0.83, question: 0.76, capitals: 0.85 },
  "ru-edited": { comma: 0.7, stop: 0.8, question: 0.76, capitals: 0.87 },
};

/** A word with the mark after it, as the recipe's `prepare.mjs` labels it. */
interface LabelledWord {
  readonly word: string;
  readonly mark: string;
  readonly isCapital: boolean;
}

/** Lines joined without their boundaries. */
export interface JoinedLines {
  readonly words: readonly LabelledWord[];
  /** Indices of the lines' first words. */
  readonly starts: ReadonlySet<number>;
}

type Counts = readonly [right: number, extra: number, missed: number];

interface MarksRow {
  readonly set: string;
  readonly title: string;
  /** Number of joined texts, and of words in them. */
  readonly texts: number;
  readonly words: number;
  readonly f1: Readonly<Record<Figure, Estimate>>;
}

interface Goal {
  readonly set: string;
  readonly figure: Figure;
  readonly atLeast: number;
  readonly f1: number;
  readonly isMet: boolean;
}

export interface MarksReport {
  readonly modelId: string;
  readonly weights: string;
  /** Lines of the corpora outside the held-out sets, and the part of them that training does not see. */
  readonly lines: { readonly all: number; readonly test: number; readonly testShare: number };
  readonly rows: readonly MarksRow[];
  readonly goals: readonly Goal[];
}

/**
 * Scores the shipped punctuation model on its test split and the held-out sets, in joined lines and without
 * pauses.
 *
 * @param options.sets words that select sets by name; empty for all
 * @param options.limit maximum number of joined texts per set
 */
export async function evaluateMarks(options: {
  readonly sets: readonly string[];
  readonly limit: number;
}): Promise<MarksReport> {
  const { files, trained } = await preparedFiles();
  const manifest = await readManifest(MODELS + MODEL_ID);
  if (manifest === null) throw new Error(`Cannot evaluate: ${MODELS}${MODEL_ID} has no manifest.json`);
  const punctuator = await Punctuator.load();
  const rows: MarksRow[] = [];
  for (const markSet of SETS) {
    const isWanted = options.sets.length === 0 || options.sets.some((word) => markSet.set.includes(word));
    if (isWanted) rows.push(await rowOf(markSet, files.get(markSet.file)!, options.limit, punctuator));
  }
  await punctuator.release();
  const test = files.get("test")!.length;
  const lines = { all: trained + test, test, testShare: test / (trained + test) };
  const report = { modelId: MODEL_ID, weights: weightsOf(manifest), lines, rows, goals: goalsOf(rows) };
  if (options.sets.length === 0 && options.limit === Number.POSITIVE_INFINITY) {
    const parameters = { joinedLines: JOINED, joinedLongLines: JOINED_LONG, notEdited: NOT_EDITED };
    console.log(`saved ${await saveResult("marks", { parameters, ...report })}`);
  }
  return report;
}

/** Renders F1 with its interval as Markdown, as in the model's card. */
export function marksTable({ rows }: MarksReport): string {
  return table(
    ["F1, %", "comma", "full stop", "question", "capitals", "capitals inside"],
    rows.map(({ title, f1 }) => [title, ...FIGURES.map((figure) => percentWithInterval(f1[figure]))]),
  );
}

/** Renders the goals and the size of the test split. */
export function marksGoals({ lines, goals }: MarksReport): string {
  const cells = goals.map(({ set, figure, atLeast, f1, isMet }) => [
    `${set}, ${figure}`,
    percent(atLeast),
    percent(f1),
    isMet ? "met" : "missed",
  ]);
  const split = `The test split has ${lines.test} of ${lines.all} lines, ${(100 * lines.testShare).toFixed(2)} %`;
  const isEnough = lines.testShare >= LEAST_TEST_SHARE ? "met" : "missed";
  return [
    table(["goal", "at least", "F1, %", ""], cells),
    `${split} (at least ${100 * LEAST_TEST_SHARE} %: ${isEnough}).`,
  ].join("\n\n");
}

/**
 * Counts right, extra and missing marks and capitals.
 * @param read the model's output for the words
 */
export function countMarks(
  { words, starts }: JoinedLines,
  read: Pick<Punctuation, "marks" | "cases">,
): Record<Figure, Counts> {
  const counts = Object.fromEntries(FIGURES.map((figure) => [figure, [0, 0, 0]])) as unknown as Record<
    Figure,
    [number, number, number]
  >;
  const count = (figure: Figure, is: boolean, was: boolean) => {
    if (is || was) counts[figure][is && was ? 0 : is ? 1 : 2]++;
  };
  for (const [at, { mark, isCapital }] of words.entries()) {
    const isLast = at === words.length - 1 || starts.has(at + 1);
    // A line without an end mark says nothing about its end.
    if (!isLast || mark === "." || mark === "?") {
      for (const [figure, sign] of MARKS) count(figure, read.marks[at] === sign, mark === sign);
    }
    const isShown = read.cases[at] !== "lower";
    count("capitals", isShown, isCapital);
    if (!starts.has(at)) count("inside", isShown, isCapital);
  }
  return counts;
}

/** Joins neighbouring lines of each source of `prepare.mjs`; those that are left at its end are omitted. */
export function joinLines(
  lines: readonly string[],
  hasSource: (source: string) => boolean,
  joined = JOINED,
): JoinedLines[] {
  const bySource = groupBy(lines, (line) => line.slice(0, line.indexOf("\t")));
  return [...bySource].flatMap(([source, own]) => {
    if (!hasSource(source)) return [];
    return Array.from({ length: Math.floor(own.length / joined) }, (_, nth) => {
      const words: LabelledWord[] = [];
      const starts = new Set<number>();
      for (const line of own.slice(nth * joined, (nth + 1) * joined)) {
        starts.add(words.length);
        words.push(...labelledWords(line.slice(source.length + 1)));
      }
      return { words, starts };
    });
  });
}

function labelledWords(text: string): LabelledWord[] {
  return text.split(" ").map((item) => {
    const [word = "", mark = "", cased] = item.split("|");
    return { word, mark, isCapital: cased !== "l" };
  });
}

/** Lets the recipe split the corpora into a temporary folder, and counts the lines for training. */
async function preparedFiles(): Promise<{
  readonly files: ReadonlyMap<string, readonly string[]>;
  readonly trained: number;
}> {
  const folder = await mkdtemp(join(tmpdir(), "dauys-marks-"));
  try {
    const script = `${RECIPES}punctuation/prepare.mjs`;
    const stdio = ["ignore", "ignore", "inherit"] as const;
    const { status } = spawnSync(process.execPath, [script, folder], { stdio: [...stdio] });
    if (status !== 0) throw new Error(`Cannot evaluate: ${script} failed`);
    const read = async (name: string) =>
      (await readFile(join(folder, `${name}.tsv`), "utf8")).trimEnd().split("\n");
    const files = await Promise.all(FILES.map(async (name) => [name, await read(name)] as const));
    return { files: new Map(files), trained: (await read("train")).length };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function rowOf(
  { set, title, hasSource, joined }: MarkSet,
  lines: readonly string[],
  limit: number,
  punctuator: Punctuator,
): Promise<MarksRow> {
  const texts = joinLines(lines, hasSource, joined).slice(0, limit);
  const counts: Record<Figure, Counts>[] = [];
  for (const text of texts) {
    counts.push(countMarks(text, await punctuator.read(text.words.map(({ word }) => word))));
  }
  const f1 = FIGURES.map((figure) => [figure, f1Of(counts.map((own) => own[figure]))]);
  return {
    ...{ set, title, texts: texts.length },
    words: texts.reduce((sum, { words }) => sum + words.length, 0),
    f1: Object.fromEntries(f1) as Record<Figure, Estimate>,
  };
}

/** Computes F1 over all texts: twice the right ones over twice the right ones plus all errors. */
function f1Of(counts: readonly Counts[]): Estimate {
  return bootstrapRate(
    counts.map(([right]) => 2 * right),
    counts.map(([right, extra, missed]) => 2 * right + extra + missed),
  );
}

function goalsOf(rows: readonly MarksRow[]): Goal[] {
  return rows.flatMap(({ set, f1 }) =>
    FIGURES.flatMap((figure) => {
      const atLeast = GOALS[set]?.[figure];
      const { value } = f1[figure];
      return atLeast === undefined ? [] : [{ set, figure, atLeast, f1: value, isMet: value >= atLeast }];
    }),
  );
}
