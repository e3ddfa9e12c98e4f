import { type RussianNumberWord, russianNumberWord } from "./russian-words.js";

/** Words before an hour: "половина десятого" is half past nine. */
const PART_OF_HOUR = /^(?:половин|четверт|минут)/;
const AN_HOUR = /^час(?:|а|у|е|ом)$/;
const A_MOMENT = /^(?:секунд|минут)[уы]$/;
const PERCENT = /^процент/;
const HALF = /^половин/;
/** Words that make an ordinal a time other than an hour: "вторая половина двадцатого века". */
const A_TIME = /^(?:век|столети|год|тысячелети|класс|раунд|тайм)/;
const LEAST_FIGURE = 10;
/** Parts of an address, which precede their numbers. */
const ADDRESS = /^(?:дом|корпус|квартира|подъезд|этаж|кабинет|офис|строение)$/;
const LONGEST_NUMBER = 3;

/** Whether an ordinal is an hour: "в половине десятого"; with `auto` also "в одиннадцатом часу". */
export function isHour(
  words: readonly string[],
  at: number,
  { suffix }: RussianNumberWord,
  numerals: "auto" | "all",
): boolean {
  const next = words.slice(at + 1, at + 3).find((word) => russianNumberWord(word) === null) ?? "";
  if (PART_OF_HOUR.test(words[at - 1] ?? "") && suffix === "го" && !A_TIME.test(next)) return true;
  return numerals === "auto" && [words[at + 1], words[at - 2]].some((word) => AN_HOUR.test(word ?? ""));
}

/** Whether the number word at `at` is part of a phrase, or of a number with a fraction. */
export function isSaying(words: readonly string[], at: number, value: number): boolean {
  const before = words[at - 1] ?? "";
  const next = words[at + 1] ?? "";
  if (next === "сороков") return true;
  // As in "рубль сорок".
  if (before === "рубль") return true;
  // As in "два часа с половиной".
  if (HALF.test(words[at + 2] ?? "") || HALF.test(words[at + 3] ?? "")) return true;
  if (before === "и" && value <= LEAST_FIGURE) {
    // "Семьдесят четыре и шесть процентов" is 74,6 %.
    if (PERCENT.test(next) && russianNumberWord(words[at - 2] ?? "") !== null) return true;
    // As in "не прошло и двух минут".
    if (words[at - 2] === "не" || words[at - 3] === "не") return true;
  }
  // As in "ни одной минуты", "одну минуту", "делом одной секунды".
  if (value === 1) return before === "ни" || (/^одн(?:у|ой)$/.test(words[at]!) && A_MOMENT.test(next));
  if (value === 100) return before === "во" || (words[at] === "сто" && next === "раз");
  if (words[at] === "двадцати" && before.startsWith("групп")) return true;
  // As in "в десятый раз", "из пятого в десятое".
  if (words[at] === "десятый" && next === "раз") return true;
  return words[at] === "десятое" && /^пято[ег]/.test(words[at - 2] ?? "");
}

/** In "двадцать лет и три месяца" both are written in digits. */
export function isJoinedToFigure(words: readonly string[], first: number, value: number): boolean {
  if (value < 2 || value >= LEAST_FIGURE || words[first - 1] !== "и") return false;
  if (russianNumberWord(words[first - 2] ?? "") !== null) return false;
  const number = russianNumberWord(words[first - 3] ?? "");
  if (number === null || number.isOrdinal || number.role === "scale") return false;
  return number.role !== "digit" || russianNumberWord(words[first - 4] ?? "") !== null;
}

/** In "дом десять корпус два" both are written in digits. */
export function isInAddress(words: readonly string[], first: number, end: number): boolean {
  if (!ADDRESS.test(words[first - 1] ?? "")) return false;
  if (ADDRESS.test(words[end] ?? "") && isCardinal(words[end + 1])) return true;
  for (let at = first - 2; at >= first - 1 - LONGEST_NUMBER && isCardinal(words[at]); at--)
    if (ADDRESS.test(words[at - 1] ?? "")) return true;
  return false;
}

function isCardinal(word = ""): boolean {
  return russianNumberWord(word)?.isOrdinal === false;
}
