import { parseArgs } from "node:util";
import { type ErrorRates, errorRates } from "../../src/domain/accuracy/error-rate.js";
import { BeamDecoder } from "../../src/domain/decoding/beam-decoder.js";
import { type BeamSearchOptions, PrefixBeamSearch } from "../../src/domain/decoding/prefix-beam-search.js";
import { type Heard, hear, type LoadedRecognizer, loadRecognizerParts } from "./acoustics.js";
import { groupBy } from "./group-by.js";
import { MODELS } from "./paths.js";
import { prepareSet } from "./prepare.js";
import { readIndex, selectItems } from "./sets.js";

const HELP = `npm run build && node dist/bench/evaluate/tune.js [--model svc-kk-ru-v2] [--limit 100] [--beam 64]

Looks for the decoder's weights on the development sentences, which are neither held-out nor in the language model.
The last line goes into the manifest's "decoding". The recogniser may have heard the sentences in training, so the
error rates are not results.`;

const START: BeamSearchOptions = {
  beamWidth: 64,
  languageModelWeight: 0.8,
  characterBonus: 1.4,
  wordBonus: 0.5,
};
const GRID = {
  languageModelWeight: [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1],
  characterBonus: [0.8, 1, 1.2, 1.4, 1.6, 1.8, 2],
  wordBonus: [0, 0.5, 1, 1.5, 2],
} as const;
type TunedOption = keyof typeof GRID;

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "svc-kk-ru-v2" },
    limit: { type: "string", default: "100" },
    beam: { type: "string", default: String(START.beamWidth) },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(HELP);
else await tune(values.model, Number(values.limit), { ...START, beamWidth: Number(values.beam) });

/** Coordinate descent: the best value of one weight with the others fixed, until a round changes nothing. */
async function tune(modelId: string, limit: number, start: BeamSearchOptions): Promise<void> {
  const recognizer = await loadRecognizerParts(MODELS + modelId);
  const items = selectItems(await readIndex(prepareSet("dev")), [], Math.ceil(limit / 2));
  const heard: Heard[] = [];
  for (const item of items) heard.push(await hear(recognizer, item));
  console.log(`${heard.length} utterances, beam ${start.beamWidth}`);
  let best = start;
  let bestError = score(recognizer, heard, best);
  for (let round = 0; round < 3; round++) {
    const before = best;
    for (const option of Object.keys(GRID) as TunedOption[]) {
      for (const value of GRID[option]) {
        if (value === best[option]) continue;
        const tried = { ...best, [option]: value };
        const error = score(recognizer, heard, tried);
        if (error < bestError) [best, bestError] = [tried, error];
      }
    }
    if (best === before) break;
  }
  for (const beamWidth of [8, 16, 32, 64, 128]) score(recognizer, heard, { ...best, beamWidth });
  console.log(JSON.stringify(best));
}

/** Mean word error rate over the sets, so that no language outweighs the others. Prints what was tried. */
function score(recognizer: LoadedRecognizer, heard: readonly Heard[], options: BeamSearchOptions): number {
  const { vocabulary } = recognizer.graphs;
  const search = new BeamDecoder(
    vocabulary,
    new PrefixBeamSearch(vocabulary, recognizer.languageModel, options),
  );
  const before = performance.now();
  const rates: ErrorRates[] = [];
  const parts: string[] = [];
  for (const [set, group] of groupBy(heard, ({ item }) => item.set)) {
    const found = errorRates(
      group.map(({ item, full, frames }) => ({
        reference: item.reference,
        hypothesis: search.decode(full, frames).text,
      })),
    );
    rates.push(found);
    parts.push(`${set} ${(100 * found.wordErrorRate).toFixed(1)}`);
  }
  const mean = rates.reduce((sum, rate) => sum + rate.wordErrorRate, 0) / rates.length;
  const msEach = (performance.now() - before) / heard.length;
  const { beamWidth, languageModelWeight, characterBonus, wordBonus } = options;
  const tried = `lm ${languageModelWeight} char ${characterBonus} word ${wordBonus} beam ${beamWidth}`;
  console.log(`WER ${(100 * mean).toFixed(2)}  ${tried}  ${msEach.toFixed(1)} ms  (${parts.join(", ")})`);
  return mean;
}
