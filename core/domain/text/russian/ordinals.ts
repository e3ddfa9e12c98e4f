import { matchAt } from "../kazakh/reading.js";
import { casesBefore, chosen, wordsAfter } from "./agreement.js";
import { allGrammars, CASES, type Case, countClass, type Gender, type Grammar } from "./declension.js";
import { type Found, fixed, type Rule } from "./found.js";
import { type KnownForm, knownFormsOf, MONTHS } from "./nouns.js";
import { cardinal, compounding, LARGEST, ordinal } from "./numerals.js";

const END = "(?![\\p{L}\\p{M}])";
/** An ending after digits: "5-й", "13-ый", "3х", "70-ти"; "5м" are metres. */
const ENDED = new RegExp(
  `(?:(\\d{1,4})[ \\u00a0]?(?:--?|[–—])[ \\u00a0]?)?(\\d{1,15})(?:-(?=м)|-?(?!м${END}))(й|го|му|м|я|е|ю|х|ми|и|ый|ий|ой|ая|ое|ые|ого|его|ому|ым|им|ом|ем|ую|ых|их|ыми|ти|ми|ух|ёх|ех|мя|тью|ью)${END}`,
  "yu",
);
/** Endings that only cardinals have; "2-х" is "двух", but "90-х" is the nineties. */
const CARDINAL_ENDING = /^(?:ти|ух|ёх|ех|мя|тью|ью)$/;
const COMPOUND = /(\d{1,3}|\d000)(?:[- ]?%-?|-?(?:х-|ти-|и-)?)(\p{Ll}{3,30})/uy;
const PERCENT_COMPOUND = /^н(?:ый|ая|ое|ые|ого|ой|ому|ую|ым|ом|ых|ыми)$/;
/** A percentage with an ending: "5%-й". */
const PERCENT_ENDED = new RegExp(`(\\d{1,3}) ?%-(й|го|му|м|я|ю|е|х|ми)${END}`, "yu");
const FULL_ENDINGS: Readonly<Record<string, string>> = {
  й: "ый",
  го: "ого",
  му: "ому",
  м: "ым",
  я: "ая",
  ю: "ую",
  е: "ое",
  х: "ых",
  ми: "ыми",
};
/** Parts joined to a number in one word. */
export const REST_OF_COMPOUND =
  /^(?:лет|дневн|недельн|месячн|часов|минутн|секундн|годичн|кратн|этажн|комнатн|местн|процентн|метров|километров|сантиметров|миллиметров|литров|тонн|килограмм|граммов|градусн|рублев|тысячн|миллионн|миллиардн|страничн|значн|угольн|цилиндров|клапанн|ступенчат|сторонн|слойн|разов|серийн|томн|актн|осн|звёздочн|звездочн|балльн|бальн|очков|классн|проводн|канальн|ядерн|битн|миллионник|тонник|ваттн|мильн|вёрстн|верстн|пудов|фунтов|дюймов|колёсн|колесн|местк|полосн|дверн|мерн|фазн|вольтов|сильн|главн|частн|членн|футов|точечн|шагов)\p{Ll}*$/u;

/** Reads "5-й класс", "к 25-му числу", "15-ти лет". */
export const endedRule: Rule = (text, at) => {
  const match = matchAt(ENDED, text, at);
  if (match === null) return null;
  const [, earlier, digits = "", ending = ""] = match;
  const value = Number(digits);
  const next = at + match[0].length;
  const isSmall = ending === "х" && value >= 2 && value <= 4;
  if (CARDINAL_ENDING.test(ending) || isSmall) {
    return earlier === undefined ? endedCardinal(text, at, next, value, ending) : null;
  }
  const options = formsWith(ending, value);
  if (options.length === 0) return null;
  const words = wordsAfter(text, next, 2);
  const grammar = chosen(casesBefore(text, at), agreeing(options, words));
  return {
    next,
    grammar: isAmong(options, grammar) ? grammar : options[0]!,
    say: (asked) => {
      if (!isAmong(options, asked)) return null;
      return `${earlier === undefined ? "" : `${ordinal(Number(earlier), asked)} — `}${ordinal(value, asked)}`;
    },
  };
};

function endedCardinal(text: string, at: number, next: number, value: number, ending: string): Found {
  const isInstrumental = /ью$|мя$/.test(ending);
  const cases: Case[] = isInstrumental
    ? ["instrumental"]
    : ["genitive", "prepositional", "dative", "accusative"];
  const before = casesBefore(text, at);
  const of = before?.find((candidate) => cases.includes(candidate)) ?? cases[0]!;
  const grammar: Grammar = { case: of, gender: "masculine", isAnimate: of === "accusative" };
  return {
    next,
    // "На 70-ти" has no accusative ending: it is prepositional.
    grammar: of === "accusative" && value > 4 ? { ...grammar, case: "prepositional" } : grammar,
    say: (asked) => cardinal(value, asked),
  };
}

/** Returns the cases and genders of an ordinal with this written ending; of "2-ый" the last letter counts. */
function formsWith(ending: string, value: number): Grammar[] {
  const grammars = allGrammars();
  const exact = grammars.filter((grammar) => ordinal(value, grammar).endsWith(ending));
  if (exact.length > 0) return exact;
  return grammars.filter((grammar) => ordinal(value, grammar).endsWith(ending.slice(-1)));
}

