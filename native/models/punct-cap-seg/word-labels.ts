import { withCase } from "../../../core/domain/text/display/display-text.js";
import type { Case, Mark } from "../../../core/domain/text/display/marks.js";
import { ACRONYM, MARK_OF_LABEL, type PostLabel } from "./labels.js";
import { SPACE } from "./unigram-tokenizer.js";

/** The model's output for one piece. */
export interface TokenLabels {
  readonly text: string;
  readonly post: PostLabel;
  /** Whether each character is a capital; ▁ counts as one. */
  readonly capitals: readonly boolean[];
  /** Whether a sentence ends after it. */
  readonly isEnd: boolean;
}

export interface WordLabels {
  readonly mark: Mark;
  readonly case: Case;
  /** The word with inner capitals or full stops; null if `case` describes all of them. */
  readonly spelling: string | null;
}

/**
 * Combines the labels of a word's pieces. Marks inside a word are dropped.
 *
 * @param isLast whether the text ends with this word, so that a full stop needs no sentence end
 */
export function wordLabels(word: string, tokens: readonly TokenLabels[], isLast: boolean): WordLabels {
  const last = tokens.at(-1);
  if (last === undefined) return { mark: "", case: "lower", spelling: null };
  const mark = MARK_OF_LABEL[last.post];
  const isAbbreviated = mark === "." && !last.isEnd && !isLast;
  const hasStops = tokens.some(({ post }) => post === ACRONYM);
  const letters = cased(word, tokens);
  const spelling = (hasStops ? withStops(letters, tokens) : letters.join("")) + (isAbbreviated ? "." : "");
  const as = caseOf(letters);
  return {
    mark: isAbbreviated ? "" : mark,
    case: as,
    spelling: spelling === withCase(word, as) ? null : spelling,
  };
}

/** Returns the word's characters with their capitals. */
function cased(word: string, tokens: readonly TokenLabels[]): string[] {
  const capitals = tokens.flatMap(({ text, capitals: flags }) =>
    [...text].flatMap((character, at) => (character === SPACE ? [] : [flags[at] === true])),
  );
  const letters = [...word];
  // Normalization may have changed the word's length; then only its first letter is certain.
  const known = capitals.length === letters.length ? capitals : capitals.slice(0, 1);
  return letters.map((letter, at) => (known[at] === true ? letter.toUpperCase() : letter));
}

function withStops(letters: readonly string[], tokens: readonly TokenLabels[]): string {
  const stops = tokens.flatMap(({ text, post }) =>
    [...text].flatMap((character) => (character === SPACE ? [] : [post === ACRONYM])),
  );
  if (stops.length !== letters.length) return letters.join("");
  return letters.map((letter, at) => (stops[at] ? `${letter}.` : letter)).join("");
}

function caseOf(letters: readonly string[]): Case {
  const isCapital = letters.map((letter) => letter !== letter.toLowerCase());
  if (!isCapital[0]) return "lower";
  const isUpper = letters.length > 1 && letters.every((letter) => letter === letter.toUpperCase());
  return isUpper ? "upper" : "capital";
}
