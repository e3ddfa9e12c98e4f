import type { KazakhNumberWord } from "./kazakh-words.js";
import { saidDigits } from "./number-words.js";

const LEAST_WORDS = 6;
/** Digits of a telephone number, in the groups of its written form. */
const PHONE = /^([78])(7\d\d)(\d{3})(\d{2})(\d{2})$/;

/**
 * Returns the written forms of a telephone number, best first: eleven digits in groups can be nothing else.
 * Returns null for other numbers.
 */
export function phoneForms(run: readonly KazakhNumberWord[]): readonly string[] | null {
  if (run.length < LEAST_WORDS || run.some(({ ending, isOrdinal }) => ending !== "" || isOrdinal))
    return null;
  const digits = saidDigits(run);
  const groups = PHONE.exec(digits);
  if (groups === null) return null;
  const [, country, area, ...rest] = groups;
  return [
    `${country} ${area} ${rest.join(" ")}`,
    `${country} ${area} ${rest.join("-")}`,
    [...digits].join(" "),
  ];
}
