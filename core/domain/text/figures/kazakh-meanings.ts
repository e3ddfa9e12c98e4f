import { isAmbiguousAlone, type KazakhNumberWord, kazakhNumberWord } from "./kazakh-words.js";
import type { SpelledNumber } from "./number-words.js";
import type { Written } from "./written.js";

/** Nouns that "тоқсан" counts as ninety: alone, it also means a quarter of a year. */
const COUNTED_IN_NINETIES = /^(?:жас|жыл|адам|күн|үй|елді)\p{Ll}{0,8}$/u;
/** "Белгілі бір пайызға" means a certain share. */
const AN_ARTICLE_BEFORE =
  /^(?:белгілі|қандай|ешқандай|қандайда|кез|әр|қай|еш|әлде|тағы|басқа|осындай|мұндай|сондай|бәрі)$/;
const AN_HOUR = /^(?:сағат|минут|секунд|тиын|ұпай|сом)\p{Ll}{0,8}$/u;
/** Words before which "forty" means "many", as in sayings: "қырық жан", "қырық жамау". */
const MANY =
  /^(?:жан|түрлі|кісі|пышақ|жамау|шілтен|батыр|қыз|есек|шырақ|еркек|атан|тамыр|қой|күндік|сүрін|қадам|ұры|қарақшы)/;
/** Verbs of sayings after an ending: "қырқынан шығару", "қара қылды қырыққа бөлу", "қырқына шыдаған". */
const AFTER_FORTY = /^(?:шығ|шыда|бөл|жар)/;
/** Words before which other tens mean "many", as in sayings: "жетпіс түрлі өнер". */
const MANY_KINDS = /^(?:түрлі|өнер|ауыз)/;
const BODY = /^(?:саусақ|саусағ|мүше|елі$|жілік|тіс)/;
const HORDE = /^(?:ұлы|орта|кіші)$/;
const MONTH_OF =
  /^(?:қаңтар|ақпан|наурыз|сәуір|мамыр|маусым|шілде|тамыз|қыркүйек|қазан|қараша|желтоқсан)[дтн][ыі]ң$/;
const POSSESSIVE = /^с?[ыі](?:н|на|не|нда|нде|нан|нен|мен)?$/;
const LAST_DAY = 31;
/** Endings that make it an age: "қырқында", "сексенде", "алпысты". */
const AGE = /^(?:(?:[ыі]н)?[дт][ае]|[дт][ыі]|[дт][ыі]ң|[мбп]ен)$/;
const COUNTED_EXACTLY =
  /^(?:жас|жыл|айлық|шақты|пайыз|процент|градус|шақырым|теңге|доллар|[а-я]{0,5}метр|рет$|тәулік|астам|аса$|жуық|тарта$)/;
const LONGEST_PROVERB = 10;
const GENITIVE = /^[ндт][ыі]ң$/;
/** June, or a season, by the same word. */
const JUNE = /^маусым/;
const A_DAY = /^күн/;
/** "Он бір нөл-нөл" is 11:00. */
const ZERO_MINUTES = /^нөл-нөл/;
/** "Он екі жарым" is 12,5, but nobody reads 12,5 that way. */
const HALF = /^жарым/;
const THREE_HORDES_OF = /^қазақ(?:тың)?$|^рулар/;
const LEAST_DAY = 10;
const WORDS_BEHIND = 8;

interface Place {
  /** Ending of the number itself. */
  readonly run: readonly KazakhNumberWord[];
  readonly value: number;
  /** Two words before the number, nearest first, and several after it. */
  readonly before: readonly [string, string];
  readonly behind: readonly string[];
}

/** Whether a number means something else, or more than its words say; a unit after it excludes a saying. */
export function isOtherMeaning(place: Place, isSure: boolean, numerals: "auto" | "all"): boolean {
  const { run, behind } = place;
  const [next = "", second = ""] = behind;
  const { isOrdinal } = run.at(-1)!;
  if (isOrdinal) return JUNE.test(next) && place.value < LEAST_DAY && !A_DAY.test(second);
  if (ZERO_MINUTES.test(next) || HALF.test(next)) return true;
  return !isSure && (isSaying(place) || (numerals === "auto" && isPhrase(place)));
}

