import { matchAt } from "../kazakh/reading.js";
import { casesBefore } from "./agreement.js";
import { type Case, declined, inCase, irregular, type Noun } from "./declension.js";
import { endingIn, fixed, type Rule } from "./found.js";
import { PERSON, ROUBLE } from "./nouns.js";
import { SCALES } from "./numerals.js";

const GAP = "[ \\u00a0]?";
/** Abbreviations with one reading in any place, the longest first. */
const FIXED: readonly (readonly [source: string, spoken: string])[] = [
  [`до${GAP} н\\.${GAP}э\\.`, "до нашей эры"],
  [`н\\.${GAP}э\\.`, "нашей эры"],
  [`т\\.${GAP}е\\.`, "то есть"],
  [`т\\.${GAP}к\\.`, "так как"],
  [`т\\.${GAP}д\\.`, "так далее"],
  [`т\\.${GAP}п\\.`, "тому подобное"],
  [`т\\.${GAP}ч\\.`, "том числе"],
  ["др\\.", "другие"],
  ["пр\\.(?=\\s*$|\\s*[,;)])", "прочее"],
  ["напр\\.", "например"],
  ["им\\.(?= ?\\p{Lu})", "имени"],
  ["проф\\.", "профессор"],
  ["акад\\.", "академик"],
  ["см\\.", "смотри"],
  ["ср\\.", "сравни"],
  ["тел\\.", "телефон"],
  ["ок\\.(?= ?\\d)", "около"],
];
const NOUNS: readonly (readonly [source: string, noun: Noun])[] = [
  ["ул\\.", declined("feminine ц", "улиц")],
  ["просп\\.", declined("masculine hard", "проспект")],
  ["пр-т", declined("masculine hard", "проспект")],
  [`пр\\.(?=${GAP}\\p{Lu})`, declined("masculine hard", "проспект")],
  [
    `пер\\.(?=${GAP}\\p{Lu})`,
    irregular(
      "masculine",
      "переулок переулка переулку переулок переулком переулке переулки переулков переулкам переулки переулками переулках",
    ),
  ],
  [`пл\\.(?=${GAP}\\p{Lu})`, declined("feminine ь", "площад")],
  ["мкр\\.", declined("masculine hard", "микрорайон")],
  ["обл\\.", declined("feminine ь", "област")],
  ["р-н", declined("masculine hard", "район")],
  [`г\\.(?=${GAP}\\p{Lu}\\p{Ll})`, declined("masculine hard", "город")],
  [`д\\.(?=${GAP}\\d)`, declined("masculine hard", "дом")],
  [`кв\\.(?=${GAP}\\d)`, declined("feminine hard", "квартир")],
  [`корп\\.(?=${GAP}\\d)`, declined("masculine hard", "корпус")],
  [`стр\\.(?=${GAP}\\d)`, declined("feminine ц", "страниц")],
  [
    `рис\\.(?=${GAP}\\d)`,
    irregular(
      "masculine",
      "рисунок рисунка рисунку рисунок рисунком рисунке рисунки рисунков рисункам рисунки рисунками рисунках",
    ),
  ],
  [`табл\\.(?=${GAP}\\d)`, declined("feminine ц", "таблиц")],
  [`гл\\.(?=${GAP}\\d)`, declined("feminine hard", "глав")],
  [`п\\.(?=${GAP}\\d)`, declined("masculine hard", "пункт")],
  [
    `ст\\.(?=${GAP}\\d)`,
    irregular(
      "feminine",
      "статья статьи статье статью статьёй статье статьи статей статьям статьи статьями статьях",
    ),
  ],
  [`т\\.(?=${GAP}\\d)`, declined("masculine hard", "том")],
];
/** Abbreviations that count without a number: "несколько тыс. руб." */
const COUNTED: readonly (readonly [source: string, noun: Noun])[] = [
  ["тыс\\.", SCALES[3]![1]],
  ["млн\\.?", SCALES[2]![1]],
  ["млрд\\.?", SCALES[1]![1]],
  ["трлн\\.?", SCALES[0]![1]],
  ["руб\\.", ROUBLE],
  ["чел\\.", PERSON],
];

