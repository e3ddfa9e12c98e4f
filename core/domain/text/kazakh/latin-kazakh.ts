import { KNOWN_WORDS } from "./brands.js";
import { FREQUENT_WORDS } from "./frequent-words.js";
import type { MappedText } from "./mapped-text.js";
import { wordTable } from "./word-table.js";

/**
 * Latin alphabets of Kazakh: with apostrophes (2017), with acutes (2018), with umlauts and breves (2019,
 * 2021; `umlauts-ı` where ı is і, and i is и), and without special letters.
 */
export type LatinAlphabet = "apostrophes" | "acutes" | "umlauts" | "umlauts-ı" | "plain";

const LETTER = "A-Za-zÄÖÜŪĞÑŞŊÁÓÚŃǴÝäöüūğñşıŋáóúńǵýİ";
const APOSTROPHE = "'’ʼ‘´`";
/** An apostrophe is part of a word only where the 2017 alphabet has one. */
const WORD = `[${LETTER}](?:[${LETTER}]|(?<=[AaGgIiNnOoSsCcUuYy])[${APOSTROPHE}])*`;
const APOSTROPHES = new RegExp(`[${APOSTROPHE}]`, "gu");
const APOSTROPHE_INSIDE = new RegExp(`[agiosucyn][${APOSTROPHE}][a-z]`);
/** Tokens: addresses, which are not respelled, or words. */
const TOKEN = new RegExp(
  `(?:https?://|www\\.)\\S+|[A-Za-z\\d._+-]{1,64}@\\S+|[A-Za-z\\d-]{1,63}(?:\\.[A-Za-z\\d-]{2,63})+|[@#][A-Za-z\\d_]+|${WORD}`,
  "gu",
);
const A_WORD = new RegExp(`^${WORD}$`, "u");
/** A run of Latin words, without letters of another script. */
const RUN = new RegExp(`[${LETTER}][${LETTER}${APOSTROPHE}\\d\\s\\p{P}\\p{S}]+`, "gu");
const A_LATIN_LETTER = /[A-Za-z]/;
const CYRILLIC_WORD = /\p{Script=Cyrillic}{2,}/gu;

/** Maps all spellings of a Kazakh letter, in every alphabet, to one skeleton letter. */
const CYRILLIC_SKELETON: Readonly<Record<string, string>> = {
  ...pairs("аәбвгғдежзийкқлмнңоөпрстуұүфхһцчшщыіэ", "aabvggdejziikqlmnnooprstuuufhhcCSSyie"),
  ю: "iu",
  я: "ia",
  ь: "",
  ъ: "",
};
const LATIN_SKELETON: Readonly<Record<string, string>> = pairs(
  "abcdefghijklmnopqrstuvwxyzáäóöúüūýǵğńñŋşı",
  "abcdefghijklmnopqrstuvuhyzaaoouuuuggnnnSi",
);
const DIGRAPHS: Readonly<Record<string, string>> = { sh: "S", ch: "C", zh: "j", "s'": "S", "c'": "C" };

/** Cyrillic words by skeleton, the more frequent first. */
const BY_SKELETON = new Map<string, string[]>();
const addWord = (skeleton: string, word: string) => {
  const known = BY_SKELETON.get(skeleton);
  if (known === undefined) BY_SKELETON.set(skeleton, [word]);
  else if (!known.includes(word)) known.push(word);
};
for (const word of FREQUENT_WORDS.trim().split(/\s+/)) {
  const skeleton = [...word].map((letter) => CYRILLIC_SKELETON[letter] ?? "").join("");
  addWord(skeleton, word);
  // Final қ, к and п become voiced before a vowel: "kitaby".
  const voiced = { қ: "ғ", к: "г", п: "б" }[word.at(-1)!];
  if (voiced === undefined || word.length < 4) continue;
  addWord(skeleton.slice(0, -1) + CYRILLIC_SKELETON[voiced]!, word.slice(0, -1) + voiced);
}
const LONGEST_SKELETON = Math.max(...[...BY_SKELETON.keys()].map((key) => key.length));

