import { KAZAKH_LETTERS, LOWER, UPPER } from "./letters.js";

/** Text in which every character has a rule: letters of two scripts, digits, known marks, spaces, line ends. */
export interface PreparedText {
  readonly text: string;
  /** Characters (code points) that nothing can be said for. Quotation marks are silent, not dropped. */
  readonly droppedCharacters: number;
}

/** Signs that rules can say; where they can not, the fallback drops and counts them. */
export const SIGNS = "%‰$€₽₸£¥₺№§°+=×÷/&@#*_<>−²³½¼¾⅓⅔±·";

const QUOTES = new Set("\"'`´«»“”„‟‘’‚‛‹›ʹʺʼʻ′″");
const SPACES = /[\s\u00a0\u2000-\u200a\u202f\u205f\u3000]/u;
const CYRILLIC = new Set(KAZAKH_LETTERS + KAZAKH_LETTERS.toUpperCase());
/** Letters of the Latin alphabets in which Kazakh itself is written. */
export const KAZAKH_LATIN = "äöüūğqñşıŋáóúńǵý";
const LATIN = new Set(`abcdefghijklmnopqrstuvwxyzé${KAZAKH_LATIN}`);
const MARKS = new Set(`0123456789,.!?:;-${SIGNS}`);

/** Most characters stay as they are; these are looked at one by one. */
const UNUSUAL = new RegExp(`[^${LOWER}${UPPER}a-zA-Z0-9 \\n,.!?:;%-]`, "gu");

/** Foreign letters and signs by what they stand for. */
const STAND_INS: ReadonlyMap<string, string> = new Map([
  ...pairs("‐‑–—―‒⸺(){}[]⟨⟩•▪●◦▸►…¿¡،。？！：；，", "--—————,,,,,,,,,,,,,,.  ,.?!:;,"),
  ...pairs("əƏɵƟїЇєЄґҐўЎӯӮӊӈҝӄҡҟҕҳӽҙҫҷӣјѕӧӱӓѣѐѝіӢ", "әӘөӨіІеЕгГуУуУңңққққғһһзсчийзөүәееиіИ"),
  ["љ", "ль"],
  ["њ", "нь"],
  ["ђ", "дж"],
  ["џ", "дж"],
  ["ћ", "ч"],
  ["ѓ", "ғ"],
  ["ќ", "қ"],
  ["ѳ", "ф"],
  ["ѵ", "и"],
  ["ß", "ss"],
  ["ø", "o"],
  ["æ", "e"],
  ["œ", "e"],
  ["ł", "l"],
  ["đ", "d"],
  ["þ", "t"],
  ["ð", "d"],
  ["İ", "I"],
  ["Ø", "O"],
  ["Æ", "E"],
  ["Œ", "E"],
  ["Ł", "L"],
  ["Đ", "D"],
  ["Þ", "T"],
  ["℃", "°C"],
]);

/** Latin and Greek letters that look like Cyrillic ones, for words in which somebody mixed them. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  pairs("aceopxkmthiABCEHKMOPTXIyαορεΑΒΕΗΙΚΜΟΡΤΧ", "асеорхкмтһіАВСЕНКМОРТХІуаореАВЕНІКМОРТХ"),
);

/**
 * Composes, maps and filters characters, and repairs Latin letters inside Cyrillic words.
 *
 * A dash keeps its length here, an ellipsis becomes three dots, brackets and bullets become commas: pauses all of them.
 */
export function prepare(raw: string): PreparedText {
  let droppedCharacters = 0;
  const text = repairedWords(raw.normalize("NFC")).replace(UNUSUAL, (character) => {
    const kept = keep(character);
    if (kept !== null) return kept;
    droppedCharacters++;
    // Invisible characters may stand inside a word, pictures and foreign letters part two words.
    return /[\p{C}\p{M}]/u.test(character) ? "" : " ";
  });
  return { text, droppedCharacters };
}

/** What stands for one character: itself, something like it, nothing (silent), or null when it can not be said. */
function keep(character: string): string | null {
  if (CYRILLIC.has(character) || MARKS.has(character)) return character;
  if (character === "\n" || character === "\r" || character === "\u2028" || character === "\u2029")
    return "\n";
  if (SPACES.test(character)) return " ";
  if (LATIN.has(character.toLowerCase())) return character;
  if (QUOTES.has(character)) return "";
  if (character === "…") return "...";
  const standIn = STAND_INS.get(character);
  if (standIn !== undefined) return standIn;
  // Full-width forms, ligatures, accents: what is under them.
  const plain = character.normalize("NFKD").replace(/\p{M}/gu, "");
  return /^[A-Za-z0-9%$.,!?:;()+=-]+$/.test(plain) ? plain.replace(/[()]/g, ",") : null;
}

const FOREIGN_LETTER = /[\p{Script=Latin}\p{Script=Greek}]/u;

function repairedWords(text: string): string {
  if (!FOREIGN_LETTER.test(text)) return text;
  return text.replace(/[\p{L}\p{M}]+/gu, (word) => {
    if (!/[\p{Script=Cyrillic}əƏɵƟ]/u.test(word) || !/[\p{Script=Latin}\p{Script=Greek}]/u.test(word))
      return word;
    return repaired(word);
  });
}

/** A mixed word in Cyrillic, if each of its other letters has a look-alike; otherwise the word as it is. */
function repaired(word: string): string {
  let result = "";
  for (const letter of word) {
    if (/[\p{Script=Cyrillic}əƏɵƟ]/u.test(letter)) result += letter;
    else if (letter === "Y") result += isFrontWord(word) ? "Ү" : "У";
    else if (LOOK_ALIKES.has(letter)) result += LOOK_ALIKES.get(letter)!;
    else return word;
  }
  return result;
}

function isFrontWord(word: string): boolean {
  return /[әеіөүƏəɵ]/i.test(word) && !/[аоұы]/i.test(word);
}

function pairs(from: string, to: string): [string, string][] {
  const targets = [...to];
  return [...from].map((character, i) => [character, targets[i]!]);
}
