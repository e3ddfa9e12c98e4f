import { wordTable } from "./word-table.js";

/**
 * Kazakh numerals.
 *
 * Source: Unicode CLDR, common/rbnf/kk.xml, with the 40th corrected to қырқыншы; "бір миллион" rather than a
 * bare "миллион" as the news reads it (19 of 22 times in the KazNERD twin sentences).
 */
const ONES = ["", "бір", "екі", "үш", "төрт", "бес", "алты", "жеті", "сегіз", "тоғыз"];
const TENS = ["", "он", "жиырма", "отыз", "қырық", "елу", "алпыс", "жетпіс", "сексен", "тоқсан"];
const SCALES = ["", "мың", "миллион", "миллиард", "триллион", "квадриллион"];

const ORDINALS = wordTable(`
нөл: нөлінші; бір: бірінші; екі: екінші; үш: үшінші; төрт: төртінші; бес: бесінші; алты: алтыншы;
жеті: жетінші; сегіз: сегізінші; тоғыз: тоғызыншы; он: оныншы; жиырма: жиырмасыншы; отыз: отызыншы;
қырық: қырқыншы; елу: елуінші; алпыс: алпысыншы; жетпіс: жетпісінші; сексен: сексенінші; тоқсан: тоқсаныншы;
жүз: жүзінші; мың: мыңыншы; миллион: миллионыншы; миллиард: миллиардыншы; триллион: триллионыншы;
квадриллион: квадриллионыншы
`);

/** Denominators of decimal fractions by number of digits: "оннан бес" is five tenths. */
const DENOMINATORS = ["", "оннан", "жүзден", "мыңнан", "он мыңнан", "жүз мыңнан", "миллионнан"];

const COLLECTIVES = ["", "біреу", "екеу", "үшеу", "төртеу", "бесеу", "алтау", "жетеу"];

/** Reads whole numbers of up to 18 digits; longer ones and those with leading zeros digit by digit. */
export function cardinal(digits: string): string {
  const isCode = digits.length > 18 || (digits.length > 1 && digits.startsWith("0"));
  if (isCode) return digitByDigit(digits);
  if (digits === "0") return "нөл";
  const groupCount = Math.ceil(digits.length / 3);
  const padded = digits.padStart(groupCount * 3, "0");
  const words: string[] = [];
  for (let group = 0; group < groupCount; group++) {
    const value = Number(padded.slice(group * 3, group * 3 + 3));
    const scale = SCALES[groupCount - 1 - group]!;
    if (value === 0) continue;
    // A leading thousand has no "one" ("мың тоғыз жүз"); after millions it does ("бір миллион бір мың").
    const isBare = scale === "мың" && value === 1 && words.length === 0;
    if (!isBare) words.push(belowThousand(value));
    if (scale !== "") words.push(scale);
  }
  return words.join(" ");
}

export function digitByDigit(digits: string): string {
  return [...digits].map((digit) => ONES[Number(digit)] || "нөл").join(" ");
}

/** Returns the ordinal of a spoken cardinal; only its last word changes. */
export function ordinal(spokenCardinal: string): string {
  const at = spokenCardinal.lastIndexOf(" ") + 1;
  const last = spokenCardinal.slice(at);
  return spokenCardinal.slice(0, at) + (ORDINALS[last] ?? last);
}

/** Reads "3,5" as "үш бүтін оннан бес"; a fraction too long for a denominator is read digit by digit. */
export function decimal(whole: string, fraction: string): string {
  const denominator = DENOMINATORS[fraction.length];
  if (denominator === undefined) return `${cardinal(whole)} үтір ${digitByDigit(fraction)}`;
  return `${cardinal(whole)} бүтін ${denominator} ${cardinal(fraction.replace(/^0+(?=\d)/, ""))}`;
}

/** Returns the collective numeral, such as "бесеу", for 1 to 7; otherwise null. */
export function collective(digits: string): string | null {
  return COLLECTIVES[Number(digits)] || null;
}

function belowThousand(value: number): string {
  const hundreds = Math.floor(value / 100);
  const words = [
    hundreds > 1 ? ONES[hundreds]! : "",
    hundreds > 0 ? "жүз" : "",
    TENS[Math.floor((value % 100) / 10)]!,
    ONES[value % 10]!,
  ];
  return words.filter((word) => word !== "").join(" ");
}
