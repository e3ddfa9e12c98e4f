import type { NumberWord } from "./number-words.js";

/** Units of a duration, in Kazakh and Russian. */
const UNIT =
  /^(?:(?:жыл|ай|апта|күн|тәулік|сағат|минут)|(?:год(?:|а|ы)|лет|месяц(?:|а|ев)|недел(?:я|и|ь|ю)|дн(?:я|ей)|день|сут(?:ки|ок)|час(?:|а|ов)|минут(?:|а|ы|у)))$/;
const LEAST_FIGURE = 10;

/** What a language knows about the number words of a text. */
interface Reader {
  readonly numberWord: (word: string) => NumberWord | null;
  /** Value of the number that starts at an index, and its end; null without one. */
  readonly numberAt: (at: number) => { readonly value: number; readonly end: number } | null;
}

/**
 * Whether a number [first, end) below ten and the number of the neighbouring unit form one duration, so that
 * both are written in digits: "жеті ай он екі күн", "двенадцать лет три месяца".
 */
export function isInDuration(
  words: readonly string[],
  first: number,
  end: number,
  { numberWord, numberAt }: Reader,
): boolean {
  if (!UNIT.test(words[end] ?? "")) return false;
  const next = numberAt(end + 1);
  if (next !== null && next.value >= LEAST_FIGURE && UNIT.test(words[next.end] ?? "")) return true;
  if (!UNIT.test(words[first - 1] ?? "")) return false;
  const before = numberWord(words[first - 2] ?? "");
  return before !== null && (before.value >= LEAST_FIGURE || numberWord(words[first - 3] ?? "") !== null);
}
