import { LOWER, UPPER } from "./letters.js";
import type { MappedText } from "./mapped-text.js";
import { isEnding } from "./suffixes.js";

/** Company forms after a quoted name, whose last word takes the possessive. */
const COMPANY = new RegExp(
  `(?<=[»”"“] {0,2}(?:ҰК )?)(АҚ|ЖШС|ЖАҚ|ААҚ|КЕАҚ|ҰК|РМК|КММ|РМҚК|МКҚК|КМҚК|МКК)(?:-([${LOWER}]{1,8}))?(?![\\p{L}\\p{M}])`,
  "gu",
);
const LETTERED_NUMBER = new RegExp(`(?<=(?<!\\d)\\d{1,2})[- ]?[«“„"]([${LOWER}${UPPER}])[»”“"]`, "gu");
const DASHED_ENDING = new RegExp(`(?<=\\d|[${UPPER}]{2})[–—‒−]([${LOWER}]{1,12})(?![\\p{L}\\p{M}])`, "gu");

/**
 * Keeps the meaning of quotation marks and long dashes before they are removed: "7 «Б»" is a number with a
 * letter, not a measure, "«Арман» ЖШС-нің" has a possessive, and "5–сынып" has a hyphen.
 */
export function spellOutMarks(mapped: MappedText): MappedText {
  return mapped
    .replace(DASHED_ENDING, (written) => {
      const rest = written.slice(1);
      return isEnding(rest) || (rest.length > 3 && !written.startsWith("—")) ? `-${rest}` : written;
    })
    .replace(LETTERED_NUMBER, (written) => `-${/\p{L}/u.exec(written)?.[0].toUpperCase() ?? ""}`)
    .replace(COMPANY, (written) => {
      const [name = "", ending = ""] = written.split("-");
      const high = name === "ЖШС" || name === "КММ" ? "і" : "ы";
      // Plurals and possessives need no addition.
      if (/^(?:[лдт][ае]р|с?[ыі](?:н|$))/.test(ending) || (ending !== "" && !isEnding(ending)))
        return written;
      return `${name}-${ownedCase(high, ending)}`;
    });
}

/** Returns the case ending after a possessive: "-ның" becomes "-ының", "-ға" becomes "-ына". */
function ownedCase(high: string, ending: string): string {
  const low = high === "і" ? "е" : "а";
  if (ending === "" || /^[ыі]$/.test(ending)) return high;
  if (/^[ндт][ыі]ң$/.test(ending)) return `${high}н${high}ң`;
  if (/^[ғгқк][ае]$|^н[ае]$/.test(ending)) return `${high}н${low}`;
  if (/^н?[дт][ае]$/.test(ending)) return `${high}нд${low}`;
  if (/^[дтн][ае]н$/.test(ending)) return `${high}н${low}н`;
  if (/^[ндт][ыі]$/.test(ending)) return `${high}н`;
  if (/^[мбп]ен$/.test(ending)) return `${high}мен`;
  return `${high}${ending}`;
}
