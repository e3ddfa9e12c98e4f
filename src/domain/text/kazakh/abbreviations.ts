import { hasVowel, LOWER, spelledByLetters, UPPER } from "./letters.js";
import { matchAt, patternRule, type Reading, type Rule, WORD_END } from "./reading.js";
import { isEnding, withEnding } from "./suffixes.js";

/** Source: abbreviation rows of facts-kk.tsv (common usage). */
const ACRONYMS: Readonly<Record<string, string>> = {
  ҚР: "қазақстан республикасы",
  АҚШ: "америка құрама штаттары",
  БҰҰ: "біріккен ұлттар ұйымы",
  ЕО: "еуропалық одақ",
  ЕАЭО: "еуразиялық экономикалық одақ",
  ТМД: "тәуелсіз мемлекеттер достастығы",
  ДДСҰ: "дүниежүзілік денсаулық сақтау ұйымы",
  ІІМ: "ішкі істер министрлігі",
  ІІД: "ішкі істер департаменті",
  ТЖМ: "төтенше жағдайлар министрлігі",
  БҒМ: "білім және ғылым министрлігі",
  ЖШС: "жауапкершілігі шектеулі серіктестік",
  АҚ: "акционерлік қоғам",
  ЖК: "жеке кәсіпкер",
  ЖСН: "жеке сәйкестендіру нөмірі",
  БСН: "бизнес-сәйкестендіру нөмірі",
  ХҚКО: "халыққа қызмет көрсету орталығы",
  ЖОО: "жоғары оқу орны",
  ҰБТ: "ұлттық бірыңғай тестілеу",
  БАҚ: "бұқаралық ақпарат құралдары",
  ЖІӨ: "жалпы ішкі өнім",
  АЕК: "айлық есептік көрсеткіш",
  ҚҚС: "қосылған құн салығы",
  КСРО: "кеңестік социалистік республикалар одағы",
  ҰОС: "ұлы отан соғысы",
  СІМ: "сыртқы істер министрлігі",
  ЖЭО: "жылу электр орталығы",
  АЭС: "атом электр стансасы",
};

/** Abbreviations that may end a sentence, with their dot. */
const CLOSING: Readonly<Record<string, string>> = {
  "б.з.б.": "біздің заманымыздан бұрын",
  "б.з.д.": "біздің заманымызға дейін",
  "б.з.": "біздің заманымыз",
  "т.б.": "тағы басқа",
  "т.с.с.": "тағы сол сияқты",
  "т.т.": "тағы тағы",
};

/** Abbreviations that something follows, a name mostly. */
const OPENING: Readonly<Record<string, string>> = {
  "мыс.": "мысалы",
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
};

const AFTER_NUMBERS: Readonly<Record<string, string>> = {
  "ғ.": "ғасыр",
  "ғғ.": "ғасырлар",
  "б.": "бет",
  "т.": "том",
};
const SCALES: Readonly<Record<string, string>> = { млн: "миллион", млрд: "миллиард", трлн: "триллион" };

const BEFORE_DOT = `(?<![${LOWER}${UPPER}])`;
const CAPITAL_WORD_BEFORE = new RegExp(`[${UPPER}][${LOWER}-]+ $`, "u");
const TEXT_END = /^[ \t]*(?:$|\n)/u;
const SENTENCE_END = /^\s*(?:$|\n|\p{Lu})/u;
const NUMBER_BEFORE = /(?:\d|[IVXІХҮ]) ?$/u;

/** Acronyms in capitals, with endings: "АҚШ-тың". Unknown ones are spelled when they have no vowel. */
export const acronymRule: Rule = patternRule(`([${UPPER}]{2,5})(?:-([${LOWER}]+))?${WORD_END}`, (match) => {
  const [, letters, ending] = match;
  const known = Object.hasOwn(ACRONYMS, letters!) ? ACRONYMS[letters!]! : null;
  if (known === null && hasVowel(letters!.toLowerCase())) return null;
  const spoken = known ?? spelledByLetters(letters!.toLowerCase());
  if (ending === undefined) return spoken;
  return isEnding(ending) ? withEnding(spoken, ending) : `${spoken} ${ending}`;
});

/** "А. Байтұрсынұлы", "Қ.К. Тоқаев": initials by letter name, without a full stop. */
export const initialRule: Rule = patternRule(
  `${BEFORE_DOT}([${UPPER}])\\. ?(?=[${UPPER}](?:[${LOWER}]{2}|\\.))`,
  (match) => `${spelledByLetters(match[1]!.toLowerCase())} `,
);

export const closingRule: Rule = dotted(CLOSING, SENTENCE_END, (written) => CLOSING[written]!);
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

/**
 * A rule for abbreviations with dots. Spaces after inner dots are allowed, and a capital where a sentence begins. The last
 * dot stays when the sentence ends there.
 */
function dotted(
  table: Readonly<Record<string, unknown>>,
  sentenceEnd: RegExp,
  read: (written: string, before: string) => string | null,
): Rule {
  const sources = Object.keys(table)
    .toSorted((a, b) => b.length - a.length)
    .map((key) => key.replace(/\.(?=.)/g, "\\. ?").replace(/\.$/, "\\."));
  const pattern = new RegExp(`${BEFORE_DOT}(?:${sources.join("|")})`, "yui");
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

function canonical(written: string): string {
  return written.toLowerCase().replace(/\. /g, ".");
}

/** One capital and a dot is an initial or the end of a sentence. */
function isInitial(written: string): boolean {
  return written.length === 2 && written !== written.toLowerCase();
}
