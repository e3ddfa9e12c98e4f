import { type Case, countClass, type Gender, type Grammar } from "./declension.js";
import { type KnownForm, knownFormsOf } from "./nouns.js";

/** Cases that a preposition requires, the likeliest first. */
const PREPOSITIONS: ReadonlyMap<string, readonly Case[]> = new Map([
  ...governing(
    "genitive",
    `до от из без для после около более менее свыше больше меньше порядка кроме вокруг среди против у из-за из-под
    накануне старше младше выше ниже дольше позже раньше дороже дешевле ближе дальше вместо помимо ради возле
    течение возрасте возраста размере количестве объёме сумме числе старее ото изо достигает достигла достиг достигло`,
  ),
  ...governing("dative", "к ко благодаря согласно вопреки равен равна равно равны равняется навстречу"),
  ...governing("accusative", "через про сквозь спустя"),
  ...governing("instrumental", "над перед передо"),
  ...governing("prepositional", "при обо"),
  ["между", ["instrumental", "genitive"]],
  ["о", ["prepositional", "accusative"]],
  ["об", ["prepositional", "accusative"]],
  ["в", ["accusative", "prepositional"]],
  ["во", ["accusative", "prepositional"]],
  ["на", ["accusative", "prepositional"]],
  ["с", ["genitive", "instrumental"]],
  ["со", ["genitive", "instrumental"]],
  ["по", ["accusative", "dative"]],
  ["за", ["accusative", "instrumental"]],
  ["под", ["accusative", "instrumental"]],
]);
/** Words that may be between a preposition and its number. */
const FILLER =
  /(?:^|[^\p{L}])(?:примерно|приблизительно|почти|ровно|целых|всего|лишь|только|плюс|минус|номер)\s+$/iu;
