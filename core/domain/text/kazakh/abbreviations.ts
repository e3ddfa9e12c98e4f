import { LOWER, spelledByLetters, UPPER } from "./letters.js";
import { cardinal, ordinal } from "./numerals.js";
import { matchAt, patternRule, type Reading, type Rule, SENTENCE_STARTERS, WORD_END } from "./reading.js";
import { type GrammaticalCase, inCase, isEnding, withEnding } from "./suffixes.js";
import { wordTable } from "./word-table.js";

/**
 * Abbreviations that may end a sentence, with their dot.
 *
 * Source of all tables here: abbreviation rows of facts-kk.tsv (common usage); Russian ones are read in
 * Russian.
 */
const CLOSING = wordTable(`
б.з.б.: біздің заманымыздан бұрын; б.з.д.: біздің заманымызға дейін; б.з.: біздің заманымыз;
б.э.б.: біздің эрамыздан бұрын; б.э.д.: біздің эрамызға дейін; б.э.: біздің эрамыз;
б.д.б.: біздің дәуірімізден бұрын; б.д.д.: біздің дәуірімізге дейін; ж.с.б.: жыл санауымыздан бұрын;
ж.с.д.: жыл санауымызға дейін; ж.т.с.с.: және тағы сол сияқты; ж.т.б.: және тағы басқа;
ж.т.т.: және тағы тағы; ж.с.с.: және сол сияқты; ж.о.о.: жоғары оқу орны; ж.б.: және басқа;
т.б.с.с.: тағы басқа сол сияқты; т.с.: тағы сондай; др.: другие; пр.: прочее; м.а.: міндетін атқарушы;
о.і.: оның ішінде; т.б.: тағы басқа; т.с.с.: тағы сол сияқты; т.т.: тағы тағы; тб.: тағы басқа; б.: басқа;
с.с.: сол сияқты; т.д.: так далее; т.п.: тому подобное
`);

/** Abbreviations before another word, mostly a name. */
const OPENING = wordTable(`
мыс.: мысалы; қар.: қараңыз; сал.: салыстырыңыз; сағ.: сағат; т.е.: то есть; т.к.: так как; тел.: телефон;
проф.: профессор; акад.: академик; ред.: редактор; пәт.: пәтер; etc.: эт цетера; p.s.: постскриптум;
долл.: доллар; доц.: доцент; инж.: инженер; ген.: генерал; полк.: полковник; лейт.: лейтенант;
дир.: директор; авт.: автор; атын.: атындағы; ред.басқ.: редакциясын басқарған; басқ.: басқарған;
құраст.: құрастырған; солт.: солтүстік; оңт.: оңтүстік; солт.-шығ.: солтүстік-шығыс;
солт.-бат.: солтүстік-батыс; оңт.-шығ.: оңтүстік-шығыс; оңт.-бат.: оңтүстік-батыс; шығ.: шығыс; бат.: батыс;
орт.: орта; мемл.: мемлекеттік; ұлт.: ұлттық; халықар.: халықаралық; ғыл.: ғылыми;
ғыл.-зерт.: ғылыми-зерттеу; экон.: экономикалық; әлеум.: әлеуметтік; мәд.: мәдени; әдеб.: әдебиет;
геогр.: географиялық; геол.: геологиялық; хим.: химиялық; физ.: физикалық; биол.: биологиялық;
матем.: математикалық; тех.: техникалық; техн.: техникалық; мед.: медициналық; пед.: педагогикалық;
филос.: философиялық; әск.: әскери; өнерк.: өнеркәсіп; еур.: еуропалық; лат.: латынша; грек.: грекше;
араб.: арабша; парс.: парсыша; ағылш.: ағылшынша; биікт.: биіктігі; ұз.: ұзындығы; тереңд.: тереңдігі;
төм.: төменгі; жоғ.: жоғарғы; шам.: шамамен; ат.: атындағы; а.ш.: ауыл шаруашылығы; ш.: шаруашылығы;
шар.: шаруашылығы; т.ж.: теміржол; ж.ш.с.: жауапкершілігі шектеулі серіктестік; т.н.: так называемый;
в т.ч.: в том числе; сур.: сурет; кес.: кесте; қос.: қосымша
`);

