import { editDistance, normalizeForScoring } from "../../core/domain/text/error-rate.js";
import { normalizeKazakh } from "../../core/domain/text/kazakh/normalize.js";

export interface ScoringOptions {
  /** Whether ё differs from е; false by default, since most people write е. */
  readonly keepsYo: boolean;
}

/** Edits of one recording's text, and the lengths of its reference. */
export interface TextScore {
  readonly characterEdits: number;
  readonly characters: number;
  readonly wordEdits: number;
  readonly words: number;
  /** Whether the reference has digits that cannot be verbalized, so that the spoken words are unknown. */
  readonly hasDigits: boolean;
}

const KAZAKH_LETTERS = /[әғқңөұүһі]/iu;

/**
 * Normalizes a text for scoring: case, punctuation and spaces as in every other evaluation, and Kazakh
 * numbers as the service would speak them. In other languages, digits stay.
 *
 * @param language language of the text, such as `kk` or `ru-RU`; if empty, inferred from the letters
 */
export function scoringText(text: string, language: string, { keepsYo }: ScoringOptions): string {
  const isKazakh = language === "" ? KAZAKH_LETTERS.test(text) : language.startsWith("kk");
  const spoken = isKazakh && /\d/u.test(text) ? normalizeKazakh(text, { expand: true }).spoken : text;
  return normalizeForScoring(spoken, { keepsYo });
}

export function scoreText(
  pair: { readonly reference: string; readonly hypothesis: string; readonly language: string },
  options: ScoringOptions,
): TextScore {
  const reference = scoringText(pair.reference, pair.language, options);
  // Use the reference's language for the hypothesis, whose letters may not show it.
  const hypothesis = scoringText(pair.hypothesis, languageOf(pair), options);
  const [from, to] = [wordsOf(reference), wordsOf(hypothesis)];
  return {
    characterEdits: editDistance([...reference], [...hypothesis]),
    characters: [...reference].length,
    wordEdits: editDistance(from, to),
    words: from.length,
    hasDigits: /\d/u.test(reference),
  };
}

function languageOf({
  reference,
  language,
}: {
  readonly reference: string;
  readonly language: string;
}): string {
  if (language !== "") return language;
  return KAZAKH_LETTERS.test(reference) ? "kk" : "";
}

function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(" ");
}
