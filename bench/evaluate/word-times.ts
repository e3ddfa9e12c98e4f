import { DauysClient } from "../../src/client/node.js";
import { saveResult } from "../save-result.js";
import { corpusLines } from "../support/corpora.js";
import { type HeardSpeech, hearWords, recognizerLateness } from "../support/heard-words.js";
import { creditDevelopment, startServiceProcess } from "../support/service-process.js";
import { table } from "./report.js";

const SENTENCES = 40;
/** Range of words per sentence: with fewer it is mostly edges, with more it is cut into pieces. */
const WORDS = { min: 4, max: 16 };
const NFE = 16;
/** Paces, assigned to sentences in turn. */
const SPEEDS = [1, 0.8, 1.4] as const;
const ENOUGH_CREDITS = 1_000_000;

/** A group of sentences: all of them, or those of one voice or pace. */
interface WordTimesRow {
  readonly group: string;
  readonly sentences: number;
  readonly words: number;
  /** Number of words that the recogniser got right; only these can be compared. */
  readonly heard: number;
  /**
   * Difference in milliseconds, minus the recogniser's own lag; `mean` is the mean absolute difference,
   * `bias` the signed mean.
   */
  readonly start: Difference;
  readonly end: Difference;
}

interface Difference {
  readonly meanMs: number;
  readonly p95Ms: number;
  readonly biasMs: number;
}

export interface WordTimesReport {
  /** Recogniser's lag after the onset of sound, the median over the sentences' first words. */
  readonly recognizerLatenessMs: number;
  readonly rows: readonly WordTimesRow[];
}

interface Spoken extends Omit<HeardSpeech, "samples" | "words"> {
  readonly voice: string;
  readonly speed: number;
}

/** Speaks held-out sentences through the whole service, and compares its word times with the recogniser's. */
export async function evaluateWordTimes(limit: number): Promise<WordTimesReport> {
  const service = await startServiceProcess();
  try {
    await creditDevelopment(service, ENOUGH_CREDITS);
    const client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
    const [model] = await client.models();
    const voices = model?.voices ?? [];
    const spoken: Spoken[] = [];
    for (const [i, text] of heldOutSentences().slice(0, limit).entries()) {
      const voice = voices[i % voices.length]!;
      const speed = SPEEDS[Math.floor(i / voices.length) % SPEEDS.length]!;
      const { samples: _, words: __, ...heard } = await hearWords(client, { text, voice, speed, nfe: NFE });
      spoken.push({ voice, speed, ...heard });
    }
    const lateness = recognizerLateness(spoken);
    const group = (name: string, isIn: (one: Spoken) => boolean) =>
      rowOf(name, spoken.filter(isIn), lateness);
    const rows = [
      group("all", () => true),
      ...voices.map((voice) => group(voice, (one) => one.voice === voice)),
      ...SPEEDS.map((speed) => group(`speed ${speed}`, (one) => one.speed === speed)),
    ];
    const report = { recognizerLatenessMs: Math.round(1_000 * lateness), rows };
    if (limit >= SENTENCES) {
      const parameters = { nfe: NFE, words: WORDS, speeds: SPEEDS };
      console.log(`saved ${await saveResult("word-times", { parameters, ...report, spoken })}`);
    }
    return report;
  } finally {
    await service.stop();
  }
}

/** Renders the rows as Markdown. */
export function wordTimesTable({ recognizerLatenessMs, rows }: WordTimesReport): string {
  const show = ({ meanMs, p95Ms, biasMs }: Difference) => `${meanMs} / ${p95Ms} (${biasMs})`;
  const cells = rows.map(({ group, sentences, words, heard, start, end }) => [
    group,
    String(sentences),
    `${heard} of ${words}`,
    show(start),
    show(end),
  ]);
  const head = ["word times", "sentences", "words heard", "start: mean / p95 (bias), ms", "end, ms"];
  const late = `The recogniser reports words ${recognizerLatenessMs} ms late, which is subtracted`;
  return `${table(head, cells)}\n\n${late}: its manifest's emissionDelaySeconds should be larger by this.`;
}

/** Selects sentences spread evenly over the file, to include every kind of text in it. */
function heldOutSentences(): string[] {
  const lines = corpusLines("kk-heldout.txt.br").filter((line) => {
    const words = line.split(" ").length;
    return words >= WORDS.min && words <= WORDS.max;
  });
  return Array.from({ length: SENTENCES }, (_, i) => lines[Math.floor((i * lines.length) / SENTENCES)]!);
}

function rowOf(group: string, spoken: readonly Spoken[], lateness: number): WordTimesRow {
  const heard = spoken.flatMap((one) => one.heard);
  return {
    group,
    sentences: spoken.length,
    words: spoken.reduce((sum, { wordCount }) => sum + wordCount, 0),
    heard: heard.length,
    start: differenceOf(heard.map(({ startDifference }) => startDifference + lateness)),
    end: differenceOf(heard.map(({ endDifference }) => endDifference + lateness)),
  };
}

function differenceOf(seconds: readonly number[]): Difference {
  const absolute = seconds.map(Math.abs).toSorted((a, b) => a - b);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const p95 = absolute[Math.min(absolute.length - 1, Math.floor(0.95 * absolute.length))] ?? Number.NaN;
  const ms = (value: number) => Math.round(1_000 * value);
  return { meanMs: ms(mean(absolute)), p95Ms: ms(p95), biasMs: ms(mean(seconds)) };
}