/** "Қырықтың бірі", "сексен шықпай" and "қырқынан шығару" are sayings, "тоқсан" alone is mostly a quarter. */
function isSaying({ run, value, before: [before], behind: [next = ""] }: Place): boolean {
  const { stem, ending } = run.at(-1)!;
  if ((GENITIVE.test(ending) && next === "бірі") || next === "шықпай") return true;
  // "Қазақтың үш жүзі" are the three Kazakh hordes.
  if (value === 300 && THREE_HORDES_OF.test(before)) return true;
  // "Екі жүзді" means two-faced.
  if (value === 200 && ending.startsWith("ді")) return true;
  if (run.length > 1) return false;
  if (stem === "қырық" && ending !== "" && AFTER_FORTY.test(next)) return true;
  return stem === "тоқсан" && ending === "" && !COUNTED_IN_NINETIES.test(next);
}

/** "Қырық жаны бар", "он саусағынан бал тамған", "жыл он екі ай", "білмегенің тоқсан тоғыз". */
function isPhrase({ run, value, before, behind }: Place): boolean {
  const [next = ""] = behind;
  const { stem, ending } = run.at(-1)!;
  if (value === 12 && before[0] === "жыл" && /^ай/.test(next)) return true;
  if ((value === 10 || value === 12 || value === 30) && BODY.test(next)) return true;
  if (value === 99 && before[1] === "тоғыз") return true;
  if (value === 300 && (GENITIVE.test(ending) || namesHordes(behind))) return true;
  if (run.length > 1 || run[0]!.role !== "ten") return false;
  if (ending !== "") return AGE.test(ending);
  return (stem === "қырық" && MANY.test(next)) || MANY_KINDS.test(next);
}

/** "Ұлы жүз, орта жүз". */
function namesHordes(words: readonly string[]): boolean {
  return words.some((word, at) => HORDE.test(word) && words[at + 1] === "жүз");
}

/**
 * Whether a short sentence weighs round numbers against others, as proverbs do: "бір адал дос он арам туыстан
 * артық".
 */
export function isProverb(words: readonly string[], written: readonly Written[]): boolean {
  if (words.length > LONGEST_PROVERB) return false;
  const figures = written.filter(({ text }) => /\d/.test(text));
  const isRound = figures.every(({ first, end }) => {
    const word = kazakhNumberWord(words[first]!);
    const isPlain = word !== null && !word.isOrdinal && word.role !== "digit";
    return end - first === 1 && isPlain && !COUNTED_EXACTLY.test(words[end] ?? "");
  });
  if (figures.length === 0 || !isRound) return false;
  const numbers = words.filter((word) => {
    const number = kazakhNumberWord(word);
    return number !== null && !number.isOrdinal && !isAmbiguousAlone(number);
  });
  return numbers.length > 1;
}

/** "Мамырдың бесі" is 5 May. */
export function isDayOfMonth(
  before: string | undefined,
  { value, ending, isOrdinal }: KazakhNumberWord,
): boolean {
  if (isOrdinal || value > LAST_DAY || !MONTH_OF.test(before ?? "")) return false;
  return POSSESSIVE.test(ending) && value > 1;
}

/** "Белгілі бір пайызға", "бір тиынға" and "бір сағат" are not counted; "бір сағат он минут" is. */
export function isArticle(
  { value, before: [before], behind: [next = "", second = "", third = ""] }: Place,
  numerals: "auto" | "all",
): boolean {
  if (value !== 1) return false;
  if (AN_ARTICLE_BEFORE.test(before)) return numerals === "auto" || before === "бәрі";
  if (numerals === "all" || !AN_HOUR.test(next)) return false;
  const part = kazakhNumberWord(second);
  const isCounted = AN_HOUR.test(third) || kazakhNumberWord(third) !== null;
  return part === null || part.ending !== "" || part.value === 1 || !isCounted;
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
    before: [words[first - 1] ?? "", words[first - 2] ?? ""],
    behind: words.slice(end, end + WORDS_BEHIND),
  };
}
