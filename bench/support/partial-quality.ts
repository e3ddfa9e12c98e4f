import type { TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import { editDistance, type ScoredPair } from "../../core/domain/text/error-rate.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import { UtteranceDecoder } from "../../native/recognition/utterance-decoder.js";
import { errorRates } from "../evaluate/error-rates.js";
import { groupBy } from "../evaluate/group-by.js";
import type { SteppedAnswer, SteppedSession } from "./stepped-session.js";

/** Half of the default threshold; later partials may come from the second pass. */
const HALFWAY_SAMPLES = 3 * 640;

type Partial = Extract<SteppedAnswer, { type: "partial" }>;

/** Returns the same recogniser, with the streaming head's raw letters as partials. */
export function withLetters({ model, utterances }: Recognizer): Recognizer {
  const { tokenSearch } = utterances;
  const searchAside = tokenSearch.searchAside?.bind(tokenSearch);
  const search: TokenSearch = {
    search: (...input) => tokenSearch.search(...input),
    ...(searchAside !== undefined && { searchAside }),
  };
  return { model, utterances: new UtteranceDecoder(model, search, model.outputBias) };
}

/** Measures the quality of partials against their finals. */
export function qualityOf(sessions: readonly SteppedSession[]) {
  const last: ScoredPair[] = [];
  const spoken: ScoredPair[] = [];
  let stableWords = 0;
  let changedWords = 0;
  let finalWords = 0;
  let replacedWords = 0;
  for (const { answers } of sessions) {
    const partials = groupBy(
      answers.filter((answer) => answer.type === "partial"),
      ({ utterance }) => utterance,
    );
    for (const final of answers) {
      if (final.type !== "final" || final.text === null || final.text === "") continue;
      const own = partials.get(final.utterance) ?? [];
      const early = own.filter(({ endSample }) => endSample < final.resume.sample + HALFWAY_SAMPLES);
      last.push({ reference: final.text, hypothesis: own.at(-1)?.text ?? "" });
      spoken.push({ reference: final.text, hypothesis: early.at(-1)?.text ?? "" });
      const stable = stableWordsOf(own.at(-1));
      const words = wordsOf(final.text);
      stableWords += stable.length;
      changedWords += editsToBeginning(stable, words);
      finalWords += words.length;
      for (const [index, later] of own.slice(1).entries()) replacedWords += replaced(own[index]!, later);
    }
  }
  const total = (part: (session: SteppedSession) => number) =>
    sessions.reduce((sum, session) => sum + part(session), 0);
  return {
    lastPartialToFinal: errorRates(last),
    whileSpokenToFinal: errorRates(spoken),
    stableShare: stableWords / Math.max(1, finalWords),
    stableThatChanged: changedWords / Math.max(1, stableWords),
    replacedPerFinalWord: replacedWords / Math.max(1, finalWords),
    cpuPerAudioSecond: total(({ cpuSeconds }) => cpuSeconds) / total(({ audioSeconds }) => audioSeconds),
  };
}

function stableWordsOf(partial: Partial | undefined): string[] {
  return partial === undefined ? [] : wordsOf([...partial.text].slice(0, partial.stable).join(""));
}

/** Counts the complete words that the next partial changed. */
function replaced(before: Partial, after: Partial): number {
  const words = wordsOf(after.text);
  return wordsOf(before.text)
    .slice(0, -1)
    .filter((word, index) => words[index] !== word).length;
}

/** Counts the word edits to the nearest prefix of the final. */
function editsToBeginning(stable: readonly string[], words: readonly string[]): number {
  return Math.min(...["", ...words].map((_, count) => editDistance(words.slice(0, count), stable)));
}

function wordsOf(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