/** Endings in skeleton letters; brackets list alternatives. */
const ENDING_FORMS = `
[ldt][ae]r [ndt][yi]n [gq][ae] [kg]e q[ae] n[ae] [ndt][yi] [dt][ae] n[dt][ae] [ndt][ae]n [mbp]en s[yi]
[yi]m [yi]n [yi] m[yi]z [yi]z m n l[yi][qk] l[yi]g d[yi][qk] t[yi][qk] l[yi] s[yi]z S[yi] S[ae] [gq][yi]
k[yi] [gk]en [gq]an [aeiy] [aei]d[yi] [yi]p p u ud[ayei] [sd][ae] m[ae] m[ae][iy] [ae]m [yi]l l[ae]
l[ae]n [sm][yi]n [mb]yn min nSy nSi ia iu i
`;
const ENDINGS: ReadonlySet<string> = new Set(ENDING_FORMS.trim().split(/\s+/).flatMap(expanded));
const LONGEST_ENDING = Math.max(...[...ENDINGS].map((ending) => ending.length));
const LONGEST_ENDINGS = 16;
const LONGEST_WORD = 40;

/** English words that look Kazakh, and so count for neither language. */
const NEUTRAL = new Set(
  "a i an as at al all am and are art ask bar bas bay be bed ben best bir bite bol bos but by cat dan day de den die dos do el en end er es et eve for go hal he her his how if in is it jan job jol kim la le me men my no not of off on one or ot our out pen pop qu sat say see set she so son star tag tan tap tar tas ten than the them they this to ton top toy ty un up us via was we who why you your ana ata aka aga bala alma era iron ara".split(
    " ",
  ),
);
const FOREIGN_LETTERS = /[wx]|c(?!h|')|ck|ph(?!ana)|th|oo|ee|ou|ea|gh/;
const SURE_SIGN = /[ǵńığŋūşğ]|q(?!u)/;
const SIGN = /[äöüñáóúý]/;

/** Number of foreign words that make a sentence in a Kazakh text foreign. */
const FOREIGN_SENTENCE = 3;

interface Votes {
  kazakh: number;
  /** Votes for Kazakh that rule out other languages. */
  sure: number;
  foreign: number;
}

/** Returns the alphabet of a text that is mostly Kazakh in Latin letters; null for other texts. */
export function latinAlphabetOf(text: string): LatinAlphabet | null {
  if (!mayBeKazakh(text)) return null;
  const votes = votesOf(text);
  const cyrillicCount = text.match(CYRILLIC_WORD)?.length ?? 0;
  return isKazakh(votes) && votes.kazakh > cyrillicCount ? alphabetOf(text) : null;
}

/**
 * Respells Kazakh in Latin letters in Cyrillic, for all other rules, and keeps capitals. Runs of Latin words
 * in a Cyrillic text are names unless at least two of their words are Kazakh.
 *
 * @param known alphabet of the whole text that contains this sentence
 * @param isKept whether a dictionary reads the word
 */
export function respellLatinKazakh(
  mapped: MappedText,
  known: LatinAlphabet | null,
  isKept: (word: string) => boolean,
): MappedText {
  const { text } = mapped;
  // A sentence of a Kazakh text may have no distinctive word.
  if (known === null ? !mayBeKazakh(text) : !A_LATIN_LETTER.test(text)) return mapped;
  const alphabet = known ?? latinAlphabetOf(text);
  const whole = alphabet === null ? null : votesOf(text);
  // A sentence with few distinctive words is in the language of its text.
  if (whole !== null && (isKazakh(whole) || whole.foreign < FOREIGN_SENTENCE)) {
    return mapped.replace(TOKEN, (token) => respelled(token, alphabet!, isKept));
  }
  return mapped.replace(RUN, (run) => {
    const votes = votesOf(run);
    if (!isKazakh(votes) || votes.kazakh < 2) return run;
    const own = alphabetOf(run);
    return run.replace(TOKEN, (token) => respelled(token, own, isKept));
  });
}

/** Quick test for any word that could be Kazakh, for names in Cyrillic text. */
function mayBeKazakh(text: string): boolean {
  if (!A_LATIN_LETTER.test(text)) return false;
  if (A_MARKED_LETTER.test(text)) return true;
  for (const { 0: word, index } of text.matchAll(ASCII_WORDS)) {
    const lower = word.toLowerCase();
    // "ko'shemiz"
    if (/q(?!u)/.test(lower) || APOSTROPHE.includes(text[index + word.length] ?? " ")) return true;
    if (!FOREIGN_LETTERS.test(lower) && !NEUTRAL.has(lower) && spelledByStem(lower) !== null) return true;
  }
  return false;
}
const ASCII_WORDS = /[A-Za-z]+/g;
const A_MARKED_LETTER = /[äöüūğñşŋıáóúńǵýÄÖÜŪĞÑŞŊÁÓÚŃǴÝ]/;

function isKazakh({ kazakh, sure, foreign }: Votes): boolean {
  return sure > 0 && kazakh > foreign;
}

function votesOf(text: string): Votes {
  const votes: Votes = { kazakh: 0, sure: 0, foreign: 0 };
  let signCount = 0;
  for (const [token] of text.matchAll(TOKEN)) {
    if (!A_WORD.test(token)) continue;
    const lower = token.toLowerCase();
    if (lower.length < 2 || isRoman(token)) continue;
    if (SURE_SIGN.test(lower)) {
      votes.kazakh++;
      votes.sure++;
    } else if (NEUTRAL.has(lower)) continue;
    else if (!FOREIGN_LETTERS.test(lower) && spelledByStem(lower) !== null) {
      votes.kazakh++;
      if (lower.length > 2) votes.sure++;
    } else if (SIGN.test(lower)) signCount++;
    else if (FOREIGN_LETTERS.test(lower) || KNOWN_WORDS.has(lower) || !isNative(lower)) votes.foreign++;
  }
  votes.kazakh += votes.sure > 0 ? signCount : 0;
  votes.foreign += votes.sure > 0 ? 0 : signCount;
  return votes;
}

/** Whether a name that is not in the list may be spelled in Kazakh, with y as a vowel. */
function isNative(lower: string): boolean {
  return /[^aeou]y/.test(lower) && !/[fvhc]/.test(lower);
}

function alphabetOf(text: string): LatinAlphabet {
  const lower = text.toLowerCase();
  if (/[áóúńǵý]/.test(lower)) return "acutes";
  if (/[äöüūğñşŋ]/.test(lower)) return lower.includes("ı") ? "umlauts-ı" : "umlauts";
  if (/[aeouy]ı/.test(lower)) return "acutes";
  // Endings with i for і show that ı is и, as in "medıtsına qyzmetkerleri".
  if (lower.includes("ı")) return I_OF_2018.test(lower) ? "acutes" : "umlauts-ı";
  return APOSTROPHE_INSIDE.test(lower) ? "apostrophes" : "plain";
}

const I_OF_2018 =
  /[ldt]eri(?![\p{L}])|[ldt]ig[ei]|[dlt]ik(?![\p{L}])|(?:d|m)iz(?![\p{L}])|[ndt]i[nń](?![\p{L}])/u;

function respelled(token: string, alphabet: LatinAlphabet, isKept: (word: string) => boolean): string {
  if (!A_WORD.test(token) || isRoman(token) || isKept(token)) return token;
  const lower = token.toLowerCase();
  const isSure = SURE_SIGN.test(lower) || SIGN.test(lower);
  const byStem = FOREIGN_LETTERS.test(lower) && !isSure ? null : spelledByStem(lower);
  if (
    !isSure &&
    byStem === null &&
    (KNOWN_WORDS.has(lower) || FOREIGN_LETTERS.test(lower) || isLetters(token))
  )
    return token;
  const cyrillic = byStem ?? spelledByLetter(lower, alphabet);
  if (token.length > 1 && token === token.toUpperCase()) return cyrillic.toUpperCase();
  const isCapital = token[0] !== lower[0];
  return isCapital ? cyrillic.charAt(0).toUpperCase() + cyrillic.slice(1) : cyrillic;
}

/** Whether capitals are spelled out, as in "USB". */
function isLetters(token: string): boolean {
  return token.length > 1 && token.length < 5 && token === token.toUpperCase();
}

function isRoman(token: string): boolean {
  return /^[IVX]+$/.test(token);
}

/** Splits a word into letters; digraphs and letters with apostrophes count as one. */
function lettersOf(lower: string): string[] {
  return lower.replace(APOSTROPHES, "'").match(/sh|ch|zh|[agionsuyc]'|./gu) ?? [];
}

function skeletonOf(letters: readonly string[]): string {
  return letters
    .map((letter, i) => {
      // "Abay" is Абай.
      if (letter === "y" && /^[aeouáäóöúüū]$/.test(letters[i - 1] ?? "")) return "i";
      if (letter === "y'") return "u";
      return DIGRAPHS[letter] ?? LATIN_SKELETON[letter[0]!] ?? "?";
    })
    .join("");
}

/** Spells a listed word, with its endings letter by letter; null for other words. */
function spelledByStem(lower: string, alphabet: LatinAlphabet = "plain"): string | null {
  if (lower.length > LONGEST_WORD) return null;
  const letters = lettersOf(lower);
  const skeleton = skeletonOf(letters);
  const longest = Math.min(skeleton.length, LONGEST_SKELETON);
  for (let length = longest; length >= 2; length--) {
    const rest = skeleton.slice(length);
    if (rest.length > LONGEST_ENDINGS) return null;
    // A stem of two letters takes no endings.
    if (length < 3 && rest !== "") return null;
    const stem = BY_SKELETON.get(skeleton.slice(0, length))?.find((word) => fits(word, letters, alphabet));
    if (stem === undefined || !areEndings(rest)) continue;
    return joined(stem + endingLetters(letters.slice(length), stem));
  }
  return null;
}

/** Expands "[ld]ar" to lar and dar. */
function expanded(form: string): string[] {
  const parts = form.match(/\[[^\]]{1,12}\]|./g) ?? [];
  return parts.reduce<string[]>(
    (forms, part) =>
      forms.flatMap((begun) => [...part.replace(/[[\]]/g, "")].map((letter) => begun + letter)),
    [""],
  );
}

/** Returns whether the rest of a word is a sequence of endings. */
function areEndings(rest: string): boolean {
  const reached = new Array<boolean>(rest.length + 1).fill(false);
  reached[0] = true;
  for (let at = 0; at < rest.length; at++) {
    if (reached[at] !== true) continue;
    for (let length = 1; length <= LONGEST_ENDING && at + length <= rest.length; length++) {
      if (ENDINGS.has(rest.slice(at, at + length))) reached[at + length] = true;
    }
  }
  return reached[rest.length] === true;
}

/** Marked letters must match the stem's, and unmarked ones too in an alphabet with marks: "an" is not ән. */
function fits(stem: string, letters: readonly string[], alphabet: LatinAlphabet): boolean {
  if (/[юя]/.test(stem)) return true;
  return [...stem].every((cyrillic, i) => {
    const exact = EXACT[letters[i]!] ?? (alphabet === "plain" ? undefined : UNMARKED[letters[i]!]);
    return exact === undefined || exact === cyrillic;
  });
}
const UNMARKED: Readonly<Record<string, string>> = { a: "а", o: "о", g: "г", n: "н" };
const EXACT = wordTable(`
á: ә; ä: ә; a': ә; ó: ө; ö: ө; o': ө; ú: ү; ü: ү; ū: ұ; ǵ: ғ; ğ: ғ; g': ғ; ń: ң; ñ: ң; ŋ: ң; n': ң; ý: у
`);

/** Spells endings, in which i and ı are ы, і, и or й. */
function endingLetters(letters: readonly string[], stem: string): string {
  let spelled = "";
  for (const [i, letter] of letters.entries()) {
    const before = spelled.at(-1) ?? stem.at(-1) ?? "";
    const isAfterVowel = /[аәеоөұүыі]/.test(before);
    if ((letter === "i" || letter === "ı" || letter === "i'") && isAfterVowel) spelled += "й";
    else if ((letter === "i" || letter === "ı") && letters[i + 1] !== "k" && isBack(stem + spelled))
      // Words with back vowels have no і except in -нікі: "oqıdy" is оқиды, and ы if there is no y.
      spelled += letter === "i" || letters.includes("y") ? "и" : "ы";
    else if (letter === "i" || letter === "ı" || letter === "i'") spelled += "і";
    else if (letter === "u" || letter === "y'") spelled += "у";
    else spelled += spelledLetter(letter, letters[i + 1], isAfterVowel ? "а" : "", "plain", false);
  }
  return spelled;
}

function isBack(word: string): boolean {
  return /[аоұы][^аәеоөұүыіэ]*$/.test(word);
}

function spelledByLetter(lower: string, alphabet: LatinAlphabet): string {
  const letters = lettersOf(lower);
  let spelled = "";
  let isFirstSyllable = true;
  for (const [i, letter] of letters.entries()) {
    const read = spelledLetter(letter, letters[i + 1], spelled.at(-1) ?? "", alphabet, isFirstSyllable);
    spelled += read === "і" && letter === "ı" && letters.includes("y") && isBack(spelled) ? "и" : read;
    isFirstSyllable &&= !/[аәеиоөуұүыі]/.test(spelled.at(-1) ?? "");
  }
  return joined(spelled);
}

const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ...pairs("abcdefghjklmnopqrstvwxz", "абкдефгхжклмнопқрствухз"),
  ...pairs("áäóöúüūýǵğńñŋş", "әәөөүүұуғғңңңш"),
  ...wordTable("sh: ш; ch: ч; zh: ж; s': ш; c': ч; a': ә; g': ғ; n': ң; o': ө; u': ү; y': у"),
};
const LATIN_VOWEL = /^[aeouyiıáäóöúüū]/;

