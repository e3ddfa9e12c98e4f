import {
  adjective,
  CASES,
  countClass,
  counted,
  declined,
  type Forms,
  GENDERS,
  type Gender,
  type Grammar,
  inCase,
  type Noun,
} from "./declension.js";

const ONE: Readonly<Record<Gender, string>> = {
  masculine: "один одного одному один одним одном",
  feminine: "одна одной одной одну одной одной",
  neuter: "одно одного одному одно одним одном",
  plural: "одни одних одним одни одними одних",
};
const TWO_FEMININE = "две двух двум две двумя двух";
const ZERO = "ноль ноля нолю ноль нолём ноле";
/** From two to nine. */
const UNITS: readonly Forms[] = [
  "два двух двум два двумя двух".split(" "),
  "три трёх трём три тремя трёх".split(" "),
  "четыре четырёх четырём четыре четырьмя четырёх".split(" "),
  ...["пят", "шест", "сем"].map(softSign),
  "восемь восьми восьми восемь восемью восьми".split(" "),
  softSign("девят"),
];
const TEENS: readonly Forms[] = [
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
].map(softSign);
/** From twenty to ninety. */
const TENS: readonly Forms[] = [
  softSign("двадцат"),
  softSign("тридцат"),
  "сорок сорока сорока сорок сорока сорока".split(" "),
  ...UNITS.slice(3, 7).map((unit) =>
    compound(unit, ["десят", "десяти", "десяти", "десят", "десятью", "десяти"]),
  ),
  "девяносто девяноста девяноста девяносто девяноста девяноста".split(" "),
];
const HUNDREDS: readonly Forms[] = [
  "сто ста ста сто ста ста".split(" "),
  "двести двухсот двумстам двести двумястами двухстах".split(" "),
  "триста трёхсот трёмстам триста тремястами трёхстах".split(" "),
  "четыреста четырёхсот четырёмстам четыреста четырьмястами четырёхстах".split(" "),
  ...UNITS.slice(3).map((unit) => compound(unit, ["сот", "сот", "стам", "сот", "стами", "стах"])),
];
export const SCALES: readonly (readonly [value: number, noun: Noun])[] = [
  [1e12, declined("masculine hard", "триллион")],
  [1e9, declined("masculine hard", "миллиард")],
  [1e6, declined("masculine hard", "миллион")],
  [1e3, declined("feminine ч", "тысяч")],
];
/** From first to nineteenth. */
const ORDINAL_UNITS = (
  "перв втор! трет' четвёрт пят шест! седьм! восьм! девят десят одиннадцат двенадцат тринадцат " +
  "четырнадцат пятнадцат шестнадцат семнадцат восемнадцат девятнадцат"
).split(" ");
const ORDINAL_TENS = "двадцат тридцат сороков! пятидесят шестидесят семидесят восьмидесят девяност".split(
  " ",
);
const ORDINAL_SCALES: readonly (readonly [number, string])[] = [
  [1e12, "триллионн"],
  [1e9, "миллиардн"],
  [1e6, "миллионн"],
  [1e3, "тысячн"],
];
const MASCULINE: Grammar = { case: "nominative", gender: "masculine", isAnimate: false };

/** The largest number read as one; longer ones are codes. */
export const LARGEST = 999_999_999_999_999;

/** Spells a whole number up to `LARGEST`. */
export function cardinal(value: number, grammar: Grammar): string {
  if (value === 0) return inCase(ZERO.split(" "), grammar.case);
  const words: string[] = [];
  let rest = value;
  for (const [scale, noun] of SCALES) {
    const count = Math.floor(rest / scale);
    rest %= scale;
    if (count === 0) continue;
    // "Тысяча девятьсот", but "миллион одна тысяча".
    const isBare = count === 1 && scale === 1_000 && words.length === 0;
    if (!isBare) words.push(belowThousand(count, { ...grammar, gender: noun.gender, isAnimate: false }));
    words.push(counted(noun, count, grammar.case));
  }
  // "Двадцать два человека": for animate nouns only a simple two to four takes the genitive form.
  const isAnimate = grammar.isAnimate && (value < 5 || countClass(value) === "one");
  if (rest > 0) words.push(belowThousand(rest, { ...grammar, isAnimate }));
  return words.join(" ");
}

function belowThousand(value: number, { case: of, gender, isAnimate }: Grammar): string {
  const below = value % 100;
  const ones = below < 20 ? below : below % 10;
  const words: string[] = [];
  if (value >= 100) words.push(inCase(HUNDREDS[Math.floor(value / 100) - 1]!, of));
  if (below >= 20) words.push(inCase(TENS[Math.floor(below / 10) - 2]!, of));
  const isLikeGenitive = of === "accusative" && isAnimate && ones < 5 && gender !== "neuter";
  if (ones > 0)
    words.push(
      inCase(
        smallForms(ones, gender),
        isLikeGenitive && !(ones === 1 && gender === "feminine") ? "genitive" : of,
      ),
    );
  return words.join(" ");
}

