import {
  acronymRule,
  afterNumberRule,
  closingRule,
  initialRule,
  openingRule,
  placeRule,
  scaleRule,
} from "./abbreviations.js";
import { CALENDAR_RULES, YEAR_MARK_RULE } from "./calendar.js";
import { latinRule } from "./latin.js";
import { KAZAKH_LETTERS, LOWER, UPPER } from "./letters.js";
import { prepare } from "./prepare.js";
import { moneyFirstRule, NUMBER_RULES, numberSignRule, PHONE_RULE, vulgarRule } from "./quantities.js";
import { matchAt, type Reading, type Rule } from "./reading.js";
import { romanRule } from "./roman.js";
import {
  addressDotRule,
  droppedRangeRule,
  minusRule,
  nameHyphenRule,
  signRule,
  slashRule,
  smallRangeRule,
} from "./signs.js";
import { tidy } from "./tidy.js";

export interface NormalizeOptions {
  /** False leaves numbers, abbreviations and signs unread: what can not be pronounced then is dropped. */
  readonly expand: boolean;
}

export interface SpokenText {
  /** Lower-case Kazakh Cyrillic with `, . ! ? : ; — -`; empty when nothing in it can be said. */
  readonly spoken: string;
  /** Characters (code points) of the input that have no place in speech. */
  readonly droppedCharacters: number;
}

/** Rules by what stands at the place; the first that reads it wins. */
const WORD_RULES: readonly Rule[] = [
  romanRule,
  initialRule,
  acronymRule,
  closingRule,
  openingRule,
  placeRule,
  YEAR_MARK_RULE,
  afterNumberRule,
  scaleRule,
  latinRule,
];
const DIGIT_RULES: readonly Rule[] = [...CALENDAR_RULES, ...NUMBER_RULES];
const SIGN_RULES: readonly Rule[] = [
  PHONE_RULE,
  moneyFirstRule,
  numberSignRule,
  minusRule,
  nameHyphenRule,
  smallRangeRule,
  addressDotRule,
  slashRule,
  vulgarRule,
  signRule,
];
/** What Latin letters sound like is needed even where nothing is expanded. */
const WORD_RULES_PLAIN: readonly Rule[] = [latinRule];
const SIGN_RULES_PLAIN: readonly Rule[] = [nameHyphenRule, addressDotRule, droppedRangeRule];

const LETTER = /[\p{L}\p{M}]/u;
/** A word that no rule reads: no capital inside, no dot behind it. Nine of ten are, and this keeps them cheap. */
const ORDINARY_WORD = new RegExp(`(?!мл|трлн)[${LOWER}${UPPER}]?[${LOWER}]+(?![\\p{L}\\p{M}.])`, "uy");
const PLAIN_WORD = new RegExp(`[${LOWER}${UPPER}]+`, "uy");
const PAUSES = new Set([" ", "\n", ",", ".", "!", "?", ":", ";", "-", "—"]);
/** A pass over its own output changes something only where marks met by chance; two passes settle it. */
const MAX_PASSES = 4;

/**
 * Written Kazakh as it is spoken, in the characters a voice knows.
 *
 * Numbers, dates, times, money, units, Roman numerals, abbreviations and signs become words with their endings; Latin words
 * are respelled by sound; quotation marks are silent, brackets and dashes are pauses; everything else is dropped and
 * counted. Applying it to its own output changes nothing.
 */
export function normalizeKazakh(text: string, options: NormalizeOptions): SpokenText {
  const first = readOnce(text, options);
  let spoken = first.spoken;
  for (let pass = 1; pass < MAX_PASSES; pass++) {
    const again = readOnce(spoken, options).spoken;
    if (again === spoken) break;
    spoken = again;
  }
  return { spoken, droppedCharacters: first.droppedCharacters };
}

function readOnce(raw: string, { expand }: NormalizeOptions): SpokenText {
  const { text, droppedCharacters: unsayable } = prepare(raw);
  let droppedCharacters = unsayable;
  let written = "";
  let at = 0;
  while (at < text.length) {
    const ordinary = matchAt(ORDINARY_WORD, text, at);
    const reading = ordinary === null ? read(text, at, expand) : null;
    if (reading !== null) {
      written += ` ${reading.spoken} `;
      at = reading.next;
      continue;
    }
    const rest = (ordinary ?? matchAt(PLAIN_WORD, text, at))?.[0] ?? text[at]!;
    if (rest === "\n") written += lineEnd(text, at);
    else if (rest === "·") written += ", ";
    else if (PAUSES.has(rest) || LETTER.test(rest)) written += rest;
    else {
      written += " ";
      droppedCharacters++;
    }
    at += rest.length;
  }
  const spoken = tidy(written);
  return { spoken: hasLetter(spoken) ? spoken : "", droppedCharacters };
}

function read(text: string, at: number, expand: boolean): Reading | null {
  const character = text[at]!;
  if (character === " " || character === ",") return null;
  const rules = LETTER.test(character)
    ? expand
      ? WORD_RULES
      : WORD_RULES_PLAIN
    : !expand
      ? SIGN_RULES_PLAIN
      : character >= "0" && character <= "9"
        ? DIGIT_RULES
        : SIGN_RULES;
  for (const rule of rules) {
    const reading = rule(text, at);
    if (reading !== null) return reading;
  }
  return null;
}

/** A line that ends without a mark ends a sentence, unless the next goes on in lower case. */
function lineEnd(text: string, at: number): string {
  const next = text.slice(at).trimStart();
  const goesOn = !text.slice(at).startsWith("\n\n") && /^[\p{Ll}]/u.test(next);
  return goesOn ? " " : ". ";
}

function hasLetter(spoken: string): boolean {
  for (const character of spoken) if (KAZAKH_LETTERS.includes(character)) return true;
  return false;
}
