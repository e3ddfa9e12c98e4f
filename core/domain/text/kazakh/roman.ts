import { LOWER, UPPER } from "./letters.js";
import { readNumberEnding } from "./number-endings.js";
import { cardinal, ordinal } from "./numerals.js";
import { matchAt, type Reading } from "./reading.js";

const VALUES: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1_000 };
/** Cyrillic letters that replace Roman ones. */
const STAND_INS: Readonly<Record<string, string>> = { І: "I", Х: "X", Ү: "V", С: "C", М: "M", Д: "D" };
const NUMERAL = /[IVXLCDMІХҮСМ]{1,16}(?![\p{L}\p{M}\d])/uy;
/**
 * Numerals typed with У, П and Ш for V, II and III, or l for I; recognized only before a century: "ХШ ғасыр".
 */
const TYPED = /[IVXІХУПШl]{1,6}(?= ?(?:[-–—] ?[IVXІХУПШl]{1,6} ?)?(?:ғасыр|ғғ?\.))/uy;
const TYPED_STAND_INS: Readonly<Record<string, string>> = { У: "V", П: "II", Ш: "III", l: "I" };
const ORDINAL_ENDING = /-(?:[ыі]н|сын|н)?ш[ыі]/uy;
const CANONICAL = /^M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})$/;
/** Nouns and adjectives that follow Roman numerals; before them even a single letter is a numeral. */
const NUMBERED =
  /[ -](?:ғасыр|ғ\.|ғғ\.|ғ(?!\p{L})|тарау|бөлім|бап|баб|том|съезд|тоқсан|дәреже|топ|тоб|кезең|сынып|сыныб|жартыжылдық|жарты|мыңжылдық|онжылдық|класс|санат|сессия|конгресс|форум|саммит|олимпиада|спартакиада|фестивал|байқау|чемпионат|турнир|кубо|конференция|симпозиум|құрылтай|шақырыл|орын|жүлде|деңгей|разряд|сектор|тип|түрі|қабат|кезек|курс|семестр|жартылық|тур|кітап|кітаб|параграф|тармақ|пункт|бағыт|республикалық|халықаралық|облыстық|қалалық|аймақтық|дүние|жазғы|қысқы|дәстүрлі|корпус|армия|дивизия|мемлекеттік дума|патша|император|король|папа|сұлтан)/iuy;
const NAME_BEFORE = new RegExp(`(?:^|[^${LOWER}${UPPER}])[${UPPER}][${LOWER}]+ $`, "u");
/** Titles of first sections, as in "I. Кіріспе"; "І. Есенберлин" is a name. */
const HEADING_AFTER =
  /\. ?(?:кіріспе|алғы ?сөз|жалпы|негізгі|ұйымдастыру|қорытынды|мақсат|бастапқы|теориялық|практикалық|дайындық|сабақ|жаңа|үй тапсырмасы|өткен|бағалау|пайдаланылған|бөлім|тарау|түсінік|нәтиже|міндет|талап|ереже)/iuy;
const INITIAL_END = new RegExp(`^\\. ?[${UPPER}]`, "u");
const RULER_BEFORE =
  /(?:Петр|Пётр|Николай|Александр|Екатерина|Елизавета|Людовик|Карл|Генрих|Вильгельм|Фридрих|Наполеон|Филипп|Павел|Иван|Мехмед|Дарий|Птолемей|Рамсес|Георг|Леопольд|Густав|Иоанн|Бенедикт|Юстиниан|Оттон|Ричард|Эдуард|Яков|Мұрад|Сүлеймен|Селім|Баязид) $/u;
/** Numerals next to a single letter: "Х–ХІІ", "І, ІІ және ІІІ". */
const NUMERAL_AFTER = /(?: ?[-–—] ?|, ?| және | мен | пен | бен )[IVXІХ]{1,5}(?![\p{L}\p{M}\d.])/uy;
const NUMERAL_BEFORE = /(?<![\p{L}\p{M}])[IVXІХ]{1,5}(?: ?[-–—] ?|, ?| және | мен | пен | бен )$/u;
/** A word or name after the numeral; "V тәрізді" and "V образды" are shapes. */
const WORD_AFTER = new RegExp(`[ -](?!тәрізді|образды|пішінді)[${LOWER}]{2}`, "uy");
const NAME_AFTER = new RegExp(` [${UPPER}][${LOWER}]`, "uy");

/** Reads Roman numerals as ordinals: "ХХІ ғасыр", "ІІ Петр", "Петр I", "III-ші". Only capitals. */
export function romanRule(text: string, at: number): Reading | null {
  const typed = LETTER.test(text[at - 1] ?? "") ? null : matchAt(TYPED, text, at);
  const match = matchAt(NUMERAL, text, at) ?? typed;
  if (match === null) return null;
  const numeral = [...match[0]]
    .map((letter) => STAND_INS[letter] ?? (typed === null ? letter : (TYPED_STAND_INS[letter] ?? letter)))
    .join("");
  if (!CANONICAL.test(numeral)) return null;
  const end = at + match[0].length;
  if (typed === null && !isNumeral(numeral, text, at, end)) return null;
  const spoken = cardinal(String(romanValue(numeral)));
  // "ІІ-ші" is already an ordinal; other endings are added to it: "ХХ-да" is "жиырмасыншыда".
  const isWrittenOut = matchAt(ORDINAL_ENDING, text, end) !== null;
  const number = isWrittenOut ? { spoken, digits: numeral } : { spoken: ordinal(spoken), digits: null };
  const reading = readNumberEnding(number, text, end);
  // In the range "X-XII ғасырлар", a pause separates the numbers.
  if (matchAt(RANGE_AFTER, text, reading.next) === null) return reading;
  return { spoken: `${reading.spoken} —`, next: reading.next + 1 };
}
const RANGE_AFTER = /-(?=[IVXІХ]{1,6}(?![\p{L}\p{M}\d]))/uy;

const LETTER = /[\p{L}\p{M}]/u;

function isNumeral(numeral: string, text: string, at: number, end: number): boolean {
  if (numeral.length > 1) {
    if (matchAt(NUMBERED, text, end) !== null) return true;
    // XL, CD, DC and MC are sizes and abbreviations; numbers with these letters are long, such as MCMXCI.
    return /^[IVX]+$/.test(numeral) || numeral.length >= 4;
  }
  if (!"IVX".includes(numeral)) return false;
  if (matchAt(NUMBERED, text, end) !== null) return true;
  const before = text.slice(Math.max(0, at - 30), at);
  if ((at === 0 || text[at - 1] === "\n") && matchAt(HEADING_AFTER, text, end) !== null) return true;
  // "Жазушы І. Есенберлин" has an initial; in "Петр I. Ол" a sentence ends.
  if (INITIAL_END.test(text.slice(end, end + 3)) && !RULER_BEFORE.test(before)) return false;
  if (NAME_BEFORE.test(before) || NUMERAL_BEFORE.test(before)) return true;
  if (matchAt(NUMERAL_AFTER, text, end) !== null || matchAt(ORDINAL_ENDING, text, end) !== null) return true;
  // "I" and "V" have no other use in Kazakh text; "X" is also an unknown, a company or a ray.
  return (
    (numeral !== "X" && matchAt(WORD_AFTER, text, end) !== null) || matchAt(NAME_AFTER, text, end) !== null
  );
}

function romanValue(numeral: string): number {
  let sum = 0;
  for (let i = 0; i < numeral.length; i++) {
    const value = VALUES[numeral[i]!]!;
    const next = VALUES[numeral[i + 1] ?? ""] ?? 0;
    sum += value < next ? -value : value;
  }
  return sum;
}
