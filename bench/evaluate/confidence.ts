import { parseArgs } from "node:util";
import { commonWords } from "../../core/domain/decoding/word-confidence.js";
import { normalizeForScoring } from "../../core/domain/text/error-rate.js";
import { decoderOf, hear, loadRecognizerParts } from "./acoustics.js";
import { groupBy } from "./group-by.js";
import { MODELS } from "./paths.js";
import { prepareSet } from "./prepare.js";
import { percent, table } from "./report.js";
import { readIndex, selectItems } from "./sets.js";

const HELP = `npm run build && node dist/bench/evaluate/confidence.js [--model svc-kk-ru-v2] [--limit 20] [--sets WORDS]

How well the confidence of a word tells right words from wrong ones on the evaluation sentences: the area under the ROC curve
(the chance that a right word is surer than a wrong one; 0.5 is a guess), and the share of right words by confidence.`;
const BOUNDS = [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95];

interface JudgedWord {
  readonly set: string;
  readonly confidence: number;
  readonly isRight: boolean;
}

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "svc-kk-ru-v2" },
    limit: { type: "string", default: "20" },
    sets: { type: "string", default: "" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(HELP);
else report(await judge());

/** Lists every word of the transcripts, and whether the alignment with the reference matches it. */
async function judge(): Promise<JudgedWord[]> {
  const recognizer = await loadRecognizerParts(MODELS + values.model);
  const decoder = decoderOf(recognizer);
  const sets = values.sets.split(",").filter((word) => word !== "");
  const judged: JudgedWord[] = [];
  for (const item of selectItems(await readIndex(prepareSet("evaluation")), sets, Number(values.limit))) {
    const heard = await hear(recognizer, item);
    const { words } = decoder.decode(heard.full, heard.frames);
    const spoken = normalizeForScoring(item.reference).split(" ");
    const right = new Set(
      commonWords(
        words.map(({ word }) => normalizeForScoring(word)),
        spoken,
      ),
    );
    for (const [i, { confidence }] of words.entries()) {
      judged.push({ set: item.set, confidence, isRight: right.has(i) });
    }
  }
  await recognizer.graphs.release();
  return judged;
}

function report(judged: readonly JudgedWord[]): void {
  const mean = (words: readonly JudgedWord[], of: (word: JudgedWord) => number) =>
    words.reduce((sum, word) => sum + of(word), 0) / Math.max(words.length, 1);
  const right = ({ isRight }: JudgedWord) => (isRight ? 1 : 0);
  const rows = [...groupBy(judged, ({ set }) => set), ["all", judged] as const].map(([set, words]) => [
    set,
    String(words.length),
    percent(1 - mean(words, right)),
    mean(words, ({ confidence }) => confidence).toFixed(3),
    areaUnderRoc(words).toFixed(3),
  ]);
  console.log(`${table(["set", "words", "wrong, %", "mean confidence", "AUC"], rows)}\n`);
  const bins = BOUNDS.map((low, i) => {
    const high = BOUNDS[i + 1] ?? Number.POSITIVE_INFINITY;
    const inside = judged.filter(({ confidence }) => confidence >= low && confidence < high);
    return [`from ${low}`, String(inside.length), percent(mean(inside, right))];
  });
  console.log(table(["confidence", "words", "right, %"], bins));
}

/** Computed from ranks; ties get the middle rank. @see Mann and Whitney, 1947 */
function areaUnderRoc(words: readonly JudgedWord[]): number {
  const sorted = [...words].sort((a, b) => a.confidence - b.confidence);
  let [rankSum, rightCount] = [0, 0];
  for (let from = 0; from < sorted.length; ) {
    let to = from;
    while (to < sorted.length && sorted[to]!.confidence === sorted[from]!.confidence) to++;
    const rightHere = sorted.slice(from, to).filter(({ isRight }) => isRight).length;
    rankSum += (rightHere * (from + to + 1)) / 2;
    rightCount += rightHere;
    from = to;
  }
  return (rankSum - (rightCount * (rightCount + 1)) / 2) / (rightCount * (sorted.length - rightCount));
}
