import { LOWER } from "./letters.js";
import { collective, ordinal } from "./numerals.js";
import { matchAt } from "./reading.js";
import { isEnding, withEnding } from "./suffixes.js";
import { wordTable } from "./word-table.js";
import { saidWord } from "./words.js";

/** The reading of a number, without its ending. */
export interface ReadNumber {
  readonly spoken: string;
  /** Digits of a whole number; null for a fraction or a unit, which take cases but no ordinals. */
  readonly digits: string | null;
}

const HYPHENATED = new RegExp(`-([${LOWER}]+)(?![\\p{L}\\p{M}])(\\.(?= ?[,;)${LOWER}]| \\d|$))?`, "yu");
/** Detached endings, as in "20:00 ге" and "ІІ -нің"; "де" and "те" are also words. */
const APART = /(?: -([ндт][ыі]ң?|[ғгқк][ае]|[дт][ае]|[дтн][ае]н)| ([ғгқк][ае]))(?![\p{L}\p{M}-])/uy;
/** Attached case endings: "5деген" quotes five, but "100деген" means hundreds. */
const ATTACHED_CASE =
  /([ғгқк][ае]|[дт][ае]н?|н[ае]н|[ндт][ыі]ң?|[мбп]ен|[дт][ае]й|(?<=0)[лдт](?:аған|еген))(?![\p{L}\p{M}-])/uy;
/** Abbreviations of numbered nouns: "7-сын.". */
const NUMBERED_NOUNS = wordTable(`
сын: сынып; қат: қабат; көш: көше; пәт: пәтер; п: пәтер; бөл: бөлім; тар: тарау; кес: кесте; сур: сурет;
том: том; т: том; б: бет; ж: жыл; ғ: ғасыр
`);
const ATTACHED = new RegExp(`((?:[ыі]н|сын|н)?ш[ыі])([${LOWER}]*)(?![\\p{L}\\p{M}])`, "yu");
const ORDINAL_ENDING = /^(?:ыншы|інші|сыншы|ншы|нші|шы|ші)(.*)$/;
const COLLECTIVE_ENDING = /^[еа]у(.*)$/;
/** Endings of "жүздеген" (hundreds of) and "жүздеп" (by hundreds). */
const MANY_ENDING =
  /^[лдт](?:аған|еген|[ае]п)(?:[дт][ае]р)?(?:[ыі]|[ндт][ыі]ң|[ғг][ае]|[дт][ае]|[ндт][ае]н|[дт][ыі])?$/;
/** After a hyphen, adjectives of measure take cardinals ("5-жылдық") and other nouns ordinals ("5-сынып"). */
export const COUNTED_NOUN = /^(?!жылы$|жылғы$).*(?:лық|лік|дық|дік|тық|тік|лы|лі|аралық|шақты|шамалы)$/;
const CLITIC = /^(?:ақ|ай)$/;

/** Reads the ending of a number at `at` ("2024-тен", "5-ші", "90-жылдары"). */
export function readNumberEnding(
  number: ReadNumber,
  text: string,
  at: number,
): { spoken: string; next: number } {
  const hyphenated = matchAt(HYPHENATED, text, at);
  if (hyphenated !== null) {
    const noun =
      hyphenated[2] === undefined || number.digits === null ? undefined : NUMBERED_NOUNS[hyphenated[1]!];
    if (noun !== undefined) {
      const end = at + hyphenated[0].length;
      return { spoken: `${ordinal(number.spoken)} ${noun}${end === text.length ? "." : ""}`, next: end };
    }
    const next = at + hyphenated[1]!.length + 1;
    return { spoken: withNumberEnding(number, hyphenated[1]!), next };
  }
  const apart = matchAt(APART, text, at);
  if (apart !== null)
    return { spoken: withEnding(number.spoken, apart[1] ?? apart[2]!), next: at + apart[0].length };
  const attached = number.digits === null ? null : matchAt(ATTACHED, text, at);
  if (attached !== null && (attached[2] === "" || isEnding(attached[2]!))) {
    return { spoken: withNumberEnding(number, attached[0]), next: at + attached[0].length };
  }
  const attachedCase = /\d/.test(text[at - 1] ?? "") ? matchAt(ATTACHED_CASE, text, at) : null;
  if (attachedCase !== null)
    return { spoken: withNumberEnding(number, attachedCase[0]), next: at + attachedCase[0].length };
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
    if (
      group !== null &&
      (collectiveEnding === "" || collectiveEnding === "ара" || isEnding(collectiveEnding!))
    )
      return group + collectiveEnding;
    if (written === "ер" || written === "ар") return `${spoken}${written}`;
  }
  if (MANY_ENDING.test(written)) return withEnding(manyOf(spoken), written);
  if (isEnding(written)) return withEnding(spoken, written);
  if (CLITIC.test(written)) return `${spoken}-${written}`;
  if (digits === null || COUNTED_NOUN.test(written)) return `${spoken} ${saidWord(written)}`;
  return `${ordinal(spoken)} ${saidWord(written)}`;
}

/** Forms a number such as "миллиондаған", which has no "бір" before it. */
function manyOf(spoken: string): string {
  return spoken.replace(/^бір (?=(?:миллион|миллиард|триллион)$)/, "");
}