const WORD_BEFORE = /(?:^|[^\p{L}-])([\p{L}-]{1,16})[\s«"(]+$/u;
/** "Между 5 и 10": the second number is in the case of the first. */
const COORDINATED = /(\d[\d\u00a0.,–-]{0,20}(?:\s?\p{Ll}{1,12}\.?|\s?%)?\s?(?:,|\s(?:и|или))\s?)$/u;
const LOOK_BACK = 60;
const WORDS_AFTER = /[ \u00a0]{0,4}(\p{L}[\p{L}-]{0,30})/uy;
const ADJECTIVE =
  /(?:[ыи]й|[оа]я|яя|[ое]е|[ыи]е|[ое]го|[ое]му|[ыи]м|[ыи]ми|[ыи]х|ую|юю|[^аеиоуы]ой|[^аеиоуы]ом)$/;
/** Words after which no noun of the number follows. */
const NO_NOUN = new Set(
  "и или а но что как не ни же ли бы в во на с со до от из к ко по о об за под над через при для у без около".split(
    " ",
  ),
);

/** From this number on, the noun alone does not imply a genitive. */
const LEAST_LARGE = 100;

/** A possible case and gender of a number, judged by the words around it; the likeliest come first. */
type Option = Pick<Grammar, "case" | "gender"> & { readonly isAnimate?: boolean };

const NOMINATIVE: Grammar = { case: "nominative", gender: "masculine", isAnimate: false };

/** The cases that the words before a position require; null if they require none. */
export function casesBefore(text: string, at: number): readonly Case[] | null {
  let before = text.slice(Math.max(0, at - LOOK_BACK), at);
  for (let times = 0; times < 3; times++) {
    const skipped = before.replace(FILLER, (found) => (/^\p{L}/u.test(found) ? "" : found.charAt(0)));
    const first = COORDINATED.exec(skipped);
    const shorter = first === null ? skipped : skipped.slice(0, first.index);
    if (shorter === before) break;
    before = shorter;
  }
  const word = WORD_BEFORE.exec(before)?.[1] ?? "";
  return PREPOSITIONS.get(word.toLowerCase()) ?? null;
}

/** Returns at most `count` lower-case words after a position, up to a mark. */
export function wordsAfter(text: string, at: number, count = 3): string[] {
  const words: string[] = [];
  WORDS_AFTER.lastIndex = at;
  for (
    let match = WORDS_AFTER.exec(text);
    match !== null && words.length < count;
    match = WORDS_AFTER.exec(text)
  ) {
    words.push(match[1]!.toLowerCase());
  }
  return words;
}

/**
 * Returns the grammar of a whole number at [at, next): from the preposition and the following nouns,
 * otherwise nominative.
 */
export function agreementAt(text: string, at: number, next: number, value: number): Grammar {
  const cases = casesBefore(text, at);
  return chosen(cases, nounOptions(wordsAfter(text, next), value));
}

/** Returns the first case that both sides allow; the preposition decides if they disagree. */
export function chosen(cases: readonly Case[] | null, options: readonly Option[]): Grammar {
  const [first] = options;
  if (cases === null) return { ...NOMINATIVE, ...first };
  for (const of of cases) {
    const option = options.find((candidate) => candidate.case === of);
    if (option !== undefined) return { ...NOMINATIVE, ...option };
  }
  return { ...NOMINATIVE, gender: first?.gender ?? "masculine", case: cases[0]! };
}

function nounOptions(words: readonly string[], value: number): Option[] {
  const counts = countClass(value);
  for (const [index, word] of words.entries()) {
    if (NO_NOUN.has(word)) break;
    const known = knownFormsOf(word).filter(({ use }) => use !== "numbered" || index === 0);
    // "Доход составил 15 282 долларов" is a slip of the writer; "делегация 3 человек" is not.
    const isFew = counts === "few" && value < LEAST_LARGE;
    if (known.length > 0) return knownOptions(known, isFew || counts === "one" ? counts : "many");
    // Skip an adjective before its noun, which shows more.
    if (ADJECTIVE.test(word) && index + 1 < words.length && !NO_NOUN.has(words[index + 1]!)) continue;
    const options = counts === "one" ? optionsOfOne(word) : optionsOfSeveral(word, isFew);
    if (options.length > 0) return options;
    break;
  }
  return [];
}

function knownOptions(known: readonly KnownForm[], counts: "one" | "few" | "many"): Option[] {
  const options: Option[] = [];
  for (const { noun, isPlural, case: of } of known) {
    const { gender, isAnimate } = noun;
    if (counts === "one") {
      if (!isPlural) options.push({ case: of, gender, isAnimate });
    } else if (isPlural && of !== "nominative" && of !== "accusative") {
      if (of === "genitive" && counts === "many") options.push(...likeNominative(gender));
      options.push({ case: of, gender });
      if (of === "genitive" && isAnimate) options.push({ case: "accusative", gender, isAnimate });
    } else if (!isPlural && of === "genitive") options.push(...likeNominative(gender));
  }
  return options;
}

function likeNominative(gender: Gender): Option[] {
  return [
    { case: "nominative", gender },
    { case: "accusative", gender },
  ];
}

/** Judges by the ending of a noun after two or more. */
function optionsOfSeveral(word: string, isFew: boolean): Option[] {
  const gender = /[ыи]$/.test(word) ? "feminine" : "masculine";
  if (/(?:[аяь]|[ыи])ми$/.test(word)) return [{ case: "instrumental", gender }];
  if (/[ая]м$|[ыи]м$/.test(word)) return [{ case: "dative", gender }];
  if (/[ая]х$/.test(word)) return [{ case: "prepositional", gender }];
  if (/[ыи]х$/.test(word)) return [...likeNominative(gender), { case: "genitive", gender }];
  if (!isFew) return [...likeNominative(gender), { case: "genitive", gender }];
  if (/[аяыи]$|[ыи]е$/.test(word)) return likeNominative(gender);
  if (/[ое]в$|ей$/.test(word))
    return [
      { case: "genitive", gender },
      { case: "accusative", gender, isAnimate: true },
    ];
  return [];
}

/** Judges by the ending of a noun or an adjective after one, twenty-one and so on. */
function optionsOfOne(word: string): Option[] {
  const of = (gender: Gender, ...cases: Case[]): Option[] => cases.map((found) => ({ case: found, gender }));
  // This is a verb.
  if (/(?:ся|сь)$/.test(word)) return [];
  if (/(?:[ыи]й)$/.test(word)) return of("masculine", "nominative", "accusative");
  if (/(?:[ое]го)$/.test(word)) return of("masculine", "genitive");
  if (/(?:[ое]му)$/.test(word)) return of("masculine", "dative");
  if (/(?:[ыи]м|[оеё]м)$/.test(word)) return of("masculine", "instrumental", "prepositional");
  if (/(?:ую|юю)$/.test(word)) return of("feminine", "accusative");
  if (/(?:[оеё]й)$/.test(word)) return of("feminine", "instrumental", "genitive", "dative", "prepositional");
  if (/(?:ость|знь|чь|шь|вь|дь|ощь)$/.test(word)) return of("feminine", "nominative", "accusative");
  if (/[ая]$/.test(word)) return [...of("feminine", "nominative"), ...of("masculine", "genitive")];
  if (/[ую]$/.test(word)) return [...of("feminine", "accusative"), ...of("masculine", "dative")];
  if (/[ыи]$/.test(word)) return of("feminine", "genitive", "dative", "prepositional");
  if (/о$|[^аеиоуыэюя]ие$/.test(word)) return of("neuter", "nominative", "accusative");
  if (/е$/.test(word)) return [...of("masculine", "prepositional"), ...of("feminine", "dative")];
  return /[^аеиоуыэюяё]$/.test(word) ? of("masculine", "nominative", "accusative") : [];
}

function governing(of: Case, prepositions: string): [string, readonly Case[]][] {
  return prepositions.split(/\s+/).map((preposition) => [preposition, [of]]);
}