function smallForms(value: number, gender: Gender): Forms {
  if (value === 1) return ONE[gender].split(" ");
  if (value === 2 && gender === "feminine") return TWO_FEMININE.split(" ");
  return value < 10 ? UNITS[value - 2]! : TEENS[value - 10]!;
}

export function digitByDigit(digits: string): string {
  return [...digits].map((digit) => cardinal(Number(digit), MASCULINE)).join(" ");
}

/** Spells a number as an adjective: "две тысячи двадцать четвёртый". */
export function ordinal(value: number, grammar: Grammar): string {
  const { stem, rest } = ordinalStem(value);
  const last = adjective(stem, grammar);
  return rest === 0 ? last : `${cardinal(rest, MASCULINE)} ${last}`;
}

/** Returns the stem of the last word, and the number before it. */
function ordinalStem(value: number): { readonly stem: string; readonly rest: number } {
  if (value === 0) return { stem: "нулев!", rest: 0 };
  const below = value % 100;
  const ones = below < 20 ? below : below % 10;
  if (ones > 0) return { stem: ORDINAL_UNITS[ones - 1]!, rest: value - ones };
  if (below > 0) return { stem: ORDINAL_TENS[below / 10 - 2]!, rest: value - below };
  const hundreds = value % 1_000;
  if (hundreds > 0) return { stem: `${compounding(hundreds, "сот")}`, rest: value - hundreds };
  for (const [scale, name] of ORDINAL_SCALES) {
    if (value % scale !== 0) continue;
    const count = (value / scale) % 1_000;
    return { stem: (count === 1 ? "" : compounding(count)) + name, rest: value - count * scale };
  }
  return { stem: "", rest: value };
}

/**
 * Prefix form of a number below a thousand, or of whole thousands: "двадцатипяти" of "двадцатипятилетний".
 */
export function compounding(value: number, hundred = "сто"): string {
  if (value >= 1_000) return `${value === 1_000 ? "" : compounding(value / 1_000)}тысяче`;
  const below = value % 100;
  const hundreds = Math.floor(value / 100);
  let joined = "";
  if (hundreds === 1) joined += hundred;
  else if (hundreds > 1) joined += inCase(HUNDREDS[hundreds - 1]!, "genitive");
  if (below >= 90) joined += "девяносто";
  else if (below >= 20) joined += inCase(TENS[Math.floor(below / 10) - 2]!, "genitive");
  const ones = below < 20 ? below : below % 10;
  if (ones === 1) return `${joined}одно`;
  return ones === 0 ? joined : joined + inCase(smallForms(ones, "masculine"), "genitive");
}

/** A form of a number word. */
export interface NumeralForm {
  readonly form: string;
  readonly value: number;
  readonly isOrdinal: boolean;
  /** A scale in a form that follows only one, twenty-one and so on. */
  readonly isSingular: boolean;
  /** Gender of scales, and of forms of one and two that are specific to a gender. */
  readonly gender?: "masculine" | "feminine" | undefined;
}

/** Lists every form of every number word, cardinals first. */
export function* numeralForms(): Generator<NumeralForm> {
  for (const value of [...upTo(19), ...upTo(9, 10), ...upTo(9, 100)]) yield* formsOf(value, cardinal, false);
  yield* formsOf(0, cardinal, false);
  for (const [value, { singular, plural, gender }] of SCALES) {
    for (const form of [...singular, ...plural]) {
      const isSingular = !plural.includes(form) && form !== inCase(singular, "genitive");
      yield {
        form,
        value,
        isOrdinal: false,
        isSingular,
        gender: gender === "feminine" ? gender : "masculine",
      };
    }
  }
  const scales = [...upTo(9, 1_000), 1e4, 1e6, 1e9];
  for (const value of [...upTo(19), ...upTo(9, 10), ...upTo(9, 100), ...scales])
    yield* formsOf(value, ordinal, true);
}

function* formsOf(
  value: number,
  say: (value: number, grammar: Grammar) => string,
  isOrdinal: boolean,
): Generator<NumeralForm> {
  for (const of of CASES) {
    for (const gender of GENDERS) {
      const form = say(value, { case: of, gender, isAnimate: false });
      yield {
        form,
        value,
        isOrdinal,
        isSingular: false,
        ...(!isOrdinal && value < 3 && { gender: genderOf(form) }),
      };
    }
  }
}

/** Returns the gender of a form of one or two. */
function genderOf(form: string): "masculine" | "feminine" | undefined {
  if (form === TWO_FEMININE.split(" ")[0] || ONE.feminine.split(" ").includes(form)) return "feminine";
  return form === "два" || form.startsWith("од") ? "masculine" : undefined;
}

function upTo(last: number, step = 1): number[] {
  return Array.from({ length: last }, (_, index) => step * (index + 1));
}

function softSign(stem: string): Forms {
  return ["ь", "и", "и", "ь", "ью", "и"].map((ending) => stem + ending);
}

function compound(unit: Forms, endings: readonly string[]): Forms {
  return unit.map((form, index) => form + endings[index]!);
}
