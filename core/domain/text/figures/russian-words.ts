import type { NumberWord } from "./number-words.js";

/** A Russian number word in some case and gender. */
export interface RussianNumberWord extends NumberWord {
  readonly isOrdinal: boolean;
  /** How its ending is written behind a figure, as in "5-го"; empty for cardinals. */
  readonly suffix: string;
}

/** Forms of each cardinal in all cases, "ё" as "е". */
const ONES: readonly string[] = [
  "ноль нуль ноля нуля нолю нулю нолем нулем ноле нуле",
  "один одна одно одни одного одной одному одним одном одну одною",
  "два две двух двум двумя",
  "три трех трем тремя",
  "четыре четырех четырем четырьмя",
  "пять пяти пятью",
  "шесть шести шестью",
  "семь семи семью",
  "восемь восьми восемью восьмью",
  "девять девяти девятью",
];
const TEENS = [
  "десят",
  "одиннадцат",
  "двенадцат",
  "тринадцат",
  "четырнадцат",
  "пятнадцат",
  "шестнадцат",
  "семнадцат",
  "восемнадцат",
  "девятнадцат",
];
const TENS: readonly string[] = [
  "двадцать двадцати двадцатью",
  "тридцать тридцати тридцатью",
  "сорок сорока",
  "пятьдесят пятидесяти пятьюдесятью",
  "шестьдесят шестидесяти шестьюдесятью",
  "семьдесят семидесяти семьюдесятью",
  "восемьдесят восьмидесяти восемьюдесятью восьмьюдесятью",
  "девяносто девяноста",
];
const HUNDREDS: readonly string[] = [
  "сто ста",
  "двести двухсот двумстам двумястами двухстах",
  "триста трехсот тремстам тремястами трехстах",
  "четыреста четырехсот четыремстам четырьмястами четырехстах",
  ...["пят", "шест", "сем", "восем", "девят"].map((stem) => {
    const oblique = stem === "восем" ? "восьми" : `${stem}и`;
    return `${stem}ьсот ${oblique}сот ${oblique}стам ${stem}ьюстами ${oblique}стах`;
  }),
];
const SCALES: readonly (readonly [number, string])[] = [
  [1e3, "тысяча тысячи тысяче тысячу тысячей тысяч тысячам тысячами тысячах"],
  ...(["миллион", "миллиард", "триллион"] as const).map((stem, nth): [number, string] => [
    10 ** (6 + 3 * nth),
    ["", "а", "у", "ом", "е", "ы", "ов", "ам", "ами", "ах"].map((ending) => stem + ending).join(" "),
  ]),
];

/** Ordinals by their stems. */
const ORDINALS: readonly (readonly [stem: string, value: number, role: NumberWord["role"]])[] = [
  ...["перв", "втор", "", "четверт", "пят", "шест", "седьм", "восьм", "девят"].map(
    (stem, nth): [string, number, "digit"] => [stem, nth + 1, "digit"],
  ),
  ...TEENS.map((stem, nth): [string, number, "teen"] => [stem, nth + 10, "teen"]),
  ...["двадцат", "тридцат", "сороков", "пятидесят", "шестидесят", "семидесят", "восьмидесят", "девяност"].map(
    (stem, nth): [string, number, "ten"] => [stem, 10 * (nth + 2), "ten"],
  ),
  ...["", "двух", "трех", "четырех", "пяти", "шести", "семи", "восьми", "девяти"].map(
    (stem, nth): [string, number, "hundreds"] => [`${stem}сот`, 100 * (nth + 1), "hundreds"],
  ),
  ["тысячн", 1e3, "scale"],
  ["миллионн", 1e6, "scale"],
];
/** Endings of adjectives, and what stands for them behind a figure: one letter after a vowel, two after a consonant. */
const ADJECTIVE_ENDINGS: readonly (readonly [ending: string, suffix: string])[] = [
  ["ый", "й"],
  ["ой", "й"],
  ["ая", "я"],
  ["ое", "е"],
  ["ые", "е"],
  ["ого", "го"],
  ["ому", "му"],
  ["ым", "м"],
  ["ом", "м"],
  ["ую", "ю"],
  ["ою", "ю"],
  ["ых", "х"],
  ["ыми", "ми"],
];
const THIRD: readonly (readonly [form: string, suffix: string])[] = [
  ["третий", "й"],
  ["третья", "я"],
  ["третье", "е"],
  ["третьи", "и"],
  ["третьего", "го"],
  ["третьему", "му"],
  ["третьим", "м"],
  ["третьем", "м"],
  ["третьей", "й"],
  ["третью", "ю"],
  ["третьих", "х"],
  ["третьими", "ми"],
];
/** "Двухтысячный": a year alone. */
const YEARS: readonly (readonly [stem: string, value: number])[] = [
  ["двухтысячн", 2_000],
  ["трехтысячн", 3_000],
];

const WORDS = allWords();

/** Reads a lower-case word as a number word in any case and gender; null where it is none. */
export function russianNumberWord(word: string): RussianNumberWord | null {
  return WORDS.get(word.replaceAll("ё", "е")) ?? null;
}

function allWords(): ReadonlyMap<string, RussianNumberWord> {
  const words = new Map<string, RussianNumberWord>();
  const add = (forms: string, value: number, role: NumberWord["role"]) => {
    for (const form of forms.split(" ")) words.set(form, { value, role, isOrdinal: false, suffix: "" });
  };
  const addOrdinal = (form: string, suffix: string, value: number, role: NumberWord["role"]) => {
    if (!words.has(form)) words.set(form, { value, role, isOrdinal: true, suffix });
  };
  for (const [value, forms] of ONES.entries()) add(forms, value, "digit");
  for (const [nth, stem] of TEENS.entries()) add(`${stem}ь ${stem}и ${stem}ью`, 10 + nth, "teen");
  for (const [nth, forms] of TENS.entries()) add(forms, 10 * (nth + 2), "ten");
  for (const [nth, forms] of HUNDREDS.entries()) add(forms, 100 * (nth + 1), "hundreds");
  for (const [value, forms] of SCALES) add(forms, value, "scale");
  for (const [form, suffix] of THIRD) addOrdinal(form, suffix, 3, "digit");
  for (const [stem, value, role] of ORDINALS) {
    if (stem === "") continue;
    for (const [ending, suffix] of ADJECTIVE_ENDINGS) addOrdinal(stem + ending, suffix, value, role);
  }
  for (const [stem, value] of YEARS) {
    for (const [ending, suffix] of ADJECTIVE_ENDINGS) addOrdinal(stem + ending, suffix, value, "scale");
  }
  return words;
}
