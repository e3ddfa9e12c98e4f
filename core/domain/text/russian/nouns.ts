import { CASES, type Case, declined, irregular, type Noun, unchanging } from "./declension.js";
import { SCALES } from "./numerals.js";

const PERSON = irregular(
  "masculine",
  "человек человека человеку человека человеком человеке люди человек человекам человек людьми людях",
  true,
);
export const YEAR = irregular("masculine", "год года году год годом году годы лет годам годы годами годах");
export const PERCENT = declined("masculine hard", "процент");
export const PER_MILLE = irregular("feminine", "промилле ".repeat(12).trim());
export const DEGREE = declined("masculine hard", "градус");
export const HOUR = declined("masculine hard", "час");
export const MINUTE = declined("feminine hard", "минут");
export const SECOND = declined("feminine hard", "секунд");
export const CENTURY = irregular(
  "masculine",
  "век века веку век веком веке века веков векам века веками веках",
);
export const ROUBLE = declined("masculine ь", "рубл");
export const KOPECK = irregular(
  "feminine",
  "копейка копейки копейке копейку копейкой копейке копейки копеек копейкам копейки копейками копейках",
);
export const TENGE = unchanging("masculine", "тенге");
export const TIYN = declined("masculine hard", "тиын");
export const DOLLAR = declined("masculine hard", "доллар");
export const CENT = declined("masculine hard", "цент");
export const EURO = unchanging("masculine", "евро");
export const POUND = declined("masculine hard", "фунт");
export const YUAN = declined("masculine ь", "юан");
export const PIECE = declined("feminine к", "штук");
export const COPY = declined("masculine hard", "экземпляр");
export const GRAM = declined("masculine hard", "грамм");
export const METRE = declined("masculine hard", "метр");
export const KILOMETRE = declined("masculine hard", "километр");
export const TONNE = declined("feminine hard", "тонн");
export const LITRE = declined("masculine hard", "литр");
export const HECTARE = declined("masculine hard", "гектар");
export { PERSON };

/** Nouns that are numbered more often than counted: "19 век", "5 класс", "10 числа". */
const NUMBERED: readonly Noun[] = [
  CENTURY,
  declined("masculine hard", "класс"),
  declined("masculine ж", "этаж"),
  declined("masculine hard", "курс"),
  irregular("neuter", "число числа числу число числом числе числа чисел числам числа числами числах"),
  irregular(
    "neuter",
    "столетие столетия столетию столетие столетием столетии столетия столетий столетиям столетия столетиями столетиях",
  ),
  declined("masculine hard", "микрорайон"),
  declined("masculine hard", "квартал"),
  declined("masculine hard", "съезд"),
  declined("feminine ь", "степен"),
];
/** Nouns that are counted, or numbered if their form allows nothing else: "2005 год", "в 8 часу". */
const COUNTED_OR_NUMBERED: readonly Noun[] = [
  YEAR,
  { ...HOUR, singular: ["час", "часа", "часу", "час", "часом", "часу"] },
  irregular("masculine", "день дня дню день днём дне дни дней дням дни днями днях"),
  declined("masculine ц", "месяц"),
  declined("neuter hard", "мест"),
  declined("masculine hard", "тур"),
  declined("masculine hard", "сезон"),
  declined("feminine hard", "минут"),
  irregular("feminine", "глава главы главе главу главой главе главы глав главам главы главами главах"),
];
const COUNTED: readonly Noun[] = [
  ...SCALES.map(([, noun]) => noun),
  PERSON,
  PERCENT,
  HOUR,
  SECOND,
  ROUBLE,
  KOPECK,
  TENGE,
  DOLLAR,
  CENT,
  EURO,
  POUND,
  PIECE,
  GRAM,
  METRE,
  TONNE,
  LITRE,
  HECTARE,
  DEGREE,
  KILOMETRE,
  declined("masculine hard", "килограмм"),
  declined("masculine hard", "сантиметр"),
  declined("masculine hard", "миллиметр"),
  declined("masculine hard", "балл"),
  declined("masculine hard", "город"),
  irregular("masculine", "раз раза разу раз разом разе разы раз разам разы разами разах"),
  declined("feminine я", "недел"),
  declined("feminine к", "книг"),
  declined("feminine ц", "страниц"),
  declined("feminine hard", "стран"),
  declined("feminine hard", "школ"),
  declined("feminine hard", "квартир"),
  declined("feminine ь", "част"),
  irregular(
    "feminine",
    "статья статьи статье статью статьёй статье статьи статей статьям статьи статьями статьях",
  ),
  irregular("feminine", "ночь ночи ночи ночь ночью ночи ночи ночей ночам ночи ночами ночах"),
  irregular("neuter", "слово слова слову слово словом слове слова слов словам слова словами словах"),
  irregular("neuter", "дело дела делу дело делом деле дела дел делам дела делами делах"),
  irregular("neuter", "очко очка очку очко очком очке очки очков очкам очки очками очках"),
  irregular(
    "masculine",
    "ребёнок ребёнка ребёнку ребёнка ребёнком ребёнке дети детей детям детей детьми детях",
    true,
  ),
  irregular(
    "masculine",
    "ученик ученика ученику ученика учеником ученике ученики учеников ученикам учеников учениками учениках",
    true,
  ),
];

/** A form of a noun in the tables. */
export interface KnownForm {
  readonly noun: Noun;
  readonly isPlural: boolean;
  readonly case: Case;
  readonly use: "counted" | "numbered" | "either";
}

const KNOWN_FORMS = knownForms();

/** Returns the cases and numbers that a lower-case word can be in; none for a word outside the tables. */
export function knownFormsOf(word: string): readonly KnownForm[] {
  return KNOWN_FORMS.get(word.replaceAll("ё", "е")) ?? [];
}

function knownForms(): ReadonlyMap<string, readonly KnownForm[]> {
  const known = new Map<string, KnownForm[]>();
  const add = (nouns: readonly Noun[], use: KnownForm["use"]) => {
    for (const noun of nouns) {
      for (const [index, of] of CASES.entries()) {
        for (const isPlural of [false, true]) {
          const form = (isPlural ? noun.plural : noun.singular)[index]!.replaceAll("ё", "е");
          const forms = known.get(form) ?? [];
          forms.push({ noun, isPlural, case: of, use });
          known.set(form, forms);
        }
      }
    }
  };
  add(NUMBERED, "numbered");
  add(COUNTED_OR_NUMBERED, "either");
  add(COUNTED, "counted");
  return known;
}

const MONTH_STEMS = "январ феврал март апрел ма июн июл август сентябр октябр ноябр декабр".split(" ");

/** Months in the genitive: "15 марта". */
export const MONTHS: readonly string[] = MONTH_STEMS.map(
  (stem) => stem + (/[тр]$|уст$/.test(stem) && !/бр$|вар$/.test(stem) ? "а" : "я"),
);
