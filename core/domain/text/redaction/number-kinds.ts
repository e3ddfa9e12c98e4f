export interface NumberKind {
  readonly longest: number;
  /** True if groups of four digits are spoken as one number. */
  readonly hasThousands: boolean;
  /** Returns true if digits can start such a number. */
  canStart(digits: string): boolean;
  /**
   * Key of the digits' state; digits with equal keys continue in the same way, so one of them represents all.
   */
  stateOf(digits: string): string;
  isWhole(digits: string): boolean;
}

/**
 * Area codes of Kazakhstan and Russia, with those of mobile networks.
 *
 * Follows the numbering plans of both countries in ranges; some codes of a range are unused.
 */
const AREA = new RegExp(
  `^(?:${[
    "70[0-8]|71\\d|72[1-9]|747|75[01]|76[0-4]|77[15-8]",
    "9\\d\\d|800",
    "30[12]|336|34[1-35-79]|35[0-3]|365|38[1-58]|39[0145]",
    "401|41[1356]|42[13-7]|47[1-5]|48[1-7]|49[1-689]",
    "81[1-8]|82[01]|83[13-6]|84[1-8]|85[15]|86[1-35-79]|87[1-3789]",
  ].join("|")})`,
);
const AREA_DIGITS = 3;
const LOCAL_DIGITS = 10;

/** Ten digits with an area code, or eleven with a country code or trunk prefix; see also `hasKnownArea`. */
export const phoneKind: NumberKind = {
  longest: LOCAL_DIGITS + 1,
  hasThousands: true,
  canStart: (digits) => /^[3-9]/.test(digits),
  stateOf: (digits) => `${digits.length} ${digits.slice(0, AREA_DIGITS + 1)}`,
  isWhole: (digits) => digits.length === LOCAL_DIGITS || /^[78][3-9]\d{9}$/.test(digits),
};

/** Returns true if a complete telephone number has an area code in use. */
export function hasKnownArea(phone: string): boolean {
  return AREA.test(phone.slice(-LOCAL_DIGITS));
}

const IIN_DIGITS = 12;
/** Digits of the birth date and the century. */
const IIN_HEAD_DIGITS = 7;

/**
 * Individual identification number of Kazakhstan: yymmdd, a digit for century and sex (0 for foreigners),
 * four of the register, and a check digit.
 *
 * Source: law 223-III of Kazakhstan on the national registers of identification numbers, 12 January 2007.
 */
export const iinKind: NumberKind = {
  longest: IIN_DIGITS,
  hasThousands: false,
  canStart: (digits) => !/^\d\d[2-9]/.test(digits) && hasBirthDate(digits),
  stateOf: (digits) =>
    digits.length <= IIN_HEAD_DIGITS
      ? digits
      : `${digits.length} ${weighted(digits, FIRST_WEIGHTS)} ${weighted(digits, SECOND_WEIGHTS)} ${digits.at(-1)}`,
  isWhole: (digits) => digits.length === IIN_DIGITS && hasBirthDate(digits) && hasIinCheck(digits),
};

/** Returns whether the digits can start with a birth date; true if there are too few to tell. */
function hasBirthDate(digits: string): boolean {
  if (digits.length < IIN_HEAD_DIGITS) return true;
  const [year, month, day, century] = [
    Number(digits.slice(0, 2)),
    Number(digits.slice(2, 4)),
    Number(digits.slice(4, 6)),
    Number(digits[6]),
  ];
  if (century > 6 || month < 1 || month > 12 || day < 1) return false;
  // A foreigner's century is unknown; 2000 permits every leap day of the 20th and 21st centuries.
  const hundreds = century === 0 ? 2_000 : 1_700 + 100 * Math.ceil(century / 2);
  return day <= new Date(Date.UTC(hundreds + year, month, 0)).getUTCDate();
}

const FIRST_WEIGHTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] as const;
const SECOND_WEIGHTS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2] as const;

function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => sum + weight * Number(digits[at] ?? 0), 0) % 11;
}

function hasIinCheck(digits: string): boolean {
  const first = weighted(digits, FIRST_WEIGHTS);
  const check = first === 10 ? weighted(digits, SECOND_WEIGHTS) : first;
  return check === Number(digits[11]);
}

/** Known starts of card numbers with their lengths. */
const CARDS: readonly (readonly [name: string, start: RegExp, lengths: readonly number[]])[] = [
  ["visa", /^4/, [13, 16, 19]],
  ["mastercard", /^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  ["mir", /^220[0-4]/, [16, 17, 18, 19]],
  ["amex", /^3[47]/, [15]],
  ["diners", /^3(?:0[0-5]|[689])/, [14, 16]],
  ["jcb", /^35(?:2[89]|[3-8])/, [16]],
  ["unionpay", /^62/, [16, 17, 18, 19]],
  ["discover", /^6(?:011|4[4-9]|5)/, [16, 17, 18, 19]],
  ["maestro", /^(?:50|5[6-8]|6[037])/, [13, 14, 15, 16, 17, 18, 19]],
  ["uzcard", /^8600/, [16]],
  ["humo", /^9860/, [16]],
];
const CARD_HEAD_DIGITS = 4;

/** Payment card: a known start, a matching length, and Luhn's check digit. */
export const cardKind: NumberKind = {
  longest: 19,
  hasThousands: true,
  canStart: (digits) => digits.length < CARD_HEAD_DIGITS || CARDS.some(([, start]) => start.test(digits)),
  stateOf: (digits) =>
    digits.length <= CARD_HEAD_DIGITS
      ? digits
      : `${digits.slice(0, CARD_HEAD_DIGITS)} ${digits.length} ${luhn(digits)} ${luhn(`${digits}0`)}`,
  isWhole: (digits) =>
    luhn(digits) === 0 &&
    CARDS.some(([, start, lengths]) => lengths.includes(digits.length) && start.test(digits)),
};

/** Luhn's sum modulo 10: every second digit from the right counts twice. */
function luhn(digits: string): number {
  let sum = 0;
  for (let at = digits.length - 1, isDoubled = false; at >= 0; at--, isDoubled = !isDoubled) {
    const value = Number(digits[at]) * (isDoubled ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10;
}