/** Kinds of places: plain before a name, possessive after one ("Алматы қ." is "алматы қаласы"). */
const PLACES = wordTable(`
қ.: қала, қаласы; обл.: облыс, облысы; ауд.: аудан, ауданы; а.: ауыл, ауылы; көш.: көше, көшесі;
даң.: даңғыл, даңғылы; даңғ.: даңғыл, даңғылы; дңғ.: даңғыл, даңғылы; к.: , көшесі; д.: , даңғылы;
пр.: проспект, проспектісі; просп.: проспект, проспектісі; окр.: округ, округі;
ауыл.окр.: ауылдық округ, ауылдық округі; ауылдық окр.: ауылдық округ, ауылдық округі;
респ.: республика, республикасы; мкр.: мөлтек аудан, мөлтек ауданы; ш.а.: шағын аудан, шағын ауданы;
ы.а.: ықшам аудан, ықшам ауданы; мөлт.ауд.: мөлтек аудан, мөлтек ауданы;
шағын ауд.: шағын аудан, шағын ауданы; ықшам ауд.: ықшам аудан, ықшам ауданы; өз.: өзен, өзені;
ст.: станса, стансасы
`);

const AFTER_NUMBERS = wordTable(`
ғ.: ғасыр; ғғ.: ғасырлар; ғ.ғ.: ғасырлар; б.: бет; бб.: беттер; т.: том; бет.: бет; с.е.: солтүстік ендік;
о.е.: оңтүстік ендік; ш.б.: шығыс бойлық
`);
/** Doctors and candidates of sciences by the field, in the genitive plural: "ф.-м.ғ.д.". */
const SCIENCES = wordTable(`
т: тарих; тар: тарих; ф: филология; фил: филология; филол: филология; филос: философия; э: экономика;
экон: экономика; з: заң; заң: заң; п: педагогика; пед: педагогика; пс: психология; псих: психология;
психол: психология; х: химия; хим: химия; б: биология; биол: биология; м: медицина; мед: медицина;
г: география; геогр: география; с: саяси; саяс: саяси; ә: әлеуметтану; әлеум: әлеуметтану; тех: техника;
техн: техника; вет: ветеринария; а-ш: ауыл шаруашылығы; а.ш: ауыл шаруашылығы; ф-м: физика-математика;
ф.-м: физика-математика; физ-мат: физика-математика; физ.-мат: физика-математика; г-м: геология-минералогия;
г.-м: геология-минералогия
`);
const DEGREES = wordTable(`
д.: докторы; д-ры: докторы; докт.: докторы; докторы: докторы; к.: кандидаты; канд.: кандидаты;
кандидаты: кандидаты
`);
const SCALES: Readonly<Record<string, string>> = { млн: "миллион", млрд: "миллиард", трлн: "триллион" };

