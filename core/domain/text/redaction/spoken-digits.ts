import { isAmbiguousAlone, kazakhNumberWord } from "../figures/kazakh-words.js";
import { type NumberWord, numbersFrom } from "../figures/number-words.js";
import { russianNumberWord } from "../figures/russian-words.js";
import { majorityLanguage, type SpokenLanguage } from "../script.js";

/** Digits spoken by a run's items, from the group's first item up to `end`. */
interface DigitGroup {
  readonly end: number;
  readonly digits: string;
  /** Number of spoken numbers in the group. */
  readonly cost: number;
  readonly hasThousand: boolean;
  /** Whether it is too large to be digits of a longer number. */
  readonly isSum: boolean;
}

/**
 * Consecutive number words and digits of either language. Plus signs, separators and hesitations are not
 * items.
 */
export interface DigitRun {
  /** Word index of each item. */
  readonly at: readonly number[];
  /** Possible readings from each item: "жиырма үш" is 20 and then 3, or 23. */
  readonly groups: readonly (readonly DigitGroup[])[];
  /**
   * Word index of the plus sign of each item; its own index if the sign is part of it, -1 without one.
   */
  readonly plusAt: readonly number[];
  /**
   * Minimum count of numbers before each item, and from it on; one more entry than items.
   */
  readonly fewestBefore: readonly number[];
  readonly fewestFrom: readonly number[];
  /** True if the last item may be another word: "жетіде" also means "in a week". */
  readonly hasLooseEnd: boolean;
}

interface Item {
  readonly at: number;
  readonly plusAt: number;
  /** A number word, or written digits. */
  readonly said: NumberWord | string;
  /** Whether it is a noun for a digit, as in "две семёрки". */
  readonly isNoun: boolean;
  /** Whether it follows a count: "семёрки", "нуля". */
  readonly isCounted: boolean;
  readonly isBareThousand: boolean;
  readonly isLast: boolean;
  readonly isLoose: boolean;
}

const PLUS = /^(?:плюс|қосу|\+)$/;
/** Words spoken between groups of digits. "Сосын" and "дальше" are "then". */
const FILLER = /^(?:тире|дефис|сызықша|пробел|э+м*|м+|а+|ну|так|сосын|дальше|далее|номер|нөмірі?|-|–|—)$/;
const MOST_FILLERS = 2;
/** Groups of four digits, on cards, are the longest spoken as one number. */
const LARGEST_GROUP = 9_999;
const A_THOUSAND = 1_000;
const NOUN = /^(\p{Ll}{4,8}?)(?:[ауыие]|ей)?$/u;
const NOUN_VALUES: ReadonlyMap<string, number> = new Map([
  ["единиц", 1],
  ["единичк", 1],
  ["двойк", 2],
  ["тройк", 3],
  ["четверк", 4],
  ["пятерк", 5],
  ["шестерк", 6],
  ["семерк", 7],
  ["восьмерк", 8],
  ["девятк", 9],
]);
/** Written digits, such as "8(701)123-45-67", also with a Kazakh ending. */
const FIGURES = /^(\+?)([\d()-]{0,30}\d\)?)(-\p{Ll}{1,8})?$/u;
const ZEROS = /^н[оу]л(?:я|ей)$/;
/** "Тысяч" and "тысячи" are counted; only these are 1000 without a number before them. */
const BARE_THOUSAND = /^тысяч[ау]$/;

/** Finds runs of number words and digits that may have at least ten digits, in bare words. */
export function digitRuns(clean: readonly string[]): readonly DigitRun[] {
  const runs: DigitRun[] = [];
  let items: Item[] = [];
  let fillers = 0;
  let plusAt = -1;
  const close = () => {
    if (mostDigits(items) >= SHORTEST_NUMBER) runs.push(runOf(items));
    items = [];
    fillers = 0;
  };
  for (const [at, word] of clean.entries()) {
    if (PLUS.test(word)) {
      plusAt = at;
      continue;
    }
    const item = itemAt(clean, at, { plusAt, before: items.at(-1) });
    if (item !== null) {
      items.push(item);
      fillers = 0;
      if (item.isLast) close();
    } else if (!FILLER.test(word) || ++fillers > MOST_FILLERS) close();
    plusAt = -1;
  }
  close();
  return runs;
}

/** Returns true if a bare word contains digits by itself. */
export function saysDigits(word: string): boolean {
  return itemAt([word], 0, { plusAt: -1, before: undefined }) !== null;
}

