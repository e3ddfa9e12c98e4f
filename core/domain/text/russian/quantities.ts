import { matchAt } from "../kazakh/reading.js";
import { agreementAt, wordsAfter } from "./agreement.js";
import {
  adjective,
  type Case,
  counted,
  declined,
  type Grammar,
  inCase,
  irregular,
  type Noun,
} from "./declension.js";
import { endingIn, type Found, type Rule } from "./found.js";
import {
  CENT,
  COPY,
  DEGREE,
  DOLLAR,
  EURO,
  GRAM,
  HECTARE,
  HOUR,
  KILOMETRE,
  KOPECK,
  LITRE,
  METRE,
  MINUTE,
  MONTHS,
  PER_MILLE,
  PERCENT,
  PERSON,
  PIECE,
  POUND,
  ROUBLE,
  SECOND,
  TENGE,
  TIYN,
  TONNE,
  YUAN,
} from "./nouns.js";
import { grammarBefore, isCode, numberAt, spokenNumber, type WrittenNumber } from "./numbers.js";
import { cardinal, SCALES } from "./numerals.js";

interface Unit {
  readonly noun: Noun;
  /** Stem of an adjective before it: "квадратный". */
  readonly adjective?: string;
  /** Words spoken after it: "в час". */
  readonly after?: string;
  /** Hundredths of money. */
  readonly minor?: Noun;
}

const measure = (stem: string): Noun => declined("masculine measure", stem);
const masculine = (stem: string): Noun => declined("masculine hard", stem);

const SPOON = irregular(
  "feminine",
  "ложка ложки ложке ложку ложкой ложке ложки ложек ложкам ложки ложками ложках",
);

/** Units of length, which can be a place: "в 5 км от города". */
const LENGTHS: readonly (readonly [string, Noun])[] = [
  ["км", KILOMETRE],
  ["м", METRE],
  ["дм", masculine("дециметр")],
  ["см", masculine("сантиметр")],
  ["мм", masculine("миллиметр")],
  ["мкм", masculine("микрометр")],
];
const LENGTH_NOUNS = new Set(LENGTHS.map(([, noun]) => noun));
const CURRENCIES: ReadonlyMap<string, Unit> = new Map([
  ...named("₽ руб руб. р. RUB", { noun: ROUBLE, minor: KOPECK }),
  ...named("₸ тг тг. KZT", { noun: TENGE, minor: TIYN }),
  ...named("$ USD долл. долл", { noun: DOLLAR, minor: CENT }),
  ...named("€ EUR", { noun: EURO, minor: CENT }),
  ...named("£ GBP", { noun: POUND }),
  ...named("CNY", { noun: YUAN }),
]);
const UNITS: ReadonlyMap<string, Unit> = new Map([
  ...CURRENCIES,
  ...LENGTHS.flatMap(([sign, noun]): [string, Unit][] => [
    ...named(`${sign} ${sign}.`, { noun }),
    ...named(`${sign}² ${sign}2 кв.${sign}`, { noun, adjective: "квадратн" }),
    ...named(`${sign}³ ${sign}3 куб.${sign}`, { noun, adjective: "кубическ" }),
    ...named(`${sign}/ч ${sign}/час`, { noun, after: "в час" }),
    ...named(`${sign}/с ${sign}/сек`, { noun, after: "в секунду" }),
  ]),
  ...named("коп коп.", { noun: KOPECK }),
  ...named("%", { noun: PERCENT }),
  ...named("‰", { noun: PER_MILLE }),
  ...named("°C °С ℃", { noun: DEGREE, after: "Цельсия" }),
  ...named("°F", { noun: DEGREE, after: "Фаренгейта" }),
  ...named("°", { noun: DEGREE }),
  ...named("кг кг.", { noun: masculine("килограмм") }),
  ...named("г г. гр гр.", { noun: GRAM }),
  ...named("мг мг.", { noun: masculine("миллиграмм") }),
  ...named("т", { noun: TONNE }),
  ...named("ц", { noun: masculine("центнер") }),
  ...named("л л.", { noun: LITRE }),
  ...named("мл мл.", { noun: masculine("миллилитр") }),
  ...named("га га.", { noun: HECTARE }),
  ...named("ч ч.", { noun: HOUR }),
  ...named("мин мин.", { noun: MINUTE }),
  ...named("сек сек.", { noun: SECOND }),
  ...named("мс", { noun: declined("feminine hard", "миллисекунд") }),
  ...named("шт шт.", { noun: PIECE }),
  ...named("экз экз.", { noun: COPY }),
  ...named("чел чел.", { noun: PERSON }),
  ...named("Вт", { noun: measure("ватт") }),
  ...named("кВт", { noun: measure("киловатт") }),
  ...named("МВт", { noun: measure("мегаватт") }),
  ...named("Гц", { noun: measure("герц") }),
  ...named("кГц", { noun: measure("килогерц") }),
  ...named("МГц", { noun: measure("мегагерц") }),
  ...named("ГГц", { noun: measure("гигагерц") }),
  ...named("КБ Кб", { noun: measure("килобайт") }),
  ...named("МБ Мб", { noun: measure("мегабайт") }),
  ...named("ГБ Гб", { noun: measure("гигабайт") }),
  ...named("ТБ Тб", { noun: measure("терабайт") }),
  ...named("ст.л.", { noun: SPOON, adjective: "столов" }),
  ...named("ч.л.", { noun: SPOON, adjective: "чайн" }),
  ...named("л.с.", {
    noun: irregular("feminine", "сила силы силе силу силой силе силы сил силам силы силами силах"),
    adjective: "лошадин",
  }),
]);
const SCALE_SIGNS: ReadonlyMap<string, Noun> = new Map([
  ...["тыс.", "тыс"].map((sign): [string, Noun] => [sign, SCALES[3]![1]]),
  ...["млн", "млн."].map((sign): [string, Noun] => [sign, SCALES[2]![1]]),
  ...["млрд", "млрд."].map((sign): [string, Noun] => [sign, SCALES[1]![1]]),
  ...["трлн", "трлн."].map((sign): [string, Noun] => [sign, SCALES[0]![1]]),
]);

