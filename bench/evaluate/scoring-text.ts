import { normalizeKazakh } from "../../core/domain/text/kazakh/normalize.js";
import { editDistance, normalizeForScoring } from "./error-rate.js";

export interface ScoringOptions {
  /** False, the rule, takes ё for е: most people write е. */
  readonly keepsYo: boolean;
}

/** Edits of one recording's text, and the lengths of its reference. */
export interface TextScore {
  readonly characterEdits: number;
  readonly characters: number;
  readonly wordEdits: number;
  readonly words: number;
  /** The reference has digits that nobody reads out: what was said is not known. */
  readonly hasDigits: boolean;
}

const KAZAKH_LETTERS = /[әғқңөұүһі]/iu;

/**
 * A text as it is compared: case, punctuation and spaces as in every other evaluation; figures in Kazakh as
 * the service would speak them. In other languages they stay digits.
 *
 * @param language of the text, `kk` or `ru-RU` for example; where it is empty its letters tell
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
  // A hypothesis is read in the language of its reference, which its letters may not show.
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
