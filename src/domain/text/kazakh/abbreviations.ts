import { LOWER, spelledByLetters, UPPER } from "./letters.js";
import { matchAt, patternRule, type Reading, type Rule, WORD_END } from "./reading.js";

/**
 * Abbreviations that may end a sentence, with their dot.
 *
 * Source of all tables here: abbreviation rows of facts-kk.tsv (common usage); Russian ones are read in Russian.
 */
const CLOSING: Readonly<Record<string, string>> = {
  "б.з.б.": "біздің заманымыздан бұрын",
  "б.з.д.": "біздің заманымызға дейін",
  "б.з.": "біздің заманымыз",
  "т.б.": "тағы басқа",
  "т.с.с.": "тағы сол сияқты",
  "т.т.": "тағы тағы",
  "с.с.": "сол сияқты",
  "т.д.": "так далее",
  "т.п.": "тому подобное",
};

/** Abbreviations that something follows, a name mostly. */
const OPENING: Readonly<Record<string, string>> = {
  "мыс.": "мысалы",
  "қар.": "қараңыз",
  "сал.": "салыстырыңыз",
  "сағ.": "сағат",
  "т.ғ.д.": "тарих ғылымдарының докторы",
  "т.ғ.к.": "тарих ғылымдарының кандидаты",
  "ф.ғ.д.": "филология ғылымдарының докторы",
  "ф.ғ.к.": "филология ғылымдарының кандидаты",
  "э.ғ.д.": "экономика ғылымдарының докторы",
  "э.ғ.к.": "экономика ғылымдарының кандидаты",
  "з.ғ.д.": "заң ғылымдарының докторы",
  "з.ғ.к.": "заң ғылымдарының кандидаты",
  "п.ғ.д.": "педагогика ғылымдарының докторы",
  "п.ғ.к.": "педагогика ғылымдарының кандидаты",
  "т.е.": "то есть",
  "т.к.": "так как",
  "тел.": "телефон",
  "проф.": "профессор",
  "акад.": "академик",
  "ред.": "редактор",
  "пәт.": "пәтер",
};

/** Kinds of places: plain before a name, possessive after one ("Алматы қ." is "алматы қаласы"). */
const PLACES: Readonly<Record<string, readonly [plain: string, afterName: string]>> = {
  "қ.": ["қала", "қаласы"],
  "обл.": ["облыс", "облысы"],
  "ауд.": ["аудан", "ауданы"],
  "а.": ["ауыл", "ауылы"],
  "көш.": ["көше", "көшесі"],
  "даң.": ["даңғыл", "даңғылы"],
  "респ.": ["республика", "республикасы"],
  "мкр.": ["мөлтек аудан", "мөлтек ауданы"],
  "ш.а.": ["шағын аудан", "шағын ауданы"],
};

const AFTER_NUMBERS: Readonly<Record<string, string>> = {
  "ғ.": "ғасыр",
  "ғғ.": "ғасырлар",
  "б.": "бет",
  "бб.": "беттер",
  "т.": "том",
};
const SCALES: Readonly<Record<string, string>> = { млн: "миллион", млрд: "миллиард", трлн: "триллион" };

const BEFORE_DOT = `(?<![${LOWER}${UPPER}])`;
const CAPITAL_WORD_BEFORE = new RegExp(`[${UPPER}][${LOWER}-]+ $`, "u");
const TEXT_END = /^[ \t]*(?:$|\n)/u;
/** A Roman numeral goes on: "б.з.б. V ғасыр". */
const SENTENCE_END = /^\s*(?:$|\n|(?![IVXІХ]+[ -])\p{Lu})/u;
const NUMBER_BEFORE = /(?:\d|[IVXІХҮ]) ?$/u;

/** "А. Байтұрсынұлы", "Қ.К. Тоқаев": initials by letter name, without a full stop. */
export const initialRule: Rule = patternRule(
  `${BEFORE_DOT}([${UPPER}])\\. ?(?=[${UPPER}](?:[${LOWER}]{2}|\\.))`,
  (match) => `${spelledByLetters(match[1]!.toLowerCase())} `,
);

export const closingRule: Rule = dotted(CLOSING, SENTENCE_END, (written) => CLOSING[written]!);
/** Without its last dot: "т.б" */
export const undottedRule: Rule = patternRule(`${BEFORE_DOT}т\\. ?б(?![\\p{L}\\p{M}.])`, () => "тағы басқа");
export const openingRule: Rule = dotted(OPENING, TEXT_END, (written) => OPENING[written]!);
export const placeRule: Rule = dotted(PLACES, TEXT_END, (written, before) => {
  const [plain, afterName] = PLACES[written]!;
  if (CAPITAL_WORD_BEFORE.test(before)) return afterName;
  // Lower-case "а." is also the end of a sentence: without a name nearby it stays a word.
  return written.length > 2 ? plain : null;
});
export const afterNumberRule: Rule = dotted(AFTER_NUMBERS, SENTENCE_END, (written, before) =>
  NUMBER_BEFORE.test(before) ? AFTER_NUMBERS[written]! : null,
);
export const scaleRule: Rule = patternRule(`(млн|млрд|трлн)\\.?${WORD_END}`, (match) => SCALES[match[1]!]!);

/** Every abbreviation with a dot, as a pattern in lower case. */
export const DOTTED_SOURCE = dottedSource({ ...CLOSING, ...OPENING, ...PLACES, ...AFTER_NUMBERS });

/**
 * A rule for abbreviations with dots. Spaces after inner dots are allowed, and a capital where a sentence begins. The last
 * dot stays when the sentence ends there.
 */
function dotted(
  table: Readonly<Record<string, unknown>>,
  sentenceEnd: RegExp,
  read: (written: string, before: string) => string | null,
): Rule {
  const pattern = new RegExp(`${BEFORE_DOT}(?:${dottedSource(table)})`, "yui");
  return (text: string, at: number): Reading | null => {
    const match = matchAt(pattern, text, at);
    if (match === null) return null;
    const written = canonical(match[0]);
    if (!Object.hasOwn(table, written) || isInitial(match[0])) return null;
    const spoken = read(written, text.slice(Math.max(0, at - 40), at));
    if (spoken === null) return null;
    const end = at + match[0].length;
    const isSentenceEnd = sentenceEnd.test(text.slice(end, end + 8));
    return { spoken: isSentenceEnd ? `${spoken}.` : spoken, next: end };
  };
}

function dottedSource(table: Readonly<Record<string, unknown>>): string {
  return Object.keys(table)
    .toSorted((a, b) => b.length - a.length)
    .map((key) => key.replace(/\.(?=\S)/g, "\\. ?").replace(/\.$/, "\\."))
    .join("|");
}

function canonical(written: string): string {
  return written.toLowerCase().replace(/\. /g, ".");
}

/** One capital and a dot is an initial or the end of a sentence. */
function isInitial(written: string): boolean {
  return written.length === 2 && written !== written.toLowerCase();
}