const SIGN_END = "(?![\\p{L}\\p{M}\\d])";
const SCALE = signPattern(SCALE_SIGNS.keys());
const UNIT = signPattern([...UNITS.keys()]);
const MONEY = /[$€₽₸£] ?(?=\d)/y;
const RANGE = /[ \u00a0]?(?:--?|[–—−])[ \u00a0]?(?=\d)/y;
/** Text that excludes a range: a longer row, an ordinal, or a date after a dash. */
const NO_RANGE_AFTER = new RegExp(`^(?:[-–][\\d\\p{L}]|[ \\u00a0](?:${MONTHS.join("|")})(?!\\p{L}))`, "u");
/** "Скидка в 5 %", but "в 5 % случаев". */
const PLACE_AFTER = /^(?:от|к|до|севернее|южнее|западнее|восточнее|выше|ниже|над|под)$/;
const PLURAL_GENITIVE = /(?:[ое]в|ей|ий|[ыи]х)$/;

/** Reads a number with a counted noun, a range of these, or a sum that begins with its sign. */
export const quantityRule: Rule = (text, at) => {
  const money = matchAt(MONEY, text, at);
  const start = at + (money?.[0].length ?? 0);
  const first = numberAt(text, start);
  if (first === null) return null;
  const range = matchAt(RANGE, text, first.next);
  const second = range === null ? null : numberAt(text, first.next + range[0].length);
  const numbers = second !== null && isRange(text, first, second) ? [first, second] : [first];
  return quantity(text, at, numbers, money === null ? null : CURRENCIES.get(money[0].trim())!);
};

/** Whether two numbers are a range, not a telephone number or part of a longer row: "12-34-56". */
function isRange(text: string, first: WrittenNumber, second: WrittenNumber): boolean {
  return !isCode(first) && !isCode(second) && !NO_RANGE_AFTER.test(text.slice(second.next, second.next + 12));
}

function quantity(text: string, at: number, numbers: readonly WrittenNumber[], money: Unit | null): Found {
  const last = numbers.at(-1)!;
  const { scale, next: afterScale } = scaleAt(text, last.next);
  const found = money === null ? unitAt(text, afterScale) : { unit: money, next: afterScale };
  const { unit, next } = found;
  const counts: Counts = { numbers, scale, unit };
  const grammar =
    unit === null && scale === null && last.fraction === ""
      ? agreementAt(text, at, next, Number(last.whole))
      : { ...grammarBefore(text, at), ...placeOf(text, at, next, unit) };
  const end = endingIn(text, next);
  return { next, grammar, say: (asked) => spokenQuantity(counts, asked) + end };
}

/** "В 5 км от города" is a place, "в 15 % случаев" a share. */
function placeOf(text: string, at: number, next: number, unit: Unit | null): { case?: Case } {
  if (!/(?:^|[^\p{L}])в\s$/iu.test(text.slice(Math.max(0, at - 3), at)) || unit === null) return {};
  const [word = ""] = wordsAfter(text, next, 1);
  const isPlace = LENGTH_NOUNS.has(unit.noun) && PLACE_AFTER.test(word);
  return isPlace || (unit.noun === PERCENT && PLURAL_GENITIVE.test(word)) ? { case: "prepositional" } : {};
}

