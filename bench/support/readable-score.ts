import type { Case, Mark } from "../../core/domain/text/display/marks.js";
import type { WrittenWord } from "./written-words.js";

/** Counts for a text: correct, extra and missing items. */
type Counts = readonly [right: number, extra: number, missed: number];

export const FIGURES = ["comma", "stop", "question", "anyEnd", "capitals", "inside"] as const;
export type Figure = (typeof FIGURES)[number];

export interface TextScore {
  readonly counts: Readonly<Record<Figure, Counts>>;
  /** Errors of the recogniser: wrong words, and number of words spoken. */
  readonly wordEdits: number;
  readonly words: number;
}

/**
 * Marks from strongest to weakest: those of lost or inserted words move to the gap where these words were.
 */
const STRENGTH: readonly Mark[] = ["?", ".", ":", "—", ",", "-", ""];

interface Gap {
  readonly mark: Mark;
  readonly cased: Case | null;
  readonly isStart: boolean;
}

/**
 * Compares the marks and capitals of a text with those of its reference. Words are aligned by edit distance,
 * so a misrecognised word keeps its mark and its capital.
 * @param isStart whether a sentence of the reference begins with its nth word
 */
export function scoreText(
  reference: readonly WrittenWord[],
  displayed: readonly WrittenWord[],
  isStart: (nth: number) => boolean,
): TextScore {
  const { pairs, edits } = align(
    reference.map(({ word }) => word),
    displayed.map(({ word }) => word),
  );
  const counts = Object.fromEntries(FIGURES.map((figure) => [figure, [0, 0, 0]])) as Record<
    Figure,
    [number, number, number]
  >;
  const count = (figure: Figure, is: boolean, was: boolean) => {
    if (is || was) counts[figure][is && was ? 0 : is ? 1 : 2]++;
  };
  for (const [nth, [at, shown]] of pairs.entries()) {
    const [nextAt, nextShown] = pairs[nth + 1] ?? [reference.length, displayed.length];
    const was: Gap = {
      mark: strongest(reference.slice(at, nextAt)),
      cased: reference[at]!.cased,
      isStart: isStart(at),
    };
    const is = { mark: strongest(displayed.slice(shown, nextShown)), cased: displayed[shown]!.cased };
    count("comma", is.mark === ",", was.mark === ",");
    count("stop", is.mark === ".", was.mark === ".");
    count("question", is.mark === "?", was.mark === "?");
    count("anyEnd", isEnd(is.mark), isEnd(was.mark));
    if (is.cased === null || was.cased === null) continue;
    count("capitals", is.cased !== "lower", was.cased !== "lower");
    if (!was.isStart) count("inside", is.cased !== "lower", was.cased !== "lower");
  }
  return { counts, wordEdits: edits, words: reference.length };
}

function isEnd(mark: Mark): boolean {
  return mark === "." || mark === "?";
}

function strongest(words: readonly WrittenWord[]): Mark {
  return STRENGTH.find((mark) => words.some((word) => word.mark === mark)) ?? "";
}

/** Pairs of aligned words [reference, displayed], equal or not, and the edit distance. */
function align(
  from: readonly string[],
  to: readonly string[],
): { readonly pairs: readonly (readonly [number, number])[]; readonly edits: number } {
  const width = to.length + 1;
  const cost = new Uint32Array((from.length + 1) * width);
  for (let j = 0; j < width; j++) cost[j] = j;
  for (let i = 1; i <= from.length; i++) {
    cost[i * width] = i;
    for (let j = 1; j < width; j++) {
      const replaced = cost[(i - 1) * width + j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      cost[i * width + j] = Math.min(replaced, cost[(i - 1) * width + j]! + 1, cost[i * width + j - 1]! + 1);
    }
  }
  const pairs: [number, number][] = [];
  let [i, j] = [from.length, to.length];
  while (i > 0 && j > 0) {
    const here = cost[i * width + j]!;
    if (here === cost[(i - 1) * width + j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)) {
      pairs.unshift([--i, --j]);
    } else if (here === cost[(i - 1) * width + j]! + 1) i--;
    else j--;
  }
  return { pairs, edits: cost[from.length * width + to.length]! };
}
