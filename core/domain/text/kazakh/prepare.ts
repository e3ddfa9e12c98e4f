import { KAZAKH_LETTERS, LOWER, UPPER } from "./letters.js";
import { MappedText } from "./mapped-text.js";
import { spellOutMarks } from "./quoted.js";
import { wordTable } from "./word-table.js";

/** Text of characters that have rules: letters of two scripts, digits, known marks, spaces, line ends. */
export interface PreparedText {
  readonly mapped: MappedText;
  /** Positions of characters (code points) that cannot be spoken. Quotation marks are silent instead. */
  readonly dropped: readonly number[];
}

/** Signs with rules; where no rule applies, the fallback drops and counts them. */
const SIGNS = "%‰$€₽₸£¥₺₴₹₩₿₼₾₪¢№§°+=×÷/&@#*_<>−²³^½¼¾⅓⅔±·≈≠≤≥∞√~→";

const QUOTES = new Set("\"'`´«»“”„‟‘’‚‛‹›ʹʺʼʻ′″");
const SPACES = /[\s\u00a0\u2000-\u200a\u202f\u205f\u3000]/u;
const CYRILLIC = new Set(KAZAKH_LETTERS + KAZAKH_LETTERS.toUpperCase());
/** Letters of the Latin alphabets in which Kazakh itself is written. */
export const KAZAKH_LATIN = "äöüūğqñşıŋáóúńǵý";
const LATIN = new Set(`abcdefghijklmnopqrstuvwxyzé${KAZAKH_LATIN}`);
const MARKS = new Set(`0123456789,.!?:;-${SIGNS}`);

/** Characters that are checked one by one; most others stay as they are. */
const UNUSUAL_SOURCE = `[^${LOWER}${UPPER}a-zA-Z0-9 \\n,.!?:;%-]`;
const UNUSUAL = new RegExp(UNUSUAL_SOURCE, "gu");
const AN_UNUSUAL = new RegExp(UNUSUAL_SOURCE, "u");

/** Replacements of foreign letters and signs. */
const STAND_INS: ReadonlyMap<string, string> = new Map([
  ...pairs("‐‑–—―‒⸺(){}[]⟨⟩•▪●◦▸►…¿¡،。？！：；，", "--—————,,,,,,,,,,,,,,.  ,.?!:;,"),
  ...pairs("əƏɵƟїЇєЄґҐўЎӯӮӊӈҝӄҡҟҕҳӽҙҫҷӣјѕӧӱӓѣѐѝіӢ", "әӘөӨіІеЕгГуУуУңңққққғһһзсчийзөүәееиіИ"),
  ...pairs("ҥҤӉӇӃӐӒҶӋѲҠҞӀӏѓЃќЌ", "ңҢҢҢҚААЧЧФҚҚІіғҒқҚ"),
  ...Object.entries(wordTable("љ: ль; њ: нь; ђ: дж; џ: дж; ћ: ч; ѳ: ф; ѵ: и; ß: ss; ø: o; æ: e; œ: e; ł: l")),
  ...Object.entries(wordTable("đ: d; þ: t; ð: d; İ: I; Ø: O; Æ: E; Œ: E; Ł: L; Đ: D; Þ: T; ℃: °C")),
]);

/** An O typed for a zero: "2О24". */
const ZERO_BETWEEN_DIGITS = /(?<=\d)[OО](?=\d)/gu;
/** Superscripts after a digit, except squares and cubes, which belong to units. */
const SUPERSCRIPTS = /(?<=\d)(?![²³](?![⁰¹²³⁴-⁹⁻]))⁻?[⁰¹²³⁴-⁹]+/gu;
const FRACTION = /^\d+\u2044\d+$/;
/**
 * Zeros of Arabic, Persian, Devanagari and Bengali digits (Unicode, General_Category Nd); others are dropped.
 */
const DIGIT_ZEROS = [0x660, 0x6f0, 0x966, 0x9e6];

/** Latin and Greek letters that look like Cyrillic ones, for words with mixed scripts. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  pairs("aceopxkmthiABCEHKMOPTXIyαορεΑΒΕΗΙΚΜΟΡΤΧ", "асеорхкмтһіАВСЕНКМОРТХІуаореАВЕНІКМОРТХ"),
);

const A_LETTER = /\p{L}/u;
/** A character with combining marks, which may compose to one character. */
const MARKED = /\P{M}\p{M}+/gu;
const WORD = /[\p{L}\p{M}]+/gu;
const FOREIGN_LETTER = /[\p{Script=Latin}\p{Script=Greek}]/u;
const CYRILLIC_LETTER = /[\p{Script=Cyrillic}əƏɵƟ]/u;

/** Cyrillic letters that look like Latin ones, for Latin words with some of them. */
const LATIN_LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  pairs("асеорхуіһАВСЕНКМОРТХІ", "aceopxyihABCEHKMOPTXI"),
);

