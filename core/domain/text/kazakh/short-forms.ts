import { LOWER, UPPER } from "./letters.js";
import { cardinal, ordinal } from "./numerals.js";
import { matchAt, patternRule, type Reading, type Rule, WORD_END } from "./reading.js";
import { isEnding, withEnding } from "./suffixes.js";
import { wordTable } from "./word-table.js";

/**
 * Words with a hyphen in place of their middle: "к-сі" is көшесі, "к-сінде" көшесінде.
 *
 * Each entry: first letters, last letters, the whole word. Endings after the last letters are kept, since
 * they agree with it. Source: abbreviations of Kazakh encyclopedias and of streets and offices in addresses.
 */
const CONTRACTIONS = `
к,көш сі көшесі; көш е көше; д,даң,даңғ,дң лы даңғылы; даң л даңғыл; қ сы қаласы; обл,об сы,лысы облысы; обл с облыс;
ауд ны ауданы; ауд н аудан; окр гі округі; м,мин,мин-лік,м-лік гі министрлігі; м,мин лігі министрлігі;
у,ун,унив,универ ті университеті; у,ун,унив т университет; ин,инс,инст ты,титуты институты; ин,инс,инст т институт;
з ты зауыты; з ды заводы; з т зауыт; з д завод; ф,фаб,фабр касы фабрикасы; ф,фаб,фабр ка фабрика;
ф,фак,фак-т ті факультеті; ф,фак т факультет; каф сы,расы кафедрасы; д,док,докт ры докторы; д,докт р доктор;
проф ры профессоры; дир,д-р,дирек ры директоры; дир р директор; ред,ред-р ры редакторы; 
деп,деп-т ті департаменті; деп т департамент; ком,к,к-т ті комитеті; ком т комитет; әк,әкім гі әкімдігі; басқ,б сы,масы басқармасы;
орт,о ғы,лығы орталығы; респ сы республикасы; мем,мемл т мемлекет; мем,мемл ті мемлекеті; мем,мемл тік мемлекеттік;
мект,м бі мектебі; мект п мектеп; кол,колл жі колледжі; г,газ ті газеті; г,газ т газет; ж,жур лы журналы; ж,жур л журнал;
б,басп сы баспасы; б ша бойынша; ж е және; т,темп,тем расы температурасы; т,темп,тем ра температура; ст,станц сы стансасы;
өн,ө сі өнеркәсібі; кәс ны кәсіпорны; кәсіп ны кәсіпорны; серік гі серіктестігі; к з колхоз; с з совхоз;
хал қы халқы; төр сы төрағасы; бас ғы бастығы;
орын ры орынбасары; орынб ры орынбасары; қызм рі қызметкері; мам ны маманы;
өз ні,і өзені; пр,просп ті,і проспектісі; пр,просп т проспект; акад сы академиясы; шар ғы шаруашылығы; ш ғы шаруашылығы; прок,прокур сы прокуратурасы;
инсп сы инспекциясы; корп сы корпорациясы; комис сы комиссиясы; полиц сы полициясы; мұр,мұраж йы мұражайы; бөл мі бөлімі; бөл м бөлім; кіт ханасы кітапханасы; аур сы ауруханасы; емх сы емханасы
`;
/** Contractions only after a name, because their heads are letters or words themselves. */
const NAME_FORMS = wordTable(`
а-ны: ауданы; а-ы: ауылы; р-сы: республикасы; о-сы: облысы
`);

interface Contraction {
  readonly tail: string;
  readonly word: string;
}

const BY_HEAD = new Map<string, Contraction[]>();
for (const line of CONTRACTIONS.split(";")) {
  const [heads = "", tails = "", word = ""] = line.trim().split(" ");
  for (const head of heads.split(",")) {
    const known = BY_HEAD.get(head) ?? [];
    for (const tail of tails.split(",")) known.push({ tail, word });
    // Sort the longest endings first: "сінде" is the end of "көшесінде".
    BY_HEAD.set(
      head,
      known.toSorted((a, b) => b.tail.length - a.tail.length),
    );
  }
}
/** Heads of places and directions, which take any ending: "Алматы қ-да", "оңт-ке". */
const ANY_ENDING = "а о р солт оңт бат шығ қ обл ауд к көш даң пр".split(" ");