const FIXED_PATTERN = alternatives(FIXED);
const NOUN_PATTERN = alternatives(NOUNS);
const COUNTED_PATTERN = alternatives(COUNTED);

/** First letters of abbreviations, as a quick test before the patterns. */
export const ABBREVIATION_SOURCE =
  "(?:[дДнтТ]\\.|до н\\.|[Дд]о\\u00a0н\\.|[Дд]р\\.|пр[.-]|[Нн]апр\\.|им\\.|[Пп]роф\\.|[Аа]кад\\.|[Сс][мр]\\.|[Тт]ел\\.|ок\\.|[Уу]л\\.|[Пп]росп\\.|" +
  "[Пп]ер\\.|[Пп]л\\.|мкр\\.|обл\\.|р-н|[гГ]\\.|кв\\.|корп\\.|[Сс]тр\\.|[Рр]ис\\.|[Тт]абл\\.|[Гг]л\\.|[Пп]\\.|[Сс]т\\.|тыс\\.|млн|млрд|трлн|руб\\.|чел\\.)";

/** Reads "т.е.", "на ул. Абая", "стр. 5". */
export const abbreviationRule: Rule = (text, at) => {
  for (const { pattern, all, say } of KINDS) {
    const match = matchAt(pattern, text, at);
    if (match === null) continue;
    const index = match.slice(1).findIndex((group) => group !== undefined);
    const next = at + match[0].length;
    const said = say(all[index]![1], text, at);
    const isCapital = /^\p{Lu}/u.test(match[0]);
    const shown = isCapital ? said.charAt(0).toUpperCase() + said.slice(1) : said;
    return fixed(shown + endingIn(text, next), next);
  }
  return null;
};

/** Always, and before a number. */
const NEVER_LAST = /(?:^|[^\p{L}])(?:т\.?[ \u00a0]?[ек]|им|тел|ул|просп|проф|акад|напр|см|ср|ок)$/iu;
const BEFORE_NUMBER = /(?:^|[^\p{L}.][ \u00a0]?)(?:д|кв|корп|стр|рис|табл|гл|п|ст|т)$/iu;

/** Returns true if a dot belongs to an abbreviation after which the sentence continues: "т.е. 5", "д. 5". */
export function goesOnInRussian(before: string, after: string): boolean {
  if (/^\s*$/.test(after)) return false;
  return NEVER_LAST.test(before) || (/^\s?\d/.test(after) && BEFORE_NUMBER.test(before));
}

interface Kind {
  readonly pattern: RegExp;
  readonly all: readonly (readonly [string, string | Noun])[];
  readonly say: (found: string | Noun, text: string, at: number) => string;
}

const KINDS: readonly Kind[] = [
  { pattern: FIXED_PATTERN, all: FIXED, say: (spoken) => spoken as string },
  {
    pattern: NOUN_PATTERN,
    all: NOUNS,
    say: (noun, text, at) => inCase((noun as Noun).singular, caseOfPlace(text, at)),
  },
  { pattern: COUNTED_PATTERN, all: COUNTED, say: (noun) => inCase((noun as Noun).plural, "genitive") },
];

/** Returns the case of an address after "в" or "на": "в г. Алматы", "на ул. Абая". */
function caseOfPlace(text: string, at: number): Case {
  if (/(?:^|[^\p{L}])(?:во?|на)\s$/iu.test(text.slice(Math.max(0, at - 4), at))) return "prepositional";
  const cases = casesBefore(text, at);
  return cases?.includes("dative") ? "dative" : (cases?.[0] ?? "nominative");
}

function alternatives(all: readonly (readonly [source: string, unknown])[]): RegExp {
  // Not the flag i: with it \p{Lu} would match small letters.
  const sources = all.map(
    ([source]) => `([${source.charAt(0)}${source.charAt(0).toUpperCase()}]${source.slice(1)})`,
  );
  return new RegExp(`(?:${sources.join("|")})(?![\\p{L}\\p{M}])`, "yu");
}
