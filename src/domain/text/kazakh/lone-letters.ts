import { LOWER, spelledByLetters, UPPER } from "./letters.js";
import { cardinal, ordinal } from "./numerals.js";
import { patternRule, type Rule, WORD_END } from "./reading.js";

/** What is named by a letter: without them "в", "с" and "к" may be Russian prepositions. */
const LETTERED =
  "(?:тармақ|тармағ|пункт|әріп|әріб|әрп|дыбыс|нүкте|топ|тоб|дәрумен|витамин|сынып|сыныб|класс|нұсқа|вариант|жауап|жауаб|қабырға|төбе|төбесі|бұрыш|жағдай|бөлім|бөліг|бөлік|түзу|кесінді|жазықтық|жазықтығ|сызы[ғқ]|лига|санат|деңгей|қосымша|блок|корпус|кіреберіс|нысан|үлгі|гепатит)";
const AHEAD = `(?:,(?= ?${LETTERED})|(?= ?\\.? ?${LETTERED}|-\\d))`;

/** "«в» тармақшасы" is "вы тармақшасы", "С-300" is "сы үш жүз": letters that are names, by name. */
export const letterRule: Rule = patternRule(
  `(?<![\\p{L}\\p{M}\\d])([${LOWER}${UPPER}])${WORD_END}${AHEAD}`,
  (match) => named(match[1]!),
);

/** "А, В және С нүктелері": one of several letters. */
export const letterListRule: Rule = patternRule(
  `(?<![\\p{L}\\p{M}\\d])([${UPPER}])(?=(?:,| және| мен| пен| бен| не| немесе) [${UPPER}](?![\\p{L}\\p{M}.\\d]))`,
  (match) => named(match[1]!),
);

/** "2) тармақшасы": brackets have become commas. */
export const listedPartRule: Rule = patternRule(
  "(?<![\\d.,])(\\d{1,3}),(?= ?(?:тармақша|тармағы|абзац|пункт))",
  ([, digits = ""]) => ordinal(cardinal(digits)),
);

/** "9-Б сынып" is the ninth form; "12-Б" is a house and stays a count. */
export const classLetterRule: Rule = patternRule(
  `(\\d{1,3})-([${UPPER}])${WORD_END}(?= ?(сынып|сыныб|топ|тоб|класс|корпус)|)`,
  ([, digits = "", letter = "", noun]) =>
    `${noun === undefined ? cardinal(digits) : ordinal(cardinal(digits))} ${named(letter)}`,
);

function named(letter: string): string {
  return spelledByLetters(letter.toLowerCase());
}
