import { type Clause, endsSentence } from "./clauses.js";

export interface ReadClause extends Clause {
  /** Phonemes in IPA, words separated by spaces. */
  readonly ipa: string;
}

/** Language flags around foreign words: "(en)ɪntˈɜːnət(kk)". */
const LANGUAGE_FLAG = /\([^()]*\)/gu;
/** Signs inside a sentence; a space follows them. */
const INNER_SIGNS = new Set([",", ":", ";"]);

/**
 * Returns the phonemes of each sentence, one code point each, as in the training of Piper's voices:
 * decomposed, with the clauses' signs, and a space after a sign inside the sentence.
 *
 * @param phonemeMap replacements of phonemes, from the voice's config
 * @see rhasspy/piper-phonemize at 3d97686, `src/phonemize.cpp`, and OHF-Voice/piper1-gpl at 3207498,
 *   `phonemize_espeak.py`
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
