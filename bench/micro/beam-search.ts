import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Bench } from "tinybench";
import { LanguageModel } from "../../core/domain/decoding/language-model.js";
import { EMPTY_WORD_HASH, extendWordHash } from "../../core/domain/decoding/lexicon.js";
import { type BeamSearchOptions, PrefixBeamSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import { textOf } from "../../core/domain/decoding/words.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult, taskFigures } from "../save-result.js";

const MODEL = new URL("../../../models/svc-kk-ru-v2/lm.bin", import.meta.url);
const SENTENCE = "қазақ тілі түркі тілдерінің қыпшақ тобына жатады и это очень интересно";
const FRAMES = 125;
const OPTIONS = {
  beamWidth: 16,
  languageModelWeight: 0.8,
  characterBonus: 1.4,
  wordBonus: 0.5,
  candidatesPerFrame: 12,
  candidateFloor: Math.log(2e-4),
} as const satisfies BeamSearchOptions;
const WIDER = [64, 128] as const;

/** Five seconds of speech: the search in typed arrays compared with the same search over maps of strings. */
export async function run(options: BenchOptions): Promise<void> {
  const model = LanguageModel.parse(gunzipSync(readFileSync(MODEL)));
  const logProbs = spokenLogProbs(model.vocabulary);
  const search = new PrefixBeamSearch(model.vocabulary, model, OPTIONS);
  assert.equal(
    textOf(search.search(logProbs, FRAMES, null)[0].tokens, model.vocabulary),
    plainSearch(logProbs, model),
  );
  const bench = new Bench({ time: options.smoke ? 20 : 2_000, retainSamples: true });
  bench.add("maps", () => plainSearch(logProbs, model));
  bench.add("current", () => search.search(logProbs, FRAMES, null));
  for (const beamWidth of WIDER) {
    const wider = new PrefixBeamSearch(model.vocabulary, model, { ...OPTIONS, beamWidth });
    bench.add(`current, beam ${beamWidth}`, () => wider.search(logProbs, FRAMES, null));
  }
  await bench.run();
  const figures = taskFigures(bench);
  const [maps, current] = figures as [(typeof figures)[0], (typeof figures)[0]];
  const ratio = maps.p50Ms / current.p50Ms;
  for (const { name, p50Ms } of figures) console.log(`beam-search ${name}: ${p50Ms.toFixed(2)} ms`);
  console.log(`beam-search: ${ratio.toFixed(1)} times as fast as over maps`);
  if (!options.smoke)
    await saveResult("beam-search", { parameters: { ...OPTIONS, frames: FRAMES }, ratio, figures });
}

/** Makes log-probs like a recogniser's: mostly blank, one peak per letter, some ambiguity between letters. */
function spokenLogProbs(vocabulary: readonly string[]): Float32Array {
  const width = vocabulary.length;
  const letters = [...SENTENCE].map((letter) => vocabulary.indexOf(letter));
  const logProbs = new Float32Array(FRAMES * width);
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
  for (let frame = 0; frame < FRAMES; frame++) {
    const weights = Float64Array.from({ length: width }, () => 2e-4 * random());
    const place = (frame * letters.length) / FRAMES;
    const isPeak = Math.floor(place) !== Math.floor(((frame - 1) * letters.length) / FRAMES) || frame === 0;
    weights[0]! += isPeak ? 0.1 : 4;
    if (isPeak) weights[letters[Math.floor(place)]!]! += 1;
    for (let doubt = 0; doubt < 3; doubt++)
      weights[1 + Math.floor(random() * (width - 1))]! += 0.3 * random();
    const sum = weights.reduce((a, b) => a + b, 0);
    for (let i = 0; i < width; i++) logProbs[frame * width + i] = Math.log(weights[i]! / sum);
  }
  return logProbs;
}

interface PlainEntry {
  readonly parent: PlainEntry | null;
  readonly text: string;
  readonly token: number;
  readonly state: number;
  readonly wordHash: number;
  readonly textScore: number;
  /** Probabilities of the paths that end in blank and in the token. */
  ends: readonly [blank: number, token: number];
}

/** Searches naively for comparison: one map of strings per frame, with the same pruning of outputs. */
function plainSearch(logProbs: Float32Array, model: LanguageModel): string {
  const width = model.vocabulary.length;
  const root = { parent: null, text: "", token: 0, state: model.startState, wordHash: EMPTY_WORD_HASH };
  let beam: PlainEntry[] = [{ ...root, textScore: 0, ends: [1, 0] }];
  for (let frame = 0; frame < FRAMES; frame++) {
    const row = logProbs.subarray(frame * width, (frame + 1) * width);
    const candidates = [...row.keys()]
      .filter((token) => token > 0 && row[token]! >= OPTIONS.candidateFloor)
      .sort((a, b) => row[b]! - row[a]!)
      .slice(0, OPTIONS.candidatesPerFrame);
    const next = new Map<string, PlainEntry>();
    const add = (entry: PlainEntry, blank: number, token: number) => {
      const known = next.get(entry.text);
      const [oldBlank, oldToken] = known?.ends ?? [0, 0];
      next.set(entry.text, { ...(known ?? entry), ends: [oldBlank + blank, oldToken + token] });
    };
    const inBeam = new Map(beam.map((entry) => [entry.text, entry]));
    for (const entry of beam) {
      const [blank, token] = entry.ends;
      add(
        entry,
        (blank + token) * Math.exp(row[0]!),
        entry.token === 0 ? 0 : token * Math.exp(row[entry.token]!),
      );
      const children = new Set(candidates);
      for (const other of beam) if (other.parent?.text === entry.text) children.add(other.token);
      for (const output of children) {
        if (output === 1 && (entry.text === "" || entry.text.endsWith(" "))) continue;
        const child = inBeam.get(entry.text + model.vocabulary[output]!) ?? extended(entry, output, model);
        add(child, 0, (output === entry.token ? blank : blank + token) * Math.exp(row[output]!));
      }
    }
    const rank = ({ ends, textScore }: PlainEntry) => Math.log(ends[0] + ends[1]) + textScore;
    beam = [...next.values()].sort((a, b) => rank(b) - rank(a)).slice(0, OPTIONS.beamWidth);
  }
  const scored = beam.map((entry) => ({ entry, score: finalScore(entry, model) }));
  return scored.reduce((best, other) => (other.score > best.score ? other : best)).entry.text.trimEnd();
}

function extended(entry: PlainEntry, token: number, model: LanguageModel): PlainEntry {
  const state = model.advance(entry.state, token);
  const isUnknownWord = token === 1 && !model.hasWord(entry.wordHash);
  return {
    parent: entry,
    text: entry.text + model.vocabulary[token]!,
    token,
    state,
    wordHash: token === 1 ? EMPTY_WORD_HASH : extendWordHash(entry.wordHash, token),
    textScore:
      entry.textScore +
      OPTIONS.languageModelWeight * model.logProb +
      OPTIONS.characterBonus +
      (isUnknownWord ? -OPTIONS.wordBonus : 0),
    ends: [0, 0],
  };
}

function finalScore(entry: PlainEntry, model: LanguageModel): number {
  const score = Math.log(entry.ends[0] + entry.ends[1]) + entry.textScore;
  if (entry.token === 1 || entry.text === "") return score;
  model.advance(entry.state, 0);
  const ends = Math.exp(model.logProb);
  model.advance(entry.state, 1);
  const word = model.hasWord(entry.wordHash) ? 0 : -OPTIONS.wordBonus;
  return score + OPTIONS.languageModelWeight * Math.log(ends + Math.exp(model.logProb)) + word;
}
