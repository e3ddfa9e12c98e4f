import { readAsWritten, SpokenAsWritten } from "../as-written.js";
import type { NormalizeOptions, SpokenText } from "../kazakh/normalize.js";
import { ABBREVIATION_SOURCE, abbreviationRule } from "./abbreviations.js";
import { CALENDAR_RULES } from "./calendar.js";
import {
  codeRule,
  fractionRule,
  nameHyphenRule,
  phoneRule,
  pointedRule,
  signRule,
  vulgarRule,
} from "./codes.js";
import type { Found, Rule } from "./found.js";
import { compoundRule, endedRule, numberedNounRule } from "./ordinals.js";
import { quantityRule } from "./quantities.js";
import { romanRule } from "./roman.js";

/** Rules by the text at the position; the first that applies wins. */
const DIGIT_RULES: readonly Rule[] = [
  phoneRule,
  ...CALENDAR_RULES,
  compoundRule,
  endedRule,
  numberedNounRule,
  pointedRule,
  fractionRule,
  codeRule,
  quantityRule,
];
const SIGN_RULES: readonly Rule[] = [phoneRule, quantityRule, nameHyphenRule, signRule, vulgarRule];
const WORD_RULES: readonly Rule[] = [abbreviationRule];
const ROMAN_RULES: readonly Rule[] = [romanRule];

/** Positions where a rule may apply; words without digits are skipped. */
const PLACE = new RegExp(
  `\\d|[$€₽₸£+−±№#≈~×=<>½¼¾⅓⅔]|-(?=[$€₽₸£]?\\d)|(?<![\\p{L}\\p{M}\\d-])(?:[IVXLCІХ]{1,7}(?![\\p{L}\\p{M}\\d])|${ABBREVIATION_SOURCE})`,
  "gu",
);

/**
 * Reads numbers, signs and abbreviations in a Russian text; everything else stays as written.
 *
 * Numbers agree with the preposition before them and the noun after them, and are nominative if neither
 * decides.
 */
export function normalizeRussian(text: string, { expand, dictionary }: NormalizeOptions): SpokenText {
  if (!expand) return readAsWritten(text, { dictionary });
  const out = new SpokenAsWritten();
  let at = 0;
  for (const name of dictionary?.find(text) ?? []) {
    readPart(text.slice(0, name.at), at, out);
    out.say(name.spoken, { start: name.at, end: name.next });
    at = name.next;
  }
  readPart(text, at, out);
  return out.done();
}

/** Reads a text from a position on. */
function readPart(text: string, from: number, out: SpokenAsWritten): void {
  let at = from;
  PLACE.lastIndex = from;
  for (let place = PLACE.exec(text); place !== null; place = PLACE.exec(text)) {
    const found = findAt(text, place.index);
    const spoken = found?.say(found.grammar) ?? null;
    if (found === null || spoken === null) continue;
    out.copy(text.slice(at, place.index), at);
    // "А1А", "10кг": separates letters from the words of a number.
    if (LETTER.test(text.charAt(place.index - 1))) out.gap();
    out.say(spoken, { start: place.index, end: found.next });
    if (LETTER.test(text.charAt(found.next))) out.gap();
    at = found.next;
    PLACE.lastIndex = at;
  }
  out.copy(text.slice(at), at);
}

const LETTER = /[\p{L}\p{M}\d]/u;

/** Returns the match of the first rule that reads the text at this position. */
export function findAt(text: string, at: number): Found | null {
  for (const rule of rulesAt(text.charAt(at))) {
    const found = rule(text, at);
    if (found !== null) return found;
  }
  return null;
}

function rulesAt(character: string): readonly Rule[] {
  if (character >= "0" && character <= "9") return DIGIT_RULES;
  if (/[IVXLCІХ]/.test(character)) return ROMAN_RULES;
  return /\p{L}/u.test(character) ? WORD_RULES : SIGN_RULES;
}
