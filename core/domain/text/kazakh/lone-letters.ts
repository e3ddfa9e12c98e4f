import { LOWER, spelledByLetters, UPPER } from "./letters.js";
import { cardinal, ordinal } from "./numerals.js";
import { patternRule, type Rule, WORD_END } from "./reading.js";
import { isEnding, withEnding } from "./suffixes.js";

/** Nouns named by a letter; without them "в", "с" and "к" may be Russian prepositions. */
const LETTERED =
  "(?:тармақ|тармағ|пункт|әріп|әріб|әрп|дыбыс|нүкте|топ|тоб|дәрумен|витамин|сынып|сыныб|класс|нұсқа|вариант|жауап|жауаб|қабырға|төбе|төбесі|бұрыш|жағдай|бөлім|бөліг|бөлік|түзу|кесінді|жазықтық|жазықтығ|сызы[ғқ]|лига|санат|деңгей|қосымша|блок|корпус|кіреберіс|нысан|үлгі|гепатит)";
const AHEAD = `(?:,(?= ?${LETTERED})|(?= ?\\.? ?${LETTERED}|-\\d))`;

/** Reads letters that are names by name: "«в» тармақшасы" is "вы тармақшасы", "С-300" is "сы үш жүз". */
export const letterRule: Rule = patternRule(
  `(?<![\\p{L}\\p{M}\\d])([${LOWER}${UPPER}])${WORD_END}${AHEAD}`,
  (match) => named(match[1]!),
);

/** Reads one of several letters: "А, В және С нүктелері". */
export const letterListRule: Rule = patternRule(
  `(?<![\\p{L}\\p{M}\\d])([${UPPER}])(?=(?:,| және| мен| пен| бен| не| немесе) [${UPPER}](?![\\p{L}\\p{M}.\\d]))`,
  (match) => named(match[1]!),
);

/** Reads "3-§". */
export const paragraphRule: Rule = patternRule(
  "(\\d{1,3})-?§",
  ([, digits = ""]) => `${ordinal(cardinal(digits))} тармақ`,
);

/** Reads "2) тармақшасы", whose bracket has become a comma. */
export const listedPartRule: Rule = patternRule(
  "(?<![\\d.,])(\\d{1,3}),-?(?= ?(?:тармақша|тармағы|абзац|пункт))",
  ([, digits = ""]) => ordinal(cardinal(digits)),
);

/** School classes and groups named by letters: "9-Б сынып", "5 А сыныбы", "7ә класы". */
const CLASSES =
  "сынып|сыныб|топ(?:тар|та|тың|қа|тан)?(?![\\p{L}\\p{M}])|тобы|класс|класы|класт|класқ|параллель";
export const classLetterRule: Rule = patternRule(
  `(\\d{1,2})[- ]?([${LOWER}${UPPER}])${WORD_END}(?= ?(?:${CLASSES}))`,
  ([, digits = "", letter = ""]) => `${ordinal(cardinal(digits))} ${named(letter)}`,
);

const LAST_FORM = 12;
/** Reads numbers with a letter: "12-Б" is a house and stays a cardinal, "9-Б-да оқиды" is a school class. */
export const letteredNumberRule: Rule = patternRule(
  `(\\d{1,3})-([${UPPER}])(?:-([${LOWER}]+))?${WORD_END}(?=( ?корпус)|)`,
  ([, digits = "", letter = "", ending, noun]) => {
    if (ending !== undefined && !isEnding(ending)) return null;
    const isForm = ending !== undefined && Number(digits) <= LAST_FORM;
    const number = isForm || noun !== undefined ? ordinal(cardinal(digits)) : cardinal(digits);
    const name = named(letter);
    return `${number} ${ending === undefined ? name : withEnding(name, ending)}`;
  },
);

function named(letter: string): string {
  return spelledByLetters(letter.toLowerCase());
}
