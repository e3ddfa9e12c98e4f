import { type KazakhNumberWord, kazakhNumberWord } from "./kazakh-words.js";
import type { SpelledNumber } from "./number-words.js";

/** Nouns counted in nineties: "тоқсан" alone is also a quarter of a year. */
const COUNTED_IN_NINETIES = /^(?:жас|жыл|адам|күн|үй|елді)\p{Ll}{0,8}$/u;
/** "Белгілі бір пайызға" means a certain share. */
const AN_ARTICLE_BEFORE =
  /^(?:белгілі|қандай|ешқандай|қандайда|кез|әр|қай|еш|әлде|тағы|басқа|осындай|мұндай|сондай|бәрі)$/;
const AN_HOUR = /^(?:сағат|минут|секунд|тиын)\p{Ll}{0,8}$/u;
const GENITIVE = /^[ндт][ыі]ң$/;
/** June, or a season. */
const JUNE = /^маусым/;
const A_DAY = /^күн/;
/** "Он бір нөл-нөл" is 11:00. */
const ZERO_MINUTES = /^нөл-нөл/;
/** "Он екі жарым" is 12,5, a form nobody reads that way. */
const HALF = /^жарым$/;
const THREE_HORDES_OF = /^қазақ(?:тың)?$|^рулар/;
const AND_OR = /^(?:және|немесе|не|мен|бен|пен)$/;
const LEAST_DAY = 10;

interface Place {
  /** Ending of the number itself. */
  readonly run: readonly KazakhNumberWord[];
  readonly value: number;
  /** Three words before the number, nearest first, and two after it. */
  readonly before: readonly [string, string, string];
  readonly behind: readonly [string, string];
}

/**
 * Whether a number is part of a saying or means more than its words; with a unit after it, it is an ordinary
 * number.
 */
export function isOtherMeaning(place: Place, isSure: boolean): boolean {
  const { run, behind } = place;
  const [next, second] = behind;
  const { isOrdinal } = run.at(-1)!;
  if (isOrdinal) return JUNE.test(next) && place.value < LEAST_DAY && !A_DAY.test(second);
  if (ZERO_MINUTES.test(next) || HALF.test(next)) return true;
  return !isSure && isSaying(place);
}

/**
 * "Қырықтың бірі", "сексен шықпай" and "қырқынан шығару" are sayings; "тоқсан" alone usually means a quarter.
 */
function isSaying({ run, value, before: [before], behind: [next] }: Place): boolean {
  const { stem, ending } = run.at(-1)!;
  if ((GENITIVE.test(ending) && next === "бірі") || next === "шықпай") return true;
  // "Қазақтың үш жүзі" are the three Kazakh hordes.
  if (value === 300 && THREE_HORDES_OF.test(before)) return true;
  // "Екі жүзді" means two-faced.
  if (value === 200 && ending.startsWith("ді")) return true;
  if (run.length > 1) return false;
  if (stem === "қырық" && ending !== "" && next.startsWith("шығ")) return true;
  return stem === "тоқсан" && ending === "" && !COUNTED_IN_NINETIES.test(next);
}

/** "Белгілі бір пайызға", "бір тиынға", "бір сағат" count nothing. "Бір сағат он минут" does. */
export function isArticle(
  { value, before: [before], behind: [next, second] }: Place,
  numerals: "auto" | "all",
): boolean {
  if (value !== 1) return false;
  if (AN_ARTICLE_BEFORE.test(before)) return numerals === "auto" || before === "бәрі";
  const behind = kazakhNumberWord(second);
  return numerals === "auto" && AN_HOUR.test(next) && (behind === null || behind.ending !== "");
}

/** "Жетінші және жиырма бірінші": a number below ten stays a word, and so does its partner. */
export function isJoinedToWord({ run, before: [and, number, earlier] }: Place): boolean {
  const isAlone = kazakhNumberWord(earlier) === null;
  const other = isAlone && AND_OR.test(and) ? kazakhNumberWord(number) : null;
  return other?.role === "digit" && other.isOrdinal === run.at(-1)!.isOrdinal;
}

/** A number and the words around it. */
export function placeOf(
  words: readonly string[],
  { words: run, first }: { readonly words: readonly KazakhNumberWord[]; readonly first: number },
  number: SpelledNumber,
): Place {
  const end = first + number.end;
  return {
    run: run.slice(number.first, number.end),
    value: number.value,
    before: [words[first - 1] ?? "", words[first - 2] ?? "", words[first - 3] ?? ""],
    behind: [words[end] ?? "", words[end + 1] ?? ""],
  };
}
