import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { BeamDecoder } from "../../core/domain/decoding/beam-decoder.js";
import { outputBias } from "../../core/domain/decoding/output-bias.js";
import { type BeamSearchOptions, PrefixBeamSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import { type Heard, hear, type LoadedRecognizer, loadRecognizerParts } from "./acoustics.js";
import { type ErrorRates, errorRates } from "./error-rates.js";
import { groupBy } from "./group-by.js";
import { MODELS } from "./paths.js";
import { prepareSet } from "./prepare.js";
import { readIndex, selectItems } from "./sets.js";

const HELP = `npm run build && node dist/bench/evaluate/tune.js [--model svc-kk-ru-v2] [--limit 300] [--beam 64] [--rounds 3] [--write]

Looks for the decoder's weights on the development sentences, which are neither in the evaluation set nor in the language
model. The last line goes into the manifest's "decoding". The recogniser may have heard some of the sentences in training, so
the error rates are not results. How often the full-context head writes each output in these sentences are its priors; --write
saves them to the package's priors.json. --rounds 0 scores the weights that it would start from and looks for none.`;

/** The weights to tune, and the fixed width of the beam. */
interface TunedOptions extends BeamSearchOptions {
  readonly priorWeight: number;
}

const START: TunedOptions = {
  beamWidth: 64,
  languageModelWeight: 0.9,
  characterBonus: 2.2,
  wordBonus: 2,
  priorWeight: 0.65,
};
const GRID = {
  priorWeight: [0, 0.2, 0.35, 0.45, 0.55, 0.65, 0.8],
  languageModelWeight: [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2],
  characterBonus: [1.6, 2, 2.2, 2.4, 2.6, 3],
  wordBonus: [0, 0.5, 1, 1.5, 2, 3],
} as const;
/** Number of decimals of a prior in the saved file. */
const PRIOR_DECIMALS = 5;
type TunedOption = keyof typeof GRID;

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "svc-kk-ru-v2" },
    limit: { type: "string", default: "300" },
    beam: { type: "string", default: String(START.beamWidth) },
    rounds: { type: "string", default: "3" },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(HELP);
else await tune(values.model, Number(values.limit), { ...START, beamWidth: Number(values.beam) });

/**
 * Tunes by coordinate descent: the best value of one weight with the others fixed, until a round changes
 * nothing.
 */
async function tune(modelId: string, limit: number, start: TunedOptions): Promise<void> {
  prepareSet("evaluation"); // its sentences are left out
  const recognizer = await loadRecognizerParts(MODELS + modelId);
  const items = selectItems(await readIndex(prepareSet("dev")), [], Math.ceil(limit / 2));
  const heard: Heard[] = [];
  for (const item of items) heard.push(await hear(recognizer, item));
  console.log(`${heard.length} utterances, beam ${start.beamWidth}`);
  const priors = priorsOf(heard, recognizer.graphs.vocabulary.length);
  if (values.write) await writeFile(`${MODELS}${modelId}/priors.json`, `${JSON.stringify(priors)}\n`);
  const score = (options: TunedOptions) => scoreOf(recognizer, heard, priors, options);
  let best = start;
  let bestError = score(best);
  for (let round = 0; round < Number(values.rounds); round++) {
    const before = best;
    for (const option of Object.keys(GRID) as TunedOption[]) {
      for (const value of GRID[option]) {
        if (value === best[option]) continue;
        const tried = { ...best, [option]: value };
        const error = score(tried);
        if (error < bestError) [best, bestError] = [tried, error];
      }
    }
    if (best === before) break;
  }
  if (Number(values.rounds) === 0) return;
  for (const beamWidth of [8, 16, 32, 64, 128]) score({ ...best, beamWidth });
  console.log(JSON.stringify(best));
}

/** Returns the share of each output except blank in all that the full-context head outputs; blank has 0. */
function priorsOf(heard: readonly Heard[], outputs: number): number[] {
  const sums = new Array<number>(outputs).fill(0);
  for (const { full, frames } of heard) {
    for (let i = 0; i < frames * outputs; i++) sums[i % outputs]! += Math.exp(full[i]!);
  }
  const written = sums.slice(1).reduce((total, sum) => total + sum, 0);
  return sums.map((sum, output) => (output === 0 ? 0 : Number((sum / written).toFixed(PRIOR_DECIMALS))));
}

/**
 * Returns the mean word error rate over the sets, so that no language outweighs the others. Prints each
 * trial.
 */
function scoreOf(
  recognizer: LoadedRecognizer,
  heard: readonly Heard[],
  priors: readonly number[],
  options: TunedOptions,
): number {
  const { vocabulary } = recognizer.graphs;
  const search = new BeamDecoder(
    vocabulary,
    new PrefixBeamSearch(vocabulary, recognizer.languageModel, options),
    { outputBias: outputBias(priors, options.priorWeight) },
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
  const { beamWidth, languageModelWeight, characterBonus, wordBonus, priorWeight } = options;
  const weights = `prior ${priorWeight} lm ${languageModelWeight} char ${characterBonus} word ${wordBonus}`;
  const tried = `${weights} beam ${beamWidth}`;
  console.log(`WER ${(100 * mean).toFixed(2)}  ${tried}  ${msEach.toFixed(1)} ms  (${parts.join(", ")})`);
  return mean;
}
