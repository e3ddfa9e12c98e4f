import { codeGroup } from "./numbers.js";
import { patternRule, type Rule } from "./reading.js";

/**
 * Reads telephone numbers of Kazakhstan group by group.
 *
 * Source: the numbering plan of Kazakhstan (country code 7, prefix 8, area codes of three digits, or four and
 * six). Brackets have become commas. Without the code, only groups of 3-3-2-2 count: "701 123 45 67".
 */
const SEPARATED = "\\+?[78][ ,-]{0,8}\\d{3}[ ,-]{1,8}\\d{3}[ -]?\\d{2}[ -]?\\d{2}";
const AREA = "\\+?[78][ ,-]{0,8}7\\d{3}[ ,-]{1,8}\\d{2}[ -]?\\d{2}[ -]?\\d{2}";
const LOCAL = "(?:[67]\\d{2})[ -]\\d{3}[ -]\\d{2}[ -]\\d{2}";
const SHORT = "\\d{2,3}-\\d{2}-\\d{2}";
/** Eleven digits are a telephone number only after such a word; elsewhere they may be a sum. */
const CONTACT =
  "(?:[Тт]ел\\.|[Тт]елефон\\p{Ll}{0,12}|[Нн]өмір\\p{Ll}{0,12}|[Бб]айланыс\\p{Ll}{0,12}|[Ww]hats[Aa]pp):? ?";
const JOINED = /^(\+?)([78])(7\d{2})(\d{3})(\d{2})(\d{2})$/;

export const phoneRule: Rule = patternRule(
  `(?<![\\d.,-])(?:${AREA}|${SEPARATED}|\\+77\\d{9}|(?<=${CONTACT})87\\d{9}|${LOCAL}|${SHORT})(?![\\d-])`,
  (match) => {
    const joined = JOINED.exec(match[0]);
    const groups = joined === null ? (match[0].match(/\d+/g) ?? []) : joined.slice(2);
    const spoken = groups.map(codeGroup).join(" ");
    return match[0].startsWith("+") ? `плюс ${spoken}` : spoken;
  },
);