/**
 * Composes, maps and filters characters, and repairs words of mixed scripts.
 *
 * Dashes keep their length, an ellipsis becomes three dots, and brackets and bullets become commas; all of
 * these are pauses.
 *
 * @param respell respells words of the composed text
 * @param isExpanded whether numbers and abbreviations will be read
 */
export function prepare(
  raw: string,
  respell?: (mapped: MappedText) => MappedText,
  isExpanded = false,
): PreparedText {
  const dropped: number[] = [];
  let mapped = new MappedText(raw);
  const isUnusual = AN_UNUSUAL.test(raw);
  if (isUnusual) mapped = mapped.replace(MARKED, (marked) => marked.normalize("NFC"));
  if (FOREIGN_LETTER.test(raw)) {
    mapped = mapped.replace(WORD, repaired);
    // Respell before apostrophes are removed, since one alphabet has letters with them.
    if (respell !== undefined) mapped = respell(mapped);
  }
  mapped = mapped.replace(ZERO_BETWEEN_DIGITS, () => "0");
  if (!isUnusual) return { mapped, dropped };
  if (isExpanded) mapped = spellOutMarks(mapped);
  mapped = mapped
    .replace(SUPERSCRIPTS, (power) => `^${power.normalize("NFKD")}`)
    .replace(UNUSUAL, (character, sourceStart) => {
      const kept = keep(character);
      // Letters used as quotation marks, such as "ʼ" and the primes, are also silent, but other letters must
      // be listed as dropped.
      if (kept !== null && !(kept === "" && A_LETTER.test(character))) return kept;
      dropped.push(sourceStart);
      // Invisible characters may be inside a word; pictures and foreign letters separate words.
      return kept ?? (/[\p{C}\p{M}]/u.test(character) ? "" : " ");
    });
  return { mapped, dropped };
}

/** Returns a character's replacement: itself, a similar one, "" (silent), or null if it cannot be spoken. */
function keep(unusual: string): string | null {
  // The Kelvin and Ångström signs and others compose to letters.
  const character = unusual.normalize("NFC");
  if (CYRILLIC.has(character) || MARKS.has(character)) return character;
  if (character === "\n" || character === "\r" || character === "\u2028" || character === "\u2029")
    return "\n";
  if (SPACES.test(character)) return " ";
  if (LATIN.has(character.toLowerCase())) return character;
  if (QUOTES.has(character)) return "";
  if (character === "…") return "...";
  const standIn = STAND_INS.get(character);
  if (standIn !== undefined) return standIn;
  // Full-width forms, ligatures and accented letters, as plain ones.
  const plain = character.normalize("NFKD").replace(/\p{M}/gu, "");
  if (/^[A-Za-z0-9%$.,!?:;()+=-]+$/.test(plain)) return plain.replace(/[()]/g, ",");
  // "2⅛" is two and an eighth.
  return FRACTION.test(plain) ? ` ${plain.replace("\u2044", "/")}` : digitOf(character);
}

/**
 * Writes a word of mixed scripts in one script, if each letter of the other has a look-alike. Words that are
 * mostly Latin become Latin, others Cyrillic.
 */
function repaired(word: string): string {
  if (!FOREIGN_LETTER.test(word) || !CYRILLIC_LETTER.test(word)) return word;
  const letters = [...word];
  const foreignCount = letters.filter(
    (letter) => FOREIGN_LETTER.test(letter) && letter.toLowerCase() !== "ə",
  ).length;
  if (foreignCount * 2 > letters.length) {
    const latin = letters.map((letter) => LATIN_LOOK_ALIKES.get(letter) ?? letter).join("");
    if (!CYRILLIC_LETTER.test(latin)) return latin;
  }
  let result = "";
  for (const letter of letters) {
    if (CYRILLIC_LETTER.test(letter)) result += letter;
    else if (letter === "Y") result += isFrontWord(word) ? "Ү" : "У";
    else {
      const lookAlike = LOOK_ALIKES.get(letter);
      if (lookAlike === undefined) return word;
      result += lookAlike;
    }
  }
  return result;
}

/** Converts decimal digits of other scripts; each script has ten consecutive ones. */
function digitOf(character: string): string | null {
  if (!/^\p{Nd}$/u.test(character)) return null;
  const codePoint = character.codePointAt(0) ?? 0;
  const value = codePoint - (DIGIT_ZEROS.findLast((zero) => zero <= codePoint) ?? 0);
  return value >= 0 && value <= 9 ? String(value) : null;
}

function isFrontWord(word: string): boolean {
  return /[әеіөүƏəɵ]/i.test(word) && !/[аоұы]/i.test(word);
}

function pairs(from: string, to: string): [string, string][] {
  const targets = [...to];
  return [...from].map((character, i) => [character, targets[i]!]);
}