/** Spells one letter; i, ı, u and y depend on the alphabet and their neighbours. */
function spelledLetter(
  letter: string,
  next: string | undefined,
  before: string,
  alphabet: LatinAlphabet,
  isFirstSyllable: boolean,
): string {
  // A vowel follows у: "qosylýy".
  const isAfterVowel = /[аәеоөұүыі]/.test(before);
  const isBeforeVowel = next !== undefined && LATIN_VOWEL.test(next);
  switch (letter) {
    case "i":
      if (isAfterVowel || (before === "" && isBeforeVowel && alphabet !== "acutes")) return "й";
      return alphabet === "umlauts-ı" ? "и" : "і";
    case "ı":
    case "i'":
      if (isAfterVowel || before === "у" || (before === "" && isBeforeVowel)) return "й";
      return alphabet === "umlauts-ı" || alphabet === "umlauts" ? "і" : "и";
    case "u": {
      if (alphabet === "acutes" || alphabet === "apostrophes") return "ұ";
      if (isAfterVowel || isBeforeVowel) return "у";
      return alphabet === "plain" && isFirstSyllable ? "ұ" : "у";
    }
    case "y":
      return isAfterVowel ? "й" : "ы";
    default:
      return PLAIN_LETTERS[letter] ?? PLAIN_LETTERS[letter[0]!] ?? letter;
  }
}

/** Joins "йа" and "йу" to one letter, also after и. */
function joined(spelled: string): string {
  return spelled.replace(/йа|(?<=и)[ий]?а/gu, "я").replace(/йу|(?<=и)[ий]у/gu, "ю");
}

function pairs(from: string, to: string): Record<string, string> {
  const targets = [...to];
  return Object.fromEntries([...from].map((character, i) => [character, targets[i]!]));
}