/** Returns a word in lower case without surrounding marks. */
export function bare(word: string): string {
  return word
    .toLowerCase()
    .replaceAll("ё", "е")
    .replace(/^[«"“'([]{1,3}(?=\p{L})|[.,;:!?…»"”']{1,4}$/gu, "");
}

const SHORTEST_NUMBER = 10;

/** Maximum number of digits in items, each read as a separate number. */
function mostDigits(items: readonly Item[]): number {
  return items.reduce(
    (sum, { said }) => sum + (typeof said === "string" ? said : String(said.value)).length,
    0,
  );
}

function itemAt(
  clean: readonly string[],
  at: number,
  { plusAt, before }: { readonly plusAt: number; readonly before: Item | undefined },
): Item | null {
  const word = clean[at]!;
  const plain = {
    at,
    plusAt,
    isNoun: false,
    isCounted: false,
    isBareThousand: false,
    isLast: false,
    isLoose: false,
  };
  const figures = FIGURES.exec(word);
  if (figures !== null) {
    const [, sign, digits = "", ending] = figures;
    const isLast = ending !== undefined;
    return { ...plain, said: digits.replace(/\D/g, ""), plusAt: sign === "+" ? at : plusAt, isLast };
  }
  const value = NOUN_VALUES.get(NOUN.exec(word)?.[1] ?? "");
  if (value !== undefined) {
    return { ...plain, said: { value, role: "digit" }, isNoun: true, isCounted: true };
  }
  const kazakh = word === "үшін" ? null : kazakhNumberWord(word);
  if (kazakh !== null && kazakh.ending === "") {
    if (kazakh.isOrdinal) return null;
    if (word === "он" && languageAround(clean, at) === "russian") return null;
    return { ...plain, said: kazakh, isBareThousand: before === undefined || isZero(before) };
  }
  const russian = russianNumberWord(word);
  if (russian !== null) {
    if (russian.isOrdinal) return null;
    const isBareThousand = before === undefined || BARE_THOUSAND.test(word);
    return { ...plain, said: russian, isBareThousand, isCounted: ZEROS.test(word) };
  }
  if (kazakh === null || kazakh.isOrdinal) return null;
  return { ...plain, said: kazakh, isLast: true, isLoose: isAmbiguousAlone(kazakh) };
}

/** "Он" is ten in Kazakh and "he" in Russian: the adjacent number word decides, else all words. */
function languageAround(clean: readonly string[], at: number): SpokenLanguage | null {
  for (const beside of [clean[at - 1] ?? "", clean[at + 1] ?? ""]) {
    if (beside === "он") continue;
    if (kazakhNumberWord(beside) !== null) return "kazakh";
    if (russianNumberWord(beside) !== null) return "russian";
  }
  return majorityLanguage(clean);
}

function isZero({ said }: Item): boolean {
  return typeof said !== "string" && said.value === 0;
}

function runOf(items: readonly Item[]): DigitRun {
  const groups = items.map((_, first) => groupsFrom(items, first));
  const fewestBefore = [0, ...items.map(() => Number.POSITIVE_INFINITY)];
  const fewestFrom = fewestBefore.toReversed();
  for (const [at, ways] of groups.entries()) {
    for (const { end, cost } of ways)
      fewestBefore[end] = Math.min(fewestBefore[end]!, fewestBefore[at]! + cost);
  }
  for (let at = items.length - 1; at >= 0; at--) {
    for (const { end, cost } of groups[at]!)
      fewestFrom[at] = Math.min(fewestFrom[at]!, cost + fewestFrom[end]!);
  }
  return {
    at: items.map(({ at }) => at),
    groups,
    plusAt: items.map(({ plusAt }) => plusAt),
    fewestBefore,
    fewestFrom,
    hasLooseEnd: items.at(-1)?.isLoose ?? false,
  };
}

/** Maximum number of items in a group; amounts in the millions rarely need more words. */
const LONGEST_GROUP_ITEMS = 12;
/** Cost of a count of zeros without a noun: "екі нөл" is more likely 2, 0 than 00. */
const UNCOUNTED_COST = 3;

function groupsFrom(items: readonly Item[], first: number): DigitGroup[] {
  const { said, isNoun, isBareThousand } = items[first]!;
  const plain = { end: first + 1, cost: 1, hasThousand: false, isSum: false };
  if (typeof said === "string") return [{ ...plain, digits: said }];
  if (isNoun || said.value === 0) return [{ ...plain, digits: String(said.value) }];
  const next = items[first + 1];
  // A plus sign, a zero, written digits or a noun starts another number.
  const numbers: NumberWord[] = [said];
  for (let at = first + 1; at < items.length && numbers.length < LONGEST_GROUP_ITEMS; at++) {
    const item = items[at]!;
    if (typeof item.said === "string" || item.said.value === 0 || item.isNoun || item.plusAt !== -1) break;
    numbers.push(item.said);
  }
  const groups: DigitGroup[] = [];
  const isPart = said.role === "scale" && !isBareThousand;
  const add = (skipped: number) => {
    for (const { end, value } of numbersFrom(numbers.slice(skipped), 0)) {
      const isSum = isPart || value > LARGEST_GROUP;
      const digits = String(value);
      groups.push({ end: first + skipped + end, digits, cost: 1, hasThousand: value >= A_THOUSAND, isSum });
    }
  };
  add(0);
  // "Бір жүз" is a hundred, although this "one" is usually omitted.
  if (said.value === 1 && numbers[1]?.role === "hundred") add(1);
  // "Два нуля" is 00, "три семёрки" 777; "екі нөл" may be 20 as well.
  const isRepeated = next !== undefined && (next.isNoun || isZero(next)) && typeof next.said !== "string";
  if (isRepeated && said.role === "digit" && said.value >= 2 && said.value <= 4) {
    const digits = String((next.said as NumberWord).value).repeat(said.value);
    groups.push({
      end: first + 2,
      digits,
      cost: next.isCounted ? 1 : UNCOUNTED_COST,
      hasThousand: false,
      isSum: false,
    });
  }
  return groups;
}