interface Counts {
  readonly numbers: readonly WrittenNumber[];
  readonly scale: Noun | null;
  readonly unit: Unit | null;
}

function spokenQuantity({ numbers, scale, unit }: Counts, grammar: Grammar): string {
  const last = numbers.at(-1)!;
  if (numbers.length === 1 && scale === null && unit?.minor !== undefined && last.fraction.length === 2) {
    return money(last, unit, grammar.case);
  }
  const noun = scale ?? unit?.noun;
  const agreed: Grammar =
    noun === undefined ? grammar : { ...grammar, gender: noun.gender, isAnimate: noun.isAnimate };
  // "1 тыс." is "тысяча".
  const isBare =
    scale === SCALES[3]![1] && numbers.length === 1 && last.whole === "1" && last.fraction === "";
  const words = isBare ? [] : [inRange(numbers, agreed)];
  if (scale !== null) words.push(countedBy(scale, last, grammar.case));
  if (unit !== null) words.push(spokenUnit(unit, scale === null ? last : null, grammar.case));
  return words.join(" ");
}

function inRange(numbers: readonly WrittenNumber[], grammar: Grammar): string {
  const said = numbers.map((number) => spokenNumber(number, grammar));
  return said.join(said.every((words) => !words.includes(" ")) ? "-" : " — ");
}

function countedBy(noun: Noun, { whole, fraction }: WrittenNumber, of: Case): string {
  return fraction === "" ? counted(noun, Number(whole), of) : inCase(noun.singular, "genitive");
}

/** @param number null after a scale, which takes genitives: "пять миллионов рублей" */
function spokenUnit({ noun, adjective: stem, after }: Unit, number: WrittenNumber | null, of: Case): string {
  const said = number === null ? inCase(noun.plural, "genitive") : countedBy(noun, number, of);
  const before = stem === undefined ? "" : `${attribute(stem, noun, number, of)} `;
  return `${before}${said}${after === undefined ? "" : ` ${after}`}`;
}

function attribute(
  stem: string,
  { gender, isAnimate }: Noun,
  number: WrittenNumber | null,
  of: Case,
): string {
  const isOne = number !== null && number.fraction === "" && /(?:^|[^1])1$/.test(number.whole);
  const isFraction = number !== null && number.fraction !== "";
  const isLikeGenitive = of === "nominative" || of === "accusative" || number === null;
  const form = isOne
    ? adjective(stem, { case: of, gender, isAnimate })
    : adjective(stem, {
        case: isFraction || isLikeGenitive ? "genitive" : of,
        gender: isFraction ? gender : "plural",
        isAnimate,
      });
  return stem.endsWith("к") ? form.replace(/кый/, "кий").replace(/кы/, "ки") : form;
}

/** Reads "1 234,56 ₽" in roubles and kopecks. */
function money({ whole, fraction }: WrittenNumber, { noun, minor }: Unit, of: Case): string {
  const part = (value: number, unit: Noun) =>
    `${cardinal(value, { case: of, gender: unit.gender, isAnimate: false })} ${counted(unit, value, of)}`;
  return fraction === "00"
    ? part(Number(whole), noun)
    : `${part(Number(whole), noun)} ${part(Number(fraction), minor!)}`;
}

function scaleAt(text: string, at: number): { readonly scale: Noun | null; readonly next: number } {
  const match = matchAt(SCALE, text, at);
  if (match === null) return { scale: null, next: at };
  return { scale: SCALE_SIGNS.get(match[1]!)!, next: at + match[0].length };
}

function unitAt(text: string, at: number): { readonly unit: Unit | null; readonly next: number } {
  const match = matchAt(UNIT, text, at);
  if (match === null) return { unit: null, next: at };
  return { unit: UNITS.get(match[1]!.replace(/[ \u00a0]/g, ""))!, next: at + match[0].length };
}

/** Makes a pattern of signs after an optional space, the longest first. */
function signPattern(signs: Iterable<string>): RegExp {
  const sources = [...signs]
    .toSorted((a, b) => b.length - a.length)
    .map((sign) =>
      sign
        .replace(/[$/]/g, "\\$&")
        .replace(/\.(?=.)/g, "\\.[ \\u00a0]?")
        .replace(/\.$/, "\\."),
    );
  return new RegExp(`[ \\u00a0\\u202f-]?(${sources.join("|")})${SIGN_END}`, "yu");
}

function named(signs: string, unit: Unit): [string, Unit][] {
  return signs.split(" ").map((sign) => [sign, unit]);
}