function isAmong(options: readonly Grammar[], { case: of, gender, isAnimate }: Grammar): boolean {
  return options.some(
    (option) =>
      option.case === of &&
      option.gender === gender &&
      (of !== "accusative" || option.isAnimate === isAnimate),
  );
}

/** Returns the options that agree with the following noun or its adjective; all options if none does. */
function agreeing(options: readonly Grammar[], words: readonly string[]): readonly Grammar[] {
  // "8-е марта" is a day.
  if (MONTHS.includes(words[0] ?? "")) return options.filter(({ gender }) => gender === "neuter");
  for (const word of words) {
    const known = knownFormsOf(word);
    const fitting = options.filter((option) =>
      known.length > 0 ? known.some((form) => fits(option, form)) : looksLike(option, word),
    );
    if (fitting.length > 0) return fitting;
  }
  return options;
}

function fits(option: Grammar, { noun, isPlural, case: of }: KnownForm): boolean {
  return option.case === of && option.gender === (isPlural ? "plural" : noun.gender);
}

/** Endings of nouns and adjectives by gender, case by case. */
const LOOKS: Readonly<Record<Gender, readonly RegExp[]>> = {
  masculine: [
    /[^аеиоуыэюяё]$|[ыи]й$/,
    /[ая]$|[ое]го$/,
    /[ую]$|[ое]му$/,
    /[^аеиоуыэюяё]$|[ыи]й$|[ая]$|[ое]го$/,
    /[оеё]м$|[ыи]м$/,
    /е$|[ое]м$/,
  ],
  feminine: [/[аяь]$/, /[ыи]$|[ое]й$/, /[еи]$|[ое]й$/, /[уюь]$/, /[оеё]й$|ью$/, /[еи]$|[ое]й$/],
  neuter: [/[оеё]$/, /[ая]$|[ое]го$/, /[ую]$|[ое]му$/, /[оеё]$/, /[оеё]м$|[ыи]м$/, /[еи]$|[ое]м$/],
  plural: [/[ыиая]$|[ыи]е$/, /[ое]в$|ей$|[ыи]х$/, /[ая]м$|[ыи]м$/, /[ыиая]$|[ыи]е$/, /ми$/, /[аяыи]х$/],
};

function looksLike({ case: of, gender }: Grammar, word: string): boolean {
  return LOOKS[gender][CASES.indexOf(of)]!.test(word);
}

/** Reads "35-летний", "10%-ный", "3-комнатная". */
export const compoundRule: Rule = (text, at) => {
  const ended = matchAt(PERCENT_ENDED, text, at);
  if (ended !== null && Number(ended[1]) > 0) {
    return fixed(`${compounding(Number(ended[1]))}процентн${FULL_ENDINGS[ended[2]!]}`, at + ended[0].length);
  }
  const match = matchAt(COMPOUND, text, at);
  if (match === null) return null;
  const [written, digits = "", rest = ""] = match;
  const isPercent = written.includes("%") && PERCENT_COMPOUND.test(rest);
  if (!isPercent && (written.includes("%") || !REST_OF_COMPOUND.test(rest))) return null;
  // "5 лет" without a hyphen is counted.
  if (rest === "лет" || rest === "часов" || rest === "тонн") return null;
  const value = Number(digits);
  if (value === 0) return null;
  return fixed(compounding(value) + (isPercent ? "процент" : "") + rest, at + written.length);
};

const NUMBERED = /\d{1,4}(?![\d.,:]{0,20}\d)/y;
/** From this number on, a year is an ordinal regardless of the form of "год". */
const FIRST_YEAR = 1_000;
const LAST_YEAR = 2_100;

/** Reads ordinals before a noun that is not in a counting form: "в 2005 году", "10 числа", "19 век". */
export const numberedNounRule: Rule = (text, at) => {
  const match = matchAt(NUMBERED, text, at);
  if (match === null) return null;
  const next = at + match[0].length;
  const value = Number(match[0]);
  const [word = ""] = wordsAfter(text, next, 1);
  const forms = knownFormsOf(word).filter((form) => isNumbered(form, value, word));
  if (forms.length === 0 || value === 0 || value > LARGEST) return null;
  const options = forms.map(({ noun, case: of }) => ({ case: of, gender: noun.gender }));
  return { next, grammar: chosen(casesBefore(text, at), options), say: (asked) => ordinal(value, asked) };
};

function isNumbered({ use, isPlural, case: of, noun }: KnownForm, value: number, word: string): boolean {
  if (use === "counted" || isPlural) return false;
  if (/^год/.test(word) && value >= FIRST_YEAR && value <= LAST_YEAR) return true;
  const counts = countClass(value);
  if (counts === "many") return true;
  // "2 века" are two, "2 числа" is the second.
  if (counts === "few") return noun.singular[1] !== word || (of === "genitive" && /^числ/.test(word));
  return use === "numbered" || /^(?:мест|году$|часу$)/.test(word);
}
