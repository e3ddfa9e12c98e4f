import { KNOWN_WORDS } from "./brands.js";
import { LOWER } from "./letters.js";
import { digitByDigit } from "./numerals.js";
import { KAZAKH_LATIN } from "./prepare.js";
import { patternRule, type Rule, WORD_END } from "./reading.js";
import { isEnding } from "./suffixes.js";
import { wordTable } from "./word-table.js";
import { saidWord } from "./words.js";

const LATIN_CLASS = `A-Za-zéÉ${KAZAKH_LATIN}${KAZAKH_LATIN.toUpperCase()}`;

/** Names of English letters in spelled abbreviations. */
const LETTER_NAMES = wordTable(`
a: эй; b: би; c: си; d: ди; e: и; f: эф; g: джи; h: эйч; i: ай; j: джей; k: кей; l: эл; m: эм; n: эн; o: оу;
p: пи; q: кью; r: ар; s: эс; t: ти; u: ю; v: ви; w: дабл ю; x: экс; y: уай; z: зед
`);

/** Spelling to sound, longest first; a rough English reading that a Kazakh speaker would use. */
const SPELLINGS = Object.entries(
  wordTable(`
tion: шн; sch: ш; tch: ч; igh: ай; eau: о; sh: ш; ch: ч; ph: ф; th: т; ck: к; qu: кв; oo: у; ee: и; ea: и;
ou: у; ow: оу; ai: ай; ay: эй; ey: и; kh: х; zh: ж; ts: ц; wh: у; ce: се; ci: си; cy: си; ya: я; yu: ю;
yo: ё; a: а; b: б; c: к; d: д; e: е; f: ф; g: г; h: х; i: и; j: дж; k: к; l: л; m: м; n: н; o: о; p: п;
q: к; r: р; s: с; t: т; u: у; v: в; w: в; x: кс; y: и; z: з
`),
);

/** Kazakh in Latin letters (alphabets of 2019 and 2021). */
const KAZAKH_SPELLINGS = Object.entries(
  wordTable(`
sh: ш; ch: ч; ä: ә; á: ә; ö: ө; ó: ө; ü: ү; ú: ү; ū: ұ; ğ: ғ; ǵ: ғ; q: қ; ñ: ң; ń: ң; ŋ: ң; ş: ш; ı: і;
ý: у; a: а; b: б; c: ц; d: д; e: е; f: ф; g: г; h: х; i: і; j: ж; k: к; l: л; m: м; n: н; o: о; p: п; r: р;
s: с; t: т; u: у; v: в; w: у; x: кс; y: ы; z: з
`),
);
/** A letter that only Kazakh uses, or a q that is not before u. */
const KAZAKH_SIGN = new RegExp(`[${KAZAKH_LATIN.replace("q", "")}]|q(?!u)`);

/** Reads an account number letter by letter and digit by digit: "KZ86125KZT5004100100". */
export const accountRule: Rule = patternRule(
  `[A-Z]{2}\\d{2}(?:[A-Z\\d]{11,30}|(?: [A-Z\\d]{4}){3,7}(?: [A-Z\\d]{1,3})?)(?![A-Za-z\\d])`,
  (match) =>
    [...match[0].replaceAll(" ", "")]
      .map((sign) => LETTER_NAMES[sign.toLowerCase()] ?? digitByDigit(sign))
      .join(" "),
);

/**
 * Reads Latin words by sound and abbreviations by letters, with a Kazakh ending after a hyphen: "Google-дың".
 */
export const latinRule: Rule = patternRule(`([${LATIN_CLASS}]+)(?:-([${LOWER}]+)${WORD_END})?`, (match) => {
  const spoken = spokenLatin(match[1]!);
  const ending = match[2];
  return ending === undefined ? spoken : endedName(spoken, ending);
});

/** Adds an ending, which stays as written, or a word after a hyphen: "Facebook-ке". */
export function endedName(spoken: string, ending: string): string {
  return isEnding(ending) ? spoken + ending : `${spoken}-${saidWord(ending)}`;
}

/** Spells one Latin word in Kazakh letters. */
export function spokenLatin(word: string): string {
  const lower = word.toLowerCase();
  const known = KNOWN_WORDS.get(lower);
  if (known !== undefined) return known;
  if (KAZAKH_SIGN.test(lower) && lower.length > 1) return respelled(kazakhSpelling(lower), KAZAKH_SPELLINGS);
  if (isSpelledOut(word))
    return [...lower].map((letter) => LETTER_NAMES[plainLetter(letter)] ?? "").join(" ");
  // A final e is silent, a final é is not.
  const sounding = lower.replace(/(?<=[a-z]{2}[^aeiouy])e$/, "");
  return respelled([...sounding].map(plainLetter).join(""), SPELLINGS);
}

/** Spells i and y as a glide after a vowel; in words with ı, i is и. */
function kazakhSpelling(lower: string): string {
  const glided = lower.replace(/(?<=[aeouäöüūáóú])[iy]/g, "й");
  return lower.includes("ı") ? glided.replaceAll("i", "и") : glided;
}

/**
 * Whether a word is spelled out: capitals without a vowel or at most three letters long, and single letters.
 */
function isSpelledOut(word: string): boolean {
  if (word.length === 1) return true;
  const hasVowel = /[aeiouy]/i.test(word);
  if (word === word.toUpperCase()) return word.length <= 3 || !hasVowel;
  return !hasVowel && word.length <= 5;
}

function plainLetter(letter: string): string {
  return letter.normalize("NFD").replace(/\p{M}/gu, "").replace("ı", "i").replace("ŋ", "n");
}

function respelled(word: string, spellings: readonly (readonly [string, string])[]): string {
  let spoken = "";
  let at = 0;
  while (at < word.length) {
    const [from, to] = spellings.find(([letters]) => word.startsWith(letters, at)) ?? [
      word[at]!,
      /[a-z]/.test(word[at]!) ? "" : word[at]!,
    ];
    // A doubled consonant is one sound.
    if (!(from.length === 1 && word[at - 1] === from && !"aeiouy".includes(from))) spoken += to;
    at += from.length;
  }
  return spoken;
}
