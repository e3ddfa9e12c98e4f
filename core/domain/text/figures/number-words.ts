/**
 * A number word without endings: a value below a thousand, or a scale that multiplies the number before it.
 */
export interface NumberWord {
  readonly value: number;
  /**
   * "Hundred" multiplies a digit, "hundreds" has one word for each; a scale multiplies everything below it.
   */
  readonly role: "digit" | "teen" | "ten" | "hundreds" | "hundred" | "scale";
  /** A scale in a form that follows only one, twenty-one and so on, or nothing: "тысяча". */
  readonly isSingular?: boolean;
  /**
   * Gender of one and two, and of the scale that they multiply, in a language with genders: "одна тысяча".
   */
  readonly gender?: "masculine" | "feminine" | undefined;
}

/** A number spelled by words [first, end). */
export interface SpelledNumber {
  readonly first: number;
  readonly end: number;
  readonly value: number;
}

/**
 * Maximum number of words that are read as one run. The longest number, telephone number or range is shorter,
 * and the time grows with the square.
 */
export const LONGEST_RUN = 24;
const LARGEST = 999_999_999_999_999;
/**
 * Cost of a number that starts with a scale right after another number: "seventy thousand eighty thousand" is
 * two sums.
 */
const BARE_SCALE_COST = 1.5;

/**
 * Splits a run of number words into the fewest numbers.
 *
 * @returns the numbers in order, without a gap; null if there are two ways to do so
 */
export function splitNumbers(run: readonly NumberWord[]): readonly SpelledNumber[] | null {
  interface Split {
    readonly cost: number;
    readonly isUnique: boolean;
    readonly last: SpelledNumber | null;
    readonly before: Split | null;
  }
  const best: (Split | undefined)[] = [{ cost: 0, isUnique: true, last: null, before: null }];
  for (let first = 0; first < run.length; first++) {
    const before = best[first];
    if (before === undefined) continue;
    const { role, isSingular } = run[first]!;
    const isBare = first > 0 && isSingular !== true && (role === "scale" || role === "hundred");
    for (const { end, value } of numbersFrom(run, first)) {
      const cost = before.cost + 1 + (isBare ? BARE_SCALE_COST : 0);
      const known = best[end];
      if (known !== undefined && known.cost < cost) continue;
      const isUnique = before.isUnique && (known === undefined || known.cost > cost);
      best[end] = { cost, isUnique, last: { first, end, value }, before };
    }
  }
  const whole = best[run.length];
  if (whole === undefined || !whole.isUnique) return null;
  const numbers: SpelledNumber[] = [];
  for (let at: Split | null = whole; at?.last != null; at = at.before) numbers.unshift(at.last);
  return numbers;
}

/** Lists every number that starts at `first`, by its possible ends. */
export function numbersFrom(run: readonly NumberWord[], first: number): { end: number; value: number }[] {
  const found: { end: number; value: number }[] = [];
  let total = 0;
  /** Value of the part below the next scale, and the bound for further additions. */
  let group = 0;
  let room: "hundred" | "ten" | "digit" | "none" = "hundred";
  let smallestScale = Number.POSITIVE_INFINITY;
  let isGroupEmpty = true;
  for (let at = first; at < run.length; at++) {
    const { value, role } = run[at]!;
    if (role === "scale") {
      if (value >= smallestScale || (!isGroupEmpty && !agrees(run[at]!, run[at - 1]!, group))) break;
      total += (isGroupEmpty ? 1 : group) * value;
      [group, room, isGroupEmpty, smallestScale] = [0, "hundred", true, value];
    } else if (role === "hundred") {
      if (!isGroupEmpty && (group < 2 || group >= 10) && !isOneHundred(run, at)) break;
      group = isGroupEmpty ? value : group * value;
      [room, isGroupEmpty] = ["ten", false];
    } else if (role === "hundreds") {
      if (!isGroupEmpty) break;
      [group, room, isGroupEmpty] = [value, "ten", false];
    } else if (role === "ten") {
      if (room !== "hundred" && room !== "ten") break;
      group += value;
      [room, isGroupEmpty] = ["digit", false];
    } else {
      if (room === "none" || (role === "teen" && room === "digit")) break;
      group += value;
      [room, isGroupEmpty] = ["none", false];
    }
    if (total + group > LARGEST) break;
    found.push({ end: at + 1, value: total + group });
  }
  return found;
}

/**
 * "One hundred" where a number or its group starts; "seven hundred one hundred twenty" is 701 and 120, as in
 * telephone numbers.
 */
function isOneHundred(run: readonly NumberWord[], at: number): boolean {
  return run[at - 1]!.value === 1 && (at === 1 || run[at - 2]!.role === "scale");
}

/** Returns true if a scale is in the form that the number before it requires. */
function agrees(scale: NumberWord, last: NumberWord, group: number): boolean {
  const isOne = group % 10 === 1 && group % 100 !== 11;
  if (scale.isSingular === true && !isOne) return false;
  return scale.gender === undefined || last.gender === undefined || scale.gender === last.gender;
}

/** A non-breaking space. */
const GROUP_SPACE = "\u00a0";

/** Writes a whole number in digits, in groups of three from 10,000 on. */
export function grouped(value: number): string {
  if (value < 10_000) return String(value);
  const groups = [String(value % 1_000).padStart(3, "0")];
  let rest = Math.floor(value / 1_000);
  for (; rest >= 1_000; rest = Math.floor(rest / 1_000))
    groups.unshift(String(rest % 1_000).padStart(3, "0"));
  return [String(rest), ...groups].join(GROUP_SPACE);
}

/** Returns the digits of consecutive spoken numbers; zeros are spoken one by one. */
export function saidDigits(run: readonly NumberWord[]): string {
  let digits = "";
  for (let at = 0; at < run.length; ) {
    if (run[at]!.value === 0) {
      digits += "0";
      at++;
      continue;
    }
    const zero = run.findIndex((word, index) => index > at && word.value === 0);
    const part = run.slice(at, zero === -1 ? run.length : zero);
    for (const { value } of splitNumbers(part) ?? []) digits += String(value);
    at += part.length;
  }
  return digits;
}

/** Returns the number that the whole run spells; null if it spells several. */
export function onlyNumber(run: readonly NumberWord[]): number | null {
  const numbers = splitNumbers(run);
  return numbers?.length === 1 ? numbers[0]!.value : null;
}

const SCALES = [1e12, 1e9, 1e6, 1e3];
const FEW = 5;
const TEN = 10;
const FARTHEST_TENS = 15;

/**
 * Returns the scale that the first of two numbers shares, as in "twenty twenty-five thousand"; null without
 * one.
 */
export function scaleSaidOnce(from: number, to: number): number | null {
  return from < 1_000 ? (SCALES.find((scale) => to % scale === 0) ?? null) : null;
}

/**
 * Whether two numbers in a row mean "from so many to so many", rather than a time ("13 20") or two years.
 * Tens far apart ("here twenty forty people") may be two counts, unless a unit follows.
 */
export function isRange(from: number, to: number, isSure: boolean): boolean {
  if (from < 1 || to <= from || to > 3 * from) return false;
  if (!isSure && from > TEN && to < 100 && to - from > FARTHEST_TENS) return false;
  return to - from <= FEW || (from % FEW === 0 && to % FEW === 0);
}

/** "A million two hundred" usually omits "thousand". */
export function isUnclearSum(value: number): boolean {
  return value > 1e6 && value % 1e6 > 0 && value % 1e6 < 1_000;
}
