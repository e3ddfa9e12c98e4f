import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { Punctuator } from "../../native/models/punctuation/punctuator.js";
import type { BenchOptions } from "../bench-options.js";
import { RECORDINGS } from "../evaluate/paths.js";
import { percent, percentWithInterval, table } from "../evaluate/report.js";
import { readSamples } from "../evaluate/samples.js";
import { saveResult } from "../save-result.js";
import { corpusLines } from "../support/corpora.js";
import { type EndScore, scoreEnds } from "../support/readable-ends.js";
import { type HeardText, hearFile, hearLive } from "../support/readable-hearing.js";
import { PAUSE_WAYS, type SetScore, scoreSet } from "../support/readable-sets.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SAMPLE_RATE_HZ } from "../support/spoken-stream.js";
import { kazakhVoices, russianVoices, type SpeakLine, spokenTexts } from "../support/spoken-texts.js";
import { writtenWords } from "../support/written-words.js";

const SEED = 20_261_125;
const ENOUGH_CREDITS = 100_000_000;
/** A line that ends a sentence and is spoken exactly as written. */
const USABLE = /^(?!.*[A-Za-z]).*[.?!…]["»)]*$/;

const HELD_OUT = {
  kk: "kk-heldout.txt.br",
  ru: "ru-heldout.txt.br",
  mixed: "mixed-heldout.txt.br",
} as const;

interface Spoken {
  readonly set: string;
  readonly lines: readonly string[];
  readonly say: SpeakLine;
}

/**
 * `npm run bench -- readable [--heard FILE] [--limit 60]`: marks, capitals and digits in the recogniser's
 * output for held-out sentences, with several ways of using pauses, live compared with files. Kazakh is
 * spoken by the shipped voices, Russian by espeak-ng (required) and by recordings in the repository.
 * `--heard` saves the recognised text to a file and reuses it. Takes 25 minutes.
 */
export async function run(options: BenchOptions): Promise<void> {
  const { smoke, args } = options;
  const path = optionOf(args, "--heard");
  const limit = smoke ? 3 : Number(optionOf(args, "--limit") ?? Number.POSITIVE_INFINITY);
  const heard =
    path !== undefined && existsSync(path)
      ? (JSON.parse(readFileSync(path, "utf8")) as HeardText[])
      : await hearAll(limit);
  if (path !== undefined) writeFileSync(path, JSON.stringify(heard));
  const punctuator = await Punctuator.load();
  const sets: SetScore[] = [];
  for (const set of [...new Set(heard.map((text) => text.set))]) {
    sets.push(
      await scoreSet(
        set,
        heard.filter((text) => text.set === set),
        punctuator,
      ),
    );
  }
  const ends: EndScore[] = [];
  for (const [set, file] of Object.entries(HELD_OUT)) {
    const lines = usable(file).map((line) => writtenWords(line, set === "ru" ? "ru" : "kk"));
    ends.push(await scoreEnds(set, lines.slice(0, limit), punctuator));
  }
  await punctuator.release();
  console.log([markTable(sets), figureTable(sets), endTable(ends), sureTable(ends)].join("\n\n"));
  if (!smoke && limit === Number.POSITIVE_INFINITY) {
    console.log(await saveResult("readable", { parameters: { seed: SEED, pauses: PAUSE_WAYS }, sets, ends }));
  }
}

function optionOf(args: readonly string[], name: string): string | undefined {
  const at = args.indexOf(name);
  return at === -1 ? undefined : args[at + 1];
}

async function hearAll(limit: number): Promise<HeardText[]> {
  const service = await startServiceProcess();
  try {
    await creditDevelopment(service, ENOUGH_CREDITS);
    const heard: HeardText[] = [];
    for (const { set, lines, say } of await spokenSets(service)) {
      for await (const { lines: own, pcm } of spokenTexts(lines.slice(0, limit), say, SEED)) {
        const live = await hearLive(service, pcm);
        heard.push({ set, lines: own, ...(await hearFile(service, pcm)), live });
      }
    }
    return heard;
  } finally {
    await service.stop();
  }
}

async function spokenSets(service: ServiceProcess): Promise<Spoken[]> {
  const people = recordings();
  const byText = new Map(people.map(({ text, path }) => [text, path]));
  return [
    { set: "kk", lines: usable(HELD_OUT.kk), say: kazakhVoices(service) },
    { set: "ru", lines: usable(HELD_OUT.ru), say: russianVoices },
    { set: "mixed", lines: usable(HELD_OUT.mixed), say: kazakhVoices(service) },
    { set: "kk figures", lines: withFigures("kk.txt.br"), say: kazakhVoices(service) },
    { set: "ru figures", lines: withFigures("ru.txt.br"), say: russianVoices },
    {
      set: "ru people",
      lines: people.map(({ text }) => text),
      say: async (line) => toInt16(await readSamples(byText.get(line)!, SAMPLE_RATE_HZ)),
    },
  ];
}

function usable(file: string): string[] {
  return corpusLines(file).filter((line) => USABLE.test(line));
}

const FIGURE_LINES = 60;

/** Returns lines with numbers, evenly sampled; the recogniser's language model has seen them. */
function withFigures(file: string): string[] {
  const all = usable(file).filter((line) => /\d/.test(line));
  return all.filter((_, nth) => nth % Math.floor(all.length / FIGURE_LINES) === 0).slice(0, FIGURE_LINES);
}

/** Returns sentences recorded by people, with their written text. */
function recordings(): { readonly text: string; readonly path: string }[] {
  return ["asterisk-ru-core", "asterisk-ru-additional", "pisets-ru-test"].flatMap((set) => {
    const folder = `${RECORDINGS}${set}/`;
    const [, ...rows] = readFileSync(`${folder}transcripts.tsv`, "utf8").trimEnd().split("\n");
    return rows.flatMap((row) => {
      const [file = "", , text = ""] = row.split("\t");
      return USABLE.test(text) && text.includes(" ") ? [{ text, path: folder + file }] : [];
    });
  });
}

function markTable(sets: readonly SetScore[]): string {
  const rows = sets.flatMap(({ set, wordErrorRate, written, shown, ways }) => [
    [`${set}, the written words`, "", ...cells(written)],
    [`${set}, as the service shows it`, percent(wordErrorRate), ...cells(shown)],
    ...Object.entries(ways).map(([way, score]) => [`${set}, pauses ${way}`, "", ...cells(score)]),
  ]);
  return table(
    ["set", "WER", "comma", "full stop", "question", "any end", "capitals", "capitals inside"],
    rows,
  );
}

function cells(score: SetScore["shown"]): string[] {
  return Object.values(score).map(percentWithInterval);
}

function figureTable(sets: readonly SetScore[]): string {
  return table(
    ["set", "figures written", "recognised", "as written", "too many", "live as the file", "marks alike"],
    sets.map(({ set, figures, live }) => [
      set,
      ...[figures.written, figures.recognised, figures.right, figures.extra].map(String),
      live === null ? "" : percent(live.sameText),
      live === null ? "" : percent(live.sameMarks),
    ]),
  );
}

function endTable(ends: readonly EndScore[]): string {
  const list = (shares: readonly number[]) => shares.map(percent).join(" / ");
  return table(
    [
      "inner words held, 2 / 5 / 10 % of ends missed",
      "ends",
      "n-gram",
      "network",
      "rule: ends missed, words held",
    ],
    ends.map(({ set, ends: count, held, rule }) => [
      set,
      String(count),
      list(held.nGram),
      list(held.network),
      `${percent(rule.missed)}, ${percent(rule.held)}`,
    ]),
  );
}

function sureTable(ends: readonly EndScore[]): string {
  return table(
    ["finals called an end at once", "threshold", "finals", "right", "of all ends"],
    ends.flatMap(({ set, sure }) =>
      sure.map(({ threshold, finals, right, found }) => [
        set,
        ...[String(threshold), String(finals), percent(right), percent(found)],
      ]),
    ),
  );
}
