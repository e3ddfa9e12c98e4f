import assert from "node:assert/strict";
import { Bench } from "tinybench";
import { normalizeKazakh } from "../../core/domain/text/kazakh/normalize.js";
import { splitIntoSentences } from "../../core/domain/text/sentences.js";
import { spokenSentences } from "../../core/domain/text/spoken-sentences.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult, taskFigures } from "../save-result.js";
import { corpusLines } from "../support/corpora.js";

/** Sentences in which almost every word matches a rule, and in which none does. */
const DENSE =
  "2024 жылы 5 мамырда Алматы қ. 15%-ға өсім болды: 500 000 ₸ немесе $1,5 млн. Сағат 14:30-да ХХІ ғасырдың №5 мектебінде " +
  "«Google-дың» өкілдері А. Байтұрсынұлы туралы айтты. Қазақстанның түкпір-түкпірінен келген оқушылар көп болды, олар " +
  "таңертеңнен кешке дейін үйде, түзде, далада еркін жүріп, жаңа достар тапты. ";
const SPOKEN_BEGIN =
  "екі мың жиырма төртінші жылы бесінші мамырда алматы қаласы он бес пайызға өсім болды: бес жүз мың теңге";
/** Length of the longest text of one request. */
const LONGEST_REQUEST = 5_000;
const DENSE_TEXT = DENSE.repeat(Math.ceil(LONGEST_REQUEST / DENSE.length)).slice(0, LONGEST_REQUEST);
/** Real text: sentences of news and dictation, with their numbers and names. */
const WRITTEN_TEXT = corpusLines("kk-heldout.txt.br").join("\n").slice(0, LONGEST_REQUEST);

/**
 * Times the path from a request's text to the voice's input, for the longest text. Throughput is in MB of
 * UTF-8 per second of CPU time of all threads: on a busy machine, wall time also contains other work.
 */
export async function run(options: BenchOptions): Promise<void> {
  assert.ok(normalizeKazakh(DENSE_TEXT, { expand: true }).spoken.startsWith(SPOKEN_BEGIN));
  const bench = new Bench({ time: options.smoke ? 20 : 1_000, retainSamples: true });
  const throughput: { name: string; megabytesPerCpuSecond: number }[] = [];
  for (const [name, text] of [
    ["dense", DENSE_TEXT],
    ["written", WRITTEN_TEXT],
  ] as const) {
    const tasks: readonly (readonly [string, () => void])[] = [
      ["sentences", () => void splitIntoSentences(text)],
      ["normalize", () => void normalizeKazakh(text, { expand: true })],
      ["normalize, not expanded", () => void normalizeKazakh(text, { expand: false })],
      ["sentences, normalize, pieces with their words", () => void spokenSentences(text, { expand: true })],
    ];
    for (const [task, work] of tasks) {
      bench.add(`${name}: ${task}`, work);
      const megabytes = Buffer.byteLength(text) / 1e6;
      const seconds = cpuSeconds(work, options.smoke ? 5 : 1_000);
      throughput.push({ name: `${name}: ${task}`, megabytesPerCpuSecond: megabytes / seconds });
    }
  }
  await bench.run();
  for (const { name, megabytesPerCpuSecond } of throughput) {
    console.log(`normalize ${name}: ${megabytesPerCpuSecond.toFixed(1)} MB/s`);
  }
  if (options.smoke) return;
  const bytes = { dense: Buffer.byteLength(DENSE_TEXT), written: Buffer.byteLength(WRITTEN_TEXT) };
  const parameters = { characters: LONGEST_REQUEST, bytes };
  await saveResult("normalize", { parameters, throughput, figures: taskFigures(bench) });
}

/** Returns the mean processor time of one call, after a tenth as many calls to warm up. */
function cpuSeconds(work: () => void, calls: number): number {
  for (let i = 0; i < calls / 10; i++) work();
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / calls;
}
