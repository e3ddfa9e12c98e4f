export const CASES = [
  "nominative",
  "genitive",
  "dative",
  "accusative",
  "instrumental",
  "prepositional",
] as const;
export type Case = (typeof CASES)[number];

export const GENDERS = ["masculine", "feminine", "neuter", "plural"] as const;
export type Gender = (typeof GENDERS)[number];

/** Case and gender that a numeral agrees with. */
export interface Grammar {
  readonly case: Case;
  readonly gender: Gender;
  /** Accusatives of people and animals are genitives: "вижу двух человек". */
  readonly isAnimate: boolean;
}

/** Lists every case in every gender. */
export function allGrammars(): Grammar[] {
  return GENDERS.flatMap((gender) =>
    CASES.flatMap((of) =>
      (of === "accusative" ? [false, true] : [false]).map((isAnimate) => ({ case: of, gender, isAnimate })),
    ),
  );
}

/** How a noun after a number is declined: "21 рубль", "22 рубля", "25 рублей". */
export type CountClass = "one" | "few" | "many";

/** Forms in the order of `CASES`. */
export type Forms = readonly string[];

export interface Noun {
  readonly gender: Gender;
  readonly isAnimate: boolean;
  readonly singular: Forms;
  /** The genitive is the form after "пять": "пять лет". */
  readonly plural: Forms;
}

export function countClass(value: number): CountClass {
  const tens = Math.floor(value / 10) % 10;
  const ones = value % 10;
  if (tens === 1 || ones === 0 || ones > 4) return "many";
  return ones === 1 ? "one" : "few";
}

/** Returns the form of a noun after a whole number in a case. */
export function counted(noun: Noun, value: number, of: Case): string {
  const counts = countClass(value);
  if (counts === "one") return inCase(noun.singular, of);
  if (of !== "nominative" && of !== "accusative") return inCase(noun.plural, of);
  // "Двух человек", but "двадцать два человека".
  if (of === "accusative" && noun.isAnimate && value < 5) return inCase(noun.plural, "genitive");
  return inCase(counts === "few" ? noun.singular : noun.plural, "genitive");
}

export function inCase(forms: Forms, of: Case): string {
  return forms[CASES.indexOf(of)]!;
}

const ADJECTIVE_ENDINGS: Readonly<Record<Gender, string>> = {
  masculine: "ый ого ому ый ым ом",
  feminine: "ая ой ой ую ой ой",
  neuter: "ое ого ому ое ым ом",
  plural: "ые ых ым ые ыми ых",
};
/** Endings of "третий", the only numeral with soft ones. */
const SOFT_ENDINGS: Readonly<Record<Gender, string>> = {
  masculine: "ий ьего ьему ий ьим ьем",
  feminine: "ья ьей ьей ью ьей ьей",
  neuter: "ье ьего ьему ье ьим ьем",
  plural: "ьи ьих ьим ьи ьими ьих",
};

/**
 * Declines an adjective by its stem; a stem stressed at its end ("второй") has "!" after it, "третий" has
 * "'".
 */
export function adjective(stem: string, { case: of, gender, isAnimate }: Grammar): string {
  const isSoft = stem.endsWith("'");
  const isLikeGenitive = of === "accusative" && isAnimate && (gender === "masculine" || gender === "plural");
  const endings = (isSoft ? SOFT_ENDINGS : ADJECTIVE_ENDINGS)[gender].split(" ");
  const ending = inCase(endings, isLikeGenitive ? "genitive" : of);
  return stem.replace(/[!']$/, "") + (stem.endsWith("!") && ending === "ый" ? "ой" : ending);
}

/** Endings of the twelve forms; "-" for none. */
const PATTERNS = {
  "masculine hard": "- а у - ом е ы ов ам ы ами ах",
  "masculine к": "- а у - ом е и ов ам и ами ах",
  "masculine ц": "- а у - ем е ы ев ам ы ами ах",
  "masculine ь": "ь я ю ь ём е и ей ям и ями ях",
  "masculine ж": "- а у - ом е и ей ам и ами ах",
  "masculine measure": "- а у - ом е ы - ам ы ами ах",
  "feminine hard": "а ы е у ой е ы - ам ы ами ах",
  "feminine к": "а и е у ой е и - ам и ами ах",
  "feminine ц": "а ы е у ей е ы - ам ы ами ах",
  "feminine ч": "а и е у ей е и - ам и ами ах",
  "feminine я": "я и е ю ей е и ь ям и ями ях",
  "feminine ия": "ия ии ии ию ией ии ии ий иям ии иями иях",
  "feminine ь": "ь и и ь ью и и ей ям и ями ях",
  "neuter hard": "о а у о ом е а - ам а ами ах",
} as const;

/** Declines nouns of one pattern by their stems. */
export function declined(pattern: keyof typeof PATTERNS, stem: string, isAnimate = false): Noun {
  const endings = PATTERNS[pattern].split(" ").map((ending) => stem + (ending === "-" ? "" : ending));
  return { ...irregular(pattern.split(" ")[0] as Gender, endings.join(" ")), isAnimate };
}

/** Splits the twelve forms of a noun, singular first. */
export function irregular(gender: Gender, forms: string, isAnimate = false): Noun {
  const all = forms.split(" ");
  return { gender, isAnimate, singular: all.slice(0, 6), plural: all.slice(6) };
}

/** Makes a noun with only one form: "евро", "тенге". */
export function unchanging(gender: Gender, form: string): Noun {
  return irregular(gender, `${form} `.repeat(12).trim());
}