const BEFORE_DOT = `(?<![${LOWER}${UPPER}])`;
/** A capitalized word before an abbreviated place: "Алматы қ.", "Тәуке хан даң." */
const CAPITAL_WORD_BEFORE = new RegExp(
  `[${UPPER}][${LOWER}-]+(?: (?:хан|батыр|би|ата|ана|ақын|жырау|сері|сал))? $`,
  "u",
);
const TEXT_END = /^[ \t]*(?:$|\n)/u;
/** A Roman numeral does not start a sentence: "б.з.б. V ғасыр". */
const SENTENCE_END = /^\s*(?:$|\n|(?![IVXІХ]+[ –—-])\p{Lu})/u;
/** "XIX ғ. Қазақстан": a name continues the sentence. */
const CENTURY_END = new RegExp(`^\\s*(?:$|\\n)|^ (?:${SENTENCE_STARTERS})(?!\\p{L})`, "u");
const NUMBER_BEFORE = /(?:\d|[IVXІХҮ]|\p{Ll}н?ш[ыі])[ -]?$/u;
const DEGREE_BEFORE = /[°′'] ?$/u;

/** Reads initials by letter name, without a full stop: "А. Байтұрсынұлы", "Қ.К. Тоқаев". */
export const initialRule: Rule = patternRule(
  `${BEFORE_DOT}(?:([${UPPER}])\\. ?(?=[${UPPER}](?:[${LOWER}]{2}|\\.))|([ABCEHIKMOPTX])\\. ?(?=[${UPPER}][${LOWER}]{2}))`,
  ([, letter, latin = ""]) =>
    `${spelledByLetters((letter ?? TYPED_INITIALS.get(latin) ?? latin).toLowerCase())} `,
);
/** Latin letters typed for Cyrillic ones: "I. Есенберлин". */
const TYPED_INITIALS = new Map([..."ABCEHIKMOPTX"].map((letter, i) => [letter, "АВСЕНІКМОРТХ"[i]!]));

export const closingRule: Rule = dotted(CLOSING, SENTENCE_END, (written, before, after) => {
  // These are Russian, and valid only after "and", because "пр." is also an avenue.
  if (/^[дп]р/.test(written) && !/(?:^|[^\p{L}])и $/iu.test(before)) return null;
  // Requires "and" before it ("және б.", "тағы б."): after a number it is a page.
  if (written === "б." && !AND_BEFORE.test(before)) return null;
  // In "б.з. V ғасырында" it is the owner of the century.
  const isOwner = written === "б.з." || written === "б.э.";
  return isOwner && ERA_OWNS.test(after) ? `${CLOSING[written]!}дың` : CLOSING[written]!;
});
const AND_BEFORE = /(?:^|[^\p{L}])(?:және|тағы) $/iu;
const ERA_OWNS =
  /^ (?:\d{1,4}|[IVXІХ]+)(?: ?[-–—] ?(?:\d{1,4}|[IVXІХ]+))?[ -]?(?:ғ\.|ғ-(?:лар)?ы|ғасырының?|ғасыры|ғасырын|жыл(?:ы|дары))/u;

/**
 * Abbreviations in a line of capitals: "ОҚУ, ЖАЗУ, Т.Б.", "Б.З.Д. II ҒАСЫР". "Т.Б. АХМЕТОВ" has initials
 * instead.
 */
const SHOUTED =
  /(?<![\p{L}\p{M}])(?:Б\. ?[ЗДЭ]\. ?[ДБ]\.(?= ?[\dIVXІХ])|(?:Ж\. ?)?Т\. ?Б\.(?=\s*(?:$|[,;:!?\n]))|(?:Ж\. ?)?Т\. ?С\. ?С\.(?=\s*(?:$|[,;:!?\n]))|Ж\. ?Б\.(?=\s*(?:$|[,;:!?\n])))/uy;
export const shoutedClosingRule: Rule = (text, at) => {
  const match = matchAt(SHOUTED, text, at);
  const before = text.slice(Math.max(0, at - 12), at);
  if (match === null || /\p{Ll}[^\p{L}]*$/u.test(before)) return null;
  // "АХМЕТОВ Т.Б." is a person.
  if (!match[0].startsWith("Б") && !/(?:[,;]|ЖӘНЕ) ?$/u.test(before)) return null;
  const next = at + match[0].length;
  const spoken = CLOSING[canonical(match[0])] ?? "";
  return { spoken: TEXT_END.test(text.slice(next, next + 8)) ? `${spoken}.` : spoken, next };
};

/** Abbreviations without their last dot: "т.б", "т. с. с". */
const UNDOTTED = new RegExp(
  `${BEFORE_DOT}(?:${dottedSource(CLOSING)
    .split("|")
    .filter((source) => !/^(?:др|пр|м|о|тб|б\\.$)/.test(source))
    .map((source) => source.slice(0, -2))
    .join("|")}|т\\. ?[дп])(?![\\p{L}\\p{M}.])`,
  "yui",
);
export const undottedRule: Rule = (text, at) => {
  const match = matchAt(UNDOTTED, text, at);
  if (match === null) return null;
  // "Ф.Т.Б" consists of initials or letters.
  if (/\p{Lu}\. ?\p{Lu}/u.test(match[0])) return null;
  const written = `${canonical(match[0])}.`;
  return withHyphen(CLOSING[written] ?? "", text, at + match[0].length);
};

const DEGREE = new RegExp(
  `${BEFORE_DOT}(${dottedSource(SCIENCES)})\\. ?ғ(?:\\.|ыл\\.?) ?(${dottedSource(DEGREES)})${WORD_END}`,
  "yui",
);
export const degreeRule: Rule = (text, at) => {
  const match = matchAt(DEGREE, text, at);
  if (match === null) return null;
  const [written, science = "", degree = ""] = match;
  const spoken = `${SCIENCES[canonical(science)] ?? ""} ғылымдарының ${DEGREES[canonical(degree)] ?? ""}`;
  const end = at + written.length;
  return { spoken: TEXT_END.test(text.slice(end, end + 8)) ? `${spoken}.` : spoken, next: end };
};

export const openingRule: Rule = dotted(OPENING, TEXT_END, (written, before, after) => {
  // "Аудан орт." is a district's centre, "ауыл ш." is agriculture.
  if (written === "орт." && /(?:ауд\.|обл\.|аудан|облыс|қала) ?$/iu.test(before)) return "орталығы";
  if (written === "ш." || written === "шар.") return /ауыл $/iu.test(before) ? OPENING[written]! : null;
  if (written === "ат." && !(CAPITAL_WORD_BEFORE.test(before) && INSTITUTION.test(after))) return null;
  if (written === "басқ." && AND_BEFORE.test(before)) return "басқа";
  if (written === "жоғ." && /^ ?(?:оқу|білім|сынып|мектеп)/u.test(after)) return "жоғары";
  return WORDS_TOO.has(written) && !GOES_ON.test(after) ? null : OPENING[written]!;
});
/**
 * An institution after "ат.", as in "Абай ат. ҚазҰПУ"; elsewhere "ат" is a horse at the end of a sentence.
 */
const INSTITUTION =
  /^ ?(?:Қаз\p{Lu}|\p{Lu}{2}|мектеп|мемл|театр|ун-т|ин-т|унив|инст|кітапхана|колледж|гимназия|лицей)/u;
/** Abbreviations that are also words and can end a sentence: they count only where the sentence continues. */
const WORDS_TOO = new Set("атын. қос. кес. бат. шам. ұлт. орт. шығ. авт. мед. сур.".split(" "));
const GOES_ON = /^ ?[\p{Ll}\d]/u;
export const placeRule: Rule = dotted(PLACES, TEXT_END, (written, before, after) => {
  const [plain = "", afterName = ""] = PLACES[written]!.split(", ");
  // One letter is a street or an avenue only before a house number: "Абай к., 15".
  if (plain === "") return STREET_BEFORE.test(before) && HOUSE.test(after) ? afterName : null;
  // "ст." is also an old man, "өз." is also "own".
  if (/^(?:ст|өз)/.test(written) && !CAPITAL_WORD_BEFORE.test(before)) return null;
  if (CAPITAL_WORD_BEFORE.test(before)) return afterName;
  if (written === "окр." && /[дт](?:ық|ік) $/u.test(before)) return afterName;
  // "а." may also be the end of a sentence: without a name before it, it stays a word.
  return written.length > 2 ? plain : null;
});
/** A street's name before its abbreviation: "Абай к.", "Жібек жолы к." */
const STREET_BEFORE = new RegExp(`[${UPPER}][${LOWER}-]+(?: [${LOWER}]{2,12})? $`, "u");
const HOUSE = /^,? ?(?:№ ?)?\d/u;
export const afterNumberRule: Rule = dotted(AFTER_NUMBERS, SENTENCE_END, (written, before, after) => {
  const isDegrees = (written.length === 4 && written.endsWith("е.")) || written === "ш.б.";
  if (!(isDegrees ? DEGREE_BEFORE : NUMBER_BEFORE).test(before)) return null;
  if (written.startsWith("ғ")) {
    const century =
      written === "ғ." && ERA_OWNER_BEFORE.test(before)
        ? "ғасыры"
        : AFTER_NUMBERS[written]! + timeCase(AFTER_NUMBERS[written]!, after);
    return CENTURY_END.test(after) ? `${century}.` : century;
  }
  return AFTER_NUMBERS[written]!;
});
/** Reads "3 т., 150 б.": a volume before pages, otherwise tonnes. */
export const volumeRule: Rule = patternRule(
  "(\\d{1,3})[- ]?т\\.(?=,? ?\\d{1,4}(?:[-–]\\d{1,4})?[- ]?(?:бб?\\.|бет))",
  ([, digits = ""]) => `${ordinal(cardinal(digits))} том`,
);

/** Returns the case ending that the next words require of a year or century: "XIX ғ. дейін". */
export function timeCase(name: string, after: string): string {
  const found = TIME_CASES.find(([pattern]) => pattern.test(after));
  return found === undefined ? "" : inCase(name, found[1]).slice(name.length);
}
const TIME_CASES: readonly (readonly [RegExp, GrammaticalCase])[] = [
  [/^ ?(?:бастап|бері|кейін|соң|бұрын)(?!\p{L})/u, "ablative"],
  [/^ ?(?:дейін|шейін|қарай|таман)(?!\p{L})/u, "dative"],
  [
    /^ ?(?:(?:бірінші|екінші|соңғы|алғашқы|үшінші|төртінші|[12ІIV]+)[ -](?:жарты|ширег|тоқсан|онжылд)|\d0(?:[–-]\d0)?-)/u,
    "genitive",
  ],
];
const ERA_OWNER_BEFORE = /(?:^|[^\p{L}])б\. ?[зэ]\. (?:\d{1,4}|[IVXІХ]+) ?$/iu;
/** Matches "ғ-дың" and "ғ-лардағы" after a number, and "ХV ғ" without a dot. */
const CENTURY = new RegExp(`(ғ|ғғ)(?:-([${LOWER}]+)${WORD_END}|(?= (?:\\p{Ll}|$)|[,;)]|$))`, "yu");
export const centuryMarkRule: Rule = (text, at) => {
  const match = matchAt(CENTURY, text, at);
  if (match === null || !NUMBER_BEFORE.test(text.slice(Math.max(0, at - 8), at))) return null;
  const [written, mark, ending] = match;
  if (ending !== undefined && !isEnding(ending)) return null;
  const spoken = mark === "ғ" ? "ғасыр" : "ғасырлар";
  return { spoken: ending === undefined ? spoken : withEnding(spoken, ending), next: at + written.length };
};
export const scaleRule: Rule = (text, at) => {
  const match = matchAt(SCALE, text, at);
  return match === null ? null : withHyphen(SCALES[match[1]!]!, text, at + match[0].length);
};
const SCALE = new RegExp(`(млн|млрд|трлн)\\.?${WORD_END}`, "yu");
const HYPHENATED = new RegExp(`-([${LOWER}]+)${WORD_END}`, "yu");

/** Adds an ending after a hyphen: "т.б.-дан", "млн-даған". */
function withHyphen(spoken: string, text: string, end: number): Reading {
  const ending = matchAt(HYPHENATED, text, end);
  if (ending === null || !isEnding(ending[1]!)) return { spoken, next: end };
  return { spoken: withEnding(spoken, ending[1]!), next: end + ending[0].length };
}

/** Source of a pattern for every abbreviation with a dot, in lower case. */
export const DOTTED_SOURCE = dottedSource({ ...CLOSING, ...OPENING, ...PLACES, ...AFTER_NUMBERS });

/** First letters of all abbreviations. */
export const ABBREVIATION_HEADS: ReadonlySet<string> = new Set(
  [CLOSING, OPENING, PLACES, AFTER_NUMBERS, SCIENCES, SCALES]
    .flatMap((table) => Object.keys(table))
    .map((key) => /^[а-яёәғқңөұүһі]+/u.exec(key)?.[0] ?? ""),
);

/**
 * Makes a rule for abbreviations with dots. Allows spaces after inner dots, and a capital at the start of a
 * sentence. Keeps the last dot where the sentence ends.
 */
function dotted(
  table: Readonly<Record<string, unknown>>,
  sentenceEnd: RegExp,
  read: (written: string, before: string, after: string) => string | null,
): Rule {
  // "ХІХғ." has no space after its numeral, which is checked later.
  const before = Object.hasOwn(table, "ғ.") ? `(?:(?<=[IVXІХ])|${BEFORE_DOT})` : BEFORE_DOT;
  const pattern = new RegExp(`${before}(?:${dottedSource(table)})`, "yui");
  return (text: string, at: number): Reading | null => {
    const match = matchAt(pattern, text, at);
    if (match === null) return null;
    const written = canonical(match[0]);
    if (!Object.hasOwn(table, written) || isInitial(match[0])) return null;
    const end = at + match[0].length;
    const spoken = read(written, text.slice(Math.max(0, at - 40), at), text.slice(end, end + 30));
    if (spoken === null) return null;
    const ended = withHyphen(spoken, text, end);
    const isSentenceEnd =
      !written.startsWith("ғ") && ended.next === end && sentenceEnd.test(text.slice(end, end + 8));
    return isSentenceEnd ? { spoken: `${spoken}.`, next: end } : ended;
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

/** A capital with a dot is an initial or the end of a sentence. */
function isInitial(written: string): boolean {
  return written.length === 2 && written !== written.toLowerCase();
}
