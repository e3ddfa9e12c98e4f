import { type Clause, endsSentence } from "./clauses.js";

/** A clause as espeak-ng has read it. */
export interface ReadClause extends Clause {
  /** Its phonemes in IPA, words parted by spaces. */
  readonly ipa: string;
}

/** Names of languages around words that are read as those of another: "(en)ɪntˈɜːnət(kk)". */
const LANGUAGE_FLAG = /\([^()]*\)/gu;
/** Signs inside a sentence; a space comes after them. */
const INNER_SIGNS = new Set([",", ":", ";"]);

/**
 * The phonemes of each sentence, one code point each, as Piper's voices were trained on them: decomposed, with the signs of
 * the clauses among them, and a space behind a sign inside the sentence.
 *
 * @param phonemeMap phonemes that stand for others, from the voice's own file
 * @see rhasspy/piper-phonemize at 3d97686, `src/phonemize.cpp`, and OHF-Voice/piper1-gpl at 3207498, `phonemize_espeak.py`
 */
export function sentencesOfPhonemes(
  clauses: readonly ReadClause[],
  phonemeMap: Readonly<Record<string, readonly string[]>> = {},
): string[][] {
  const sentences: string[][] = [];
  let sentence: string[] = [];
  let isCut = false;
  for (const clause of clauses) {
    if (sentence.length > 0 && isCut) sentence.push(" ");
    isCut = clause.sign === "";
    const plain = clause.ipa.replace(LANGUAGE_FLAG, "").normalize("NFD");
    for (const phoneme of plain) sentence.push(...(phonemeMap[phoneme] ?? [phoneme]));
    if (clause.sign !== "") sentence.push(clause.sign);
    if (INNER_SIGNS.has(clause.sign)) sentence.push(" ");
    if (!endsSentence(clause)) continue;
    sentences.push(sentence);
    sentence = [];
  }
  if (sentence.length > 0) sentences.push(sentence);
  return sentences;
}