/**
 * Returns whether "head-" at `at` may be a contraction, by the letters after it; a repetition such as
 * "ун-ун-" is not.
 */
export function mayBeContracted(text: string, at: number, hyphen: number): boolean {
  const head = text.slice(at, hyphen).toLowerCase();
  if (!CONTRACTED_HEADS.has(head)) return false;
  const tails = TAILS.get(head);
  return tails === undefined || tails.some((tail) => text.startsWith(tail, hyphen + 1));
}

/** The heads with a vowel, which look like words. */
export const CONTRACTED_HEADS: ReadonlySet<string> = new Set([...BY_HEAD.keys(), ...ANY_ENDING]);

/** Continuations of a contraction after its first hyphen; heads that take any ending have no entry. */
const TAILS = new Map<string, readonly string[]>();
for (const [head, forms] of BY_HEAD) {
  const [first = "", ...rest] = head.split("-");
  const tails = rest.length > 0 ? [rest.join("-")] : forms.map(({ tail }) => tail);
  TAILS.set(first, [...(TAILS.get(first) ?? []), ...tails]);
}
for (const head of ANY_ENDING) TAILS.delete(head);

const CONTRACTED = new RegExp(
  `(?<![${LOWER}${UPPER}\\d-])([${LOWER}${UPPER}][${LOWER}]{0,5}(?:-[лрт])?(?:-?ік)?)-([${LOWER}]+)${WORD_END}\\.?`,
  "yu",
);
/** Endings of a contraction: a case after a possessive, or any case after a bare word. */
const REST =
  /^(?:н[ыі]ң|н[ае]|н|нд[ае]|н[ае]н|мен|нд[ае]ғы|нд[ае]гі|[дт][ыі]ң|[ғгқк][ае]|[дт][ыі]|[дт][ае]|[дт][ае]н|[бп]ен|[лдт][ае]р\p{Ll}*)?$/u;
const NAME_BEFORE = new RegExp(`[${UPPER}][${LOWER}-]+(?:-\\d+)? $`, "u");

/** Reads "Абай к-сі", "Қаржы м-гінің", "тарих ин-ты". */
export const contractionRule: Rule = (text: string, at: number): Reading | null => {
  const match = matchAt(CONTRACTED, text, at);
  if (match === null) return null;
  const [written, head = "", end = ""] = match;
  // "Г-ті" is a letter, or a headword's first letter.
  if (head.length === 1 && head !== head.toLowerCase() && isEnding(end)) return null;
  const word = contracted(head.toLowerCase(), end, text.slice(Math.max(0, at - 30), at));
  if (word === null) return null;
  // Keep a dot that ends the sentence.
  const stop =
    written.endsWith(".") &&
    /^(?:\s*$| \p{Lu})/u.test(text.slice(at + written.length, at + written.length + 2));
  return { spoken: word, next: at + written.length - (stop ? 1 : 0) };
};

function contracted(head: string, end: string, before: string): string | null {
  for (const { tail, word } of BY_HEAD.get(head) ?? []) {
    if (end.startsWith(tail) && REST.test(end.slice(tail.length))) {
      // "2010 ж-лы" is a year.
      if (word === "журналы" && /\d ?$/.test(before)) return `жылы${end.slice(tail.length)}`;
      const rest = end.slice(tail.length);
      // "Аягөз ауд-нда" is a district of that name.
      const named = rest === "" ? undefined : NAMED_PLACES[word];
      if (named !== undefined && isEnding(rest) && NAME_BEFORE.test(before)) return withEnding(named, rest);
      return word + rest;
    }
  }
  const side = SIDES[head];
  if (side !== undefined && /^(?:шығыс|батыс)/.test(end)) return `${side}-${end}`;
  if (side !== undefined && isEnding(end)) return withEnding(side, end);
  if (!NAME_BEFORE.test(before)) return null;
  for (const key of Object.keys(NAME_FORMS)) {
    const [nameHead = "", tail = ""] = key.split("-");
    if (head === nameHead && end.startsWith(tail) && REST.test(end.slice(tail.length)))
      return (NAME_FORMS[key] ?? "") + end.slice(tail.length);
  }
  // "Алматы қ-да" is a kind of place after its name, with a case.
  const place = PLACES[head];
  return place !== undefined && isEnding(end) ? withEnding(place, end) : null;
}
/** Directions with a hyphen and a case: "оңт-ке". */
const SIDES = wordTable(`
солт: солтүстік; оңт: оңтүстік; бат: батыс; шығ: шығыс
`);
const NAMED_PLACES = wordTable(`
аудан: ауданы; облыс: облысы; көше: көшесі; даңғыл: даңғылы
`);
const PLACES = wordTable(`
пр: проспектісі; қ: қаласы; обл: облысы; ауд: ауданы; к: көшесі; көш: көшесі; даң: даңғылы
`);

