import { wordTable } from "./word-table.js";

/** Letters of the voices: Kazakh Cyrillic, including those of Russian words. */
export const KAZAKH_LETTERS = "аәбвгғдеёжзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя";

/** Content of a character class in a pattern. */
export const LOWER = "а-яёәғқңөұүһі";
export const UPPER = "А-ЯЁӘҒҚҢӨҰҮҺІ";

export const CONSONANTS = "бвгғджзйкқлмнңпрстфхһцчшщъь";

const VOWEL = /[аәеёиоөуұүыіэюя]/;

/** Whether a word has a vowel; words without one are spelled out. */
export function hasVowel(lowerCaseWord: string): boolean {
  return VOWEL.test(lowerCaseWord);
}

/**
 * Names of letters.
 *
 * Source: letter_name rows of test/fixtures/normalization/facts-kk.tsv (common usage; several names have a
 * second form).
 */
const LETTER_NAMES = wordTable(`
б: бы; в: вы; г: гы; ғ: ғы; д: ды; ж: жы; з: зы; й: қысқа и; к: кы; қ: қы; л: лы; м: мы; н: ны; ң: ың;
п: пы; р: ры; с: сы; т: ты; ф: фы; х: хы; һ: һы; ц: цы; ч: чы; ш: шы; щ: ща; ъ: айыру белгісі;
ь: жіңішкелік белгісі
`);

/** Spells a word by letter names; vowels stay as they are. */
export function spelledByLetters(lowerCaseWord: string): string {
  return [...lowerCaseWord].map((letter) => LETTER_NAMES[letter] ?? letter).join(" ");
}
