import { hasVowel, LOWER, spelledByLetters, UPPER } from "./letters.js";
import { patternRule, type Rule } from "./reading.js";
import { bareUnitName } from "./units.js";
import { wordTable } from "./word-table.js";

/** Interjections that are spoken as written, and Russian prepositions, which join the next word. */
const SOUNDS = new Set("в с к хм гм мм ммм тс тсс ш шш кш пф бр брр р рр".split(" "));

/**
 * Russian words with a pronunciation that differs from their spelling.
 *
 * Source: rules of Russian pronunciation (Avanesov, "Русское литературное произношение": чн and чт as шн and
 * шт, г as в in the genitive endings -ого and -его, -тся and -ться as ца), written in the letters a Kazakh
 * voice knows.
 */
export const RUSSIAN_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries(
    wordTable(`
что: што; чтобы: штобы; чтоб: штоб; конечно: конешно; скучно: скушно; нарочно: нарошно; его: ево;
него: нево; сегодня: севодня; того: тово; этого: этово; кого: ково; чего: чево; ничего: ничево;
никого: никово; всего: всево; моего: моево; твоего: твоево; своего: своево; нашего: нашево; вашего: вашево;
самого: самово; одного: одново; пожалуйста: пожалуста; здравствуйте: здраствуйте; чувствовать: чуствовать;
солнце: сонце
`),
  ),
);
/** Adjectives in the genitive: a stem with a vowel before -ого. Adverbs in -ого are spoken as written. */
const GENITIVE = /[аеиоуыэюя].{0,40}[бвгджзклмнпрстфхцчшщ](?:ого|его)$/;
const SAID_AS_WRITTEN = new Set(
  "много немного дорого недорого строго убого полого отлого лего лого итого".split(" "),
);
const LONGEST_WORD = 40;
const REFLEXIVE = /ть?ся$/;
const KAZAKH_LETTER = /[әғқңөұүһі]/;

/** Returns the reading of a Cyrillic word; null if it is spoken as written. */
function spokenWord(word: string, text: string, at: number): string | null {
  const lower = word.toLowerCase();
  if (!hasVowel(lower)) return spokenWithoutVowel(word, lower, text, at);
  return spokenRussian(lower);
}

/** Reads a word after a hyphen that is not an ending. */
export function saidWord(word: string): string {
  return spokenWord(word, word, 0) ?? word;
}

/** Reads words that no other rule has read. */
export const plainWordRule: Rule = patternRule(`[${LOWER}${UPPER}]+`, (match, text) =>
  spokenWord(match[0], text, match.index),
);

function spokenRussian(lower: string): string | null {
  const known = RUSSIAN_WORDS.get(lower);
  if (known !== undefined) return known;
  if (lower.length > LONGEST_WORD || KAZAKH_LETTER.test(lower) || SAID_AS_WRITTEN.has(lower)) return null;
  if (GENITIVE.test(lower)) return `${lower.slice(0, -2)}во`;
  return REFLEXIVE.test(lower) ? lower.replace(REFLEXIVE, "ца") : null;
}

/** Reads units and scales in full, and letters by name: "б)" is "бы". */
function spokenWithoutVowel(word: string, lower: string, text: string, at: number): string | null {
  // A bracket has become a comma.
  const isListed = word.length === 1 && /^[,.]/.test(text.slice(at + 1, at + 2));
  if (SOUNDS.has(lower) && !isListed) return null;
  return (word.length > 1 ? bareUnitName(word) : null) ?? spelledByLetters(lower);
}