/** Two words by their first letters, a slash between: plain, and in the possessive after a name. */
const SLASHED: Readonly<Record<string, readonly [plain: string, afterName: string]>> = {
  "т/ж": ["теміржол", "теміржол"],
  "п/б": ["пошта бөлімшесі", "пошта бөлімшесі"],
  "а/ж": ["абоненттік жәшік", "абоненттік жәшік"],
  "ш/қ": ["шаруа қожалығы", "шаруа қожалығы"],
  "а/ш": ["ауыл шаруашылығы", "ауыл шаруашылығы"],
  "а/о": ["ауылдық округ", "ауылдық округі"],
  "ж/е": ["және", "және"],
  "ж/б": ["және басқа", "және басқа"],
  "т/б": ["тағы басқа", "тағы басқа"],
};
const SLASHED_FORM = new RegExp(
  `(?<![${LOWER}${UPPER}\\d/-])([тпашж]\\/[жбқшое])${WORD_END}(?!/)(?:-([${LOWER}]+)${WORD_END})?`,
  "yu",
);

/** Reads "Шелек а/о", "т/ж бекеті". */
export const slashedRule: Rule = (text, at) => {
  const match = matchAt(SLASHED_FORM, text, at);
  if (match === null) return null;
  const [written, letters = "", ending] = match;
  const forms = SLASHED[letters];
  if (forms === undefined || (ending !== undefined && !isEnding(ending))) return null;
  const spoken = forms[NAME_BEFORE.test(text.slice(Math.max(0, at - 30), at)) ? 1 : 0];
  return { spoken: ending === undefined ? spoken : withEnding(spoken, ending), next: at + written.length };
};

/** Kinds of districts in cities, with slashes, dots and hyphens. */
const DISTRICTS = wordTable(`
ш: шағын; ы: ықшам; м: мөлтек
`);
const DISTRICT =
  "(?:([шым])[/-]а(?:уд)?(?![\\p{L}\\p{M}-])|мкр(?:-?н)?(?![\\p{L}\\p{M}])|м-н(?![\\p{L}\\p{M}]))\\.?";

/** A district after its name: "«Самал» ш/а", "Орбита мкр-н". */
const NAMED_DISTRICT = new RegExp(`(?<![\\p{L}\\p{M}])${DISTRICT}`, "yu");
export const districtRule: Rule = (text, at) => {
  const match = matchAt(NAMED_DISTRICT, text, at);
  if (match === null) return null;
  const isNamed = NAME_BEFORE.test(text.slice(Math.max(0, at - 30), at));
  return {
    spoken: isNamed ? `${districtName(match[1])}ы` : districtName(match[1]),
    next: at + match[0].length,
  };
};

/** Reads numbered districts: "5-ы/а", "8 мкр-н". */
export const numberedDistrictRule: Rule = patternRule(
  `(?<!\\p{L}-)(\\d{1,3})(?:-(?:[ыі]н|сын|н)?ш[ыі](?= ))?[- ]?(?:${DISTRICT}|([шы])\\.а(?:уд)?\\.)`,
  ([, number = "", kind, dotted]) => `${ordinal(cardinal(number))} ${districtName(kind ?? dotted)}`,
);

/** Reads "Самал-2 ш/а", where the number is part of the name. */
export const namedNumberDistrictRule: Rule = patternRule(
  `(?<=\\p{L}-)(\\d{1,3}) ${DISTRICT}`,
  ([, number = "", kind]) => `${cardinal(number)} ${districtName(kind)}ы`,
);

function districtName(kind: string | undefined): string {
  return `${DISTRICTS[kind ?? "м"]} аудан`;
}
