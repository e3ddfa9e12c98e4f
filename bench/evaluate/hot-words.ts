import { parseArgs } from "node:util";
import { HotWords } from "../../core/domain/decoding/hot-words.js";
import { editDistance, normalizeForScoring, type ScoredPair } from "../../core/domain/text/error-rate.js";
import { decoderOf, type Heard, hear, loadRecognizerParts } from "./acoustics.js";
import { errorRates } from "./error-rates.js";
import { MODELS } from "./paths.js";
import { prepareSet } from "./prepare.js";
import { percent, table } from "./report.js";
import { readIndex, selectItems } from "./sets.js";

const HELP = `npm run build && node dist/bench/evaluate/hot-words.js [--model svc-kk-ru-v2] [--limit 20] [--sets clean]

Measures hot words on the evaluation sentences with several scores. Wanted words are words of the reference with
five letters or more that are wrong without hot words. Each sentence gets a list of 100: its wanted words and words
of other sentences; then a list of words of other sentences only, which should change nothing.`;
const SCORES = [0, 0.5, 1, 1.5, 2, 3, 5];
const LIST_SIZE = 100;
/** Minimum length; shorter words are mostly function words, which users do not list. */
const SHORTEST = 5;

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "svc-kk-ru-v2" },
    limit: { type: "string", default: "20" },
    sets: { type: "string", default: "clean" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(HELP);
else await measure();

async function measure(): Promise<void> {
  const recognizer = await loadRecognizerParts(MODELS + values.model);
  const { vocabulary } = recognizer.graphs;
  const decoder = decoderOf(recognizer);
  const items = selectItems(
    await readIndex(prepareSet("evaluation")),
    values.sets.split(","),
    Number(values.limit),
  );
  const heard: Heard[] = [];
  for (const item of items) heard.push(await hear(recognizer, item));
  const textOf = ({ full, frames }: Heard, hotWords: HotWords | null) =>
    decoder.decode(full, frames, { hotWords }).text;
  const plain = heard.map((one) => textOf(one, null));
  const wanted = heard.map((one, i) => {
    const found = new Set(wordsOf(plain[i]!));
    return wordsOf(one.item.reference).filter((word) => word.length >= SHORTEST && !found.has(word));
  });
  const others = [...new Set(heard.flatMap(({ item }) => wordsOf(item.reference)))].filter(
    (word) => word.length >= SHORTEST,
  );
  const compile = (words: readonly string[], characterScore: number) =>
    HotWords.compile(
      words
        .filter((word) => [...word].every((letter) => vocabulary.includes(letter)))
        .map((text) => ({ text, characterScore })),
      vocabulary,
    );
  const rows = SCORES.map((score) => {
    const related: ScoredPair[] = [];
    const unrelated: ScoredPair[] = [];
    let [hits, total, changed, insertions] = [0, 0, 0, 0];
    for (const [i, one] of heard.entries()) {
      const { reference } = one.item;
      const distractors = distractorsFor(reference, others, i);
      const distracted = textOf(one, compile(distractors, score));
      unrelated.push({ reference, hypothesis: distracted });
      changed += editDistance(wordsOf(plain[i]!), wordsOf(distracted));
      insertions += Math.max(0, wordsOf(distracted).length - wordsOf(plain[i]!).length);
      const list = [...wanted[i]!, ...distractors].slice(0, LIST_SIZE);
      const hypothesis = textOf(one, compile(list, score));
      related.push({ reference, hypothesis });
      const found = new Set(wordsOf(hypothesis));
      hits += wanted[i]!.filter((word) => found.has(word)).length;
      total += wanted[i]!.length;
    }
    const errors = [related, unrelated].map((pairs) => percent(errorRates(pairs).wordErrorRate));
    return [String(score), `${hits} of ${total}`, ...errors, String(changed), String(insertions)];
  });
  const head = [
    "score",
    "wanted words found",
    "WER with them",
    "WER with 100 others",
    "words changed by others",
    "more words by others",
  ];
  console.log(table(head, rows));
  await recognizer.graphs.release();
}

/** Selects words of other sentences, spread over all of them. */
function distractorsFor(reference: string, others: readonly string[], nth: number): string[] {
  const own = new Set(wordsOf(reference));
  const foreign = others.filter((word) => !own.has(word));
  const step = Math.max(1, Math.floor(foreign.length / LIST_SIZE));
  return foreign.filter((_, at) => at % step === nth % step).slice(0, LIST_SIZE);
}

function wordsOf(text: string): string[] {
  return normalizeForScoring(text)
    .split(" ")
    .filter((word) => word !== "");
}
