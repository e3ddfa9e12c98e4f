import { LOWER } from "./letters.js";
import { collective, ordinal } from "./numerals.js";
import { matchAt } from "./reading.js";
import { isEnding, withEnding } from "./suffixes.js";
import { saidWord } from "./words.js";

/** A number as it was read, before its ending. */
export interface ReadNumber {
  readonly spoken: string;
  /** Digits of a whole number; null when it has a fraction or a unit, which takes cases but no ordinals. */
  readonly digits: string | null;
}

const HYPHENATED = new RegExp(`-([${LOWER}]+)(?![\\p{L}\\p{M}])`, "yu");
const ATTACHED = new RegExp(`((?:[ыі]н|сын|н)?ш[ыі])([${LOWER}]*)(?![\\p{L}\\p{M}])`, "yu");
const ORDINAL_ENDING = /^(?:ыншы|інші|сыншы|ншы|нші|шы|ші)(.*)$/;
const COLLECTIVE_ENDING = /^[еа]у(.*)$/;
/** "Жүздеген": hundreds of. */
const MANY_ENDING =
  /^д(?:аған|еген)(?:[дт][ае]р)?(?:[ыі]|[ндт][ыі]ң|[ғг][ае]|[дт][ае]|[ндт][ае]н|[дт][ыі])?$/;
/** Adjectives of measure count, other nouns after a hyphen are numbered: "5-жылдық", but "5-сынып". */
const COUNTED_NOUN = /^(?!жылы$|жылғы$).*(?:лық|лік|дық|дік|тық|тік|лы|лі|аралық)$/;
const CLITIC = /^(?:ақ|ай)$/;

/** Reads what hangs on a number at `at` ("2024-тен", "5-ші", "90-жылдары") and where the text goes on. */
export function readNumberEnding(
  number: ReadNumber,
  text: string,
  at: number,
): { spoken: string; next: number } {
  const hyphenated = matchAt(HYPHENATED, text, at);
  if (hyphenated !== null) {
    return { spoken: withNumberEnding(number, hyphenated[1]!), next: at + hyphenated[0].length };
  }
  const attached = number.digits === null ? null : matchAt(ATTACHED, text, at);
  if (attached !== null && (attached[2] === "" || isEnding(attached[2]!))) {
    return { spoken: withNumberEnding(number, attached[0]), next: at + attached[0].length };
  }
  return { spoken: number.spoken, next: at };
}

function withNumberEnding(number: ReadNumber, written: string): string {
  const { spoken, digits } = number;
  if (digits !== null) {
    const ordinalEnding = ORDINAL_ENDING.exec(written)?.[1];
    if (ordinalEnding === "") return ordinal(spoken);
    if (ordinalEnding !== undefined && isEnding(ordinalEnding)) return ordinal(spoken) + ordinalEnding;
    const collectiveEnding = COLLECTIVE_ENDING.exec(written)?.[1];
    const group = collectiveEnding === undefined ? null : collective(digits);
    if (group !== null && (collectiveEnding === "" || isEnding(collectiveEnding!)))
      return group + collectiveEnding;
    if (MANY_ENDING.test(written)) return manyOf(spoken) + written;
  }
  if (isEnding(written)) return withEnding(spoken, written);
  if (CLITIC.test(written)) return `${spoken}-${written}`;
  if (digits === null || COUNTED_NOUN.test(written)) return `${spoken} ${saidWord(written)}`;
  return `${ordinal(spoken)} ${saidWord(written)}`;
}

/** "Миллиондаған" has no "бір" before it. */
function manyOf(spoken: string): string {
  return spoken.replace(/^бір (?=(?:миллион|миллиард|триллион)$)/, "");
}
