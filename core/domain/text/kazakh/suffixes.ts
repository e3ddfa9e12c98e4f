/**
 * Kazakh case endings: the form for a word, and the case of a written ending.
 *
 * Source: case_rule, numeral_case, currency_case, month_case, unit_case rows of facts-kk.tsv (grammar rules,
 * counted in the corpora).
 */
export type GrammaticalCase = "genitive" | "dative" | "accusative" | "locative" | "ablative" | "instrumental";

const WRITTEN_CASES: readonly (readonly [GrammaticalCase, RegExp])[] = [
  // "АҚШ-ң" omits most of the ending.
  ["genitive", /^(?:[ндт][ыі])?ң$/],
  ["dative", /^[ғгқкн][ае]$/],
  ["accusative", /^[ндт][ыі]$/],
  ["locative", /^н?[дт][ае]$/],
  ["ablative", /^[ндт][ае]н$/],
  ["instrumental", /^[мбп]ен$/],
];

/** Other endings, which stay as written: plural, possessive, likeness, origin. */
const OTHER_ENDING =
  /^(?:ң$|[лдт][ае]р)?(?:с?[ыі]|[ыі]?м[ыі]з)?(?:[ндт][ыі]ң|н?[дт][ае]|[ндт][ае]н|н[ае]?|[ғгқк][ае]|[ндт][ыі]|[мбп]ен|(?:н?[дт][ае])?[ғг][ыі])?$/;
const LIKENESS = /^[лдт](?:ық|ік)$/;
/** Endings "-дай" (about), "-дап" (at a time), "-даған" (and more), and the plural, with further endings. */
const DERIVED =
  /^(?:([дт])[ае](й)|[лдт][ае](п)$|[лдт](?:аға|еге)(н)|[лдт][ае](р))((?:[ыі](?:н|н[ыі]ң|н[ае]|нд[ае]|н[ае]н)?|[ыі]?м[ыі]з|[ғгқк][ае]|[ндт][ыі]ң?|[дт][ае]|[дн][ае]н|[дт][ае][ғг][ыі]|[мбп]ен|н)?)$/;
/** Endings of place and of possession: "-дағы", "-нікі". */
const OF_PLACE = /^н?[дт][ае][ғг][ыі]$/;
const OF_OWNER = /^[ндт]ікі$/;

const FRONT = "әеіөүэ";
const BACK = "аоұыяё";
const VOICELESS = "пфкқтсшщчцхһбвгд";

/** Returns whether letters can only be an ending, such as "тен", "сінде", "лары". */
export function isEnding(written: string): boolean {
  if (written === "") return false;
  return (
    OTHER_ENDING.test(written) || LIKENESS.test(written) || OF_OWNER.test(written) || DERIVED.test(written)
  );
}

/** The third person's possessive, and a case after it: "-сі", "-ынан". */
const WRITTEN_POSSESSIVE = /^с?[ыі](н[ыі]ң|н[ае]|н|нд[ае]|н[ае]н|мен)?$/;

/**
 * Adds a written ending to a spoken phrase: cases and possessives are formed for its last word, other endings
 * stay as written. After a possessive ("министрлігі") the case takes its possessive form.
 */
export function withEnding(phrase: string, written: string): string {
  const possessive = WRITTEN_POSSESSIVE.exec(written);
  if (possessive !== null) {
    return inPossessive(phrase) + harmonized(possessive[1] ?? "", hasFrontHarmony(lastWord(phrase)));
  }
  const found = WRITTEN_CASES.find(([, pattern]) => pattern.test(written));
  if (found !== undefined) return inCase(phrase, found[0]);
  if (OF_PLACE.test(written))
    return `${inCase(phrase, "locative")}${hasFrontHarmony(lastWord(phrase)) ? "гі" : "ғы"}`;
  if (OF_OWNER.test(written)) return `${inCase(phrase, "genitive").slice(0, -2)}ікі`;
  const derived = DERIVED.exec(written);
  return derived === null ? phrase + written : inDerived(phrase, derived);
}

function inDerived(phrase: string, [, , like, each, many, , rest = ""]: RegExpExecArray): string {
  const isPlural = like === undefined && each === undefined && many === undefined;
  if (isPlural && POSSESSIVE.test(lastWord(phrase))) {
    const plural = possessivePlural(phrase);
    return rest === "" || /^[ыі]$/.test(rest) ? plural : withEnding(plural, rest.replace(/^[ыі](?=н)/, ""));
  }
  const word = lastWord(phrase);
  const isFront = hasFrontHarmony(word);
  const last = soundingLast(word);
  const isVoiceless = VOICELESS.includes(last);
  const begin = isVoiceless ? "т" : like === undefined && /[аәеёоөұүыіэярйуюи]/.test(last) ? "л" : "д";
  const low = isFront ? "е" : "а";
  const body = many === undefined ? low + (like ?? each ?? "р") : isFront ? "еген" : "аған";
  return stem(phrase) + begin + body + harmonized(rest, isFront);
}

/** Endings after an ending keep their consonants and take its vowels. */
function harmonized(endings: string, isFront: boolean): string {
  if (/^[мбп]ен$/.test(endings)) return endings;
  const [from, to] = isFront ? ["аығқ", "еігк"] : ["еігк", "аығқ"];
  return [...endings].map((letter) => to[from.indexOf(letter)] ?? letter).join("");
}

/** Forms the plural of a possessive: "жоғары оқу орны" becomes "жоғары оқу орындары". */
function possessivePlural(phrase: string): string {
  if (/(?:[лдт]ары|[лдт]ері)$/.test(phrase)) return phrase;
  const bare = phrase
    .replace(/орны$/, "орын")
    .replace(/(соғыс|облыс|кеңес)[ыі]$/, "$1")
    .replace(/(?<=[аәеиоөуұүыія])с[ыі]$/, "")
    .replace(/(?<=[^аәеиоөуұүыія])[ыі]$/, "")
    .replace(/ғ$/, "қ")
    .replace(/г$/, "к");
  return withEnding(bare, "лары");
}

function lastWord(phrase: string): string {
  return phrase.slice(phrase.lastIndexOf(" ") + 1);
}

function soundingLast(word: string): string {
  return word.at(-1) === "ь" ? (word.at(-2) ?? "") : (word.at(-1) ?? "");
}

/** Puts the last word of a phrase in a case. */
export function inCase(phrase: string, grammaticalCase: GrammaticalCase): string {
  const word = lastWord(phrase);
  return stem(phrase) + caseEnding(word, grammaticalCase);
}

/**
 * Puts the last word of a phrase in the third person's possessive: -сы/-сі after a vowel, -ы/-і after a
 * consonant, with voiced к, қ and п; "қырық" loses its ы.
 */
function inPossessive(phrase: string): string {
  const word = lastWord(phrase);
  if (POSSESSIVE.test(word)) return phrase;
  const high = hasFrontHarmony(word) ? "і" : "ы";
  if (/[аәеёоөыіэя]$/.test(word)) return `${phrase}с${high}`;
  if (word === "қырық") return `${phrase.slice(0, -2)}қы`;
  const voiced = VOICED[word.charAt(word.length - 1)];
  return (voiced === undefined ? stem(phrase) : phrase.slice(0, -1) + voiced) + high;
}
const VOICED: Readonly<Record<string, string>> = { к: "г", қ: "ғ", п: "б" };

/**
 * Loanwords with a final double consonant lose one of the two before an ending: "килограмнан" (1983 spelling
 * rules).
 */
function stem(phrase: string): string {
  return /(мм|лл|тт|сс)$/.test(phrase) ? phrase.slice(0, -1) : phrase;
}

function caseEnding(word: string, grammaticalCase: GrammaticalCase): string {
  const isFront = hasFrontHarmony(word);
  const high = isFront ? "і" : "ы";
  const low = isFront ? "е" : "а";
  const last = soundingLast(word);
  const isVoiceless = VOICELESS.includes(last);
  const isNasal = "мнң".includes(last);
  const isVowel = "аәеёоөұүыіэя".includes(last);
  const isPossessive = POSSESSIVE.test(word);
  switch (grammaticalCase) {
    case "genitive":
      return `${isVowel || isNasal ? "н" : isVoiceless ? "т" : "д"}${high}ң`;
    case "dative":
      if (isPossessive) return `н${low}`;
      return (isVoiceless ? (isFront ? "к" : "қ") : isFront ? "г" : "ғ") + low;
    case "accusative":
      if (isPossessive) return "н";
      return (isVowel ? "н" : isVoiceless ? "т" : "д") + high;
    case "locative":
      if (isPossessive) return `нд${low}`;
      return (isVoiceless ? "т" : "д") + low;
    case "ablative":
      return `${isNasal || isPossessive ? "н" : isVoiceless ? "т" : "д"}${low}н`;
    case "instrumental":
      return `${isVoiceless ? "п" : "зж".includes(last) ? "б" : "м"}ен`;
  }
}

/** Last words of compound names in the third person's possessive: "министрлігі", "Штаттары", "градусы". */
const POSSESSIVE =
  /(?:[лдт][ыі][ғг][ыі]|[аяе]с[ыі]|тары|лары|дары|лері|дері|тері|ұйымы|одағы|орталығы|орны|соғысы|стансасы|салығы|нөмірі|департаменті|республикасы|федерациясы|комитеті|қоры|институты|университеті|академиясы|зауыты|фабрикасы|мектебі|комиссиясы|корпорациясы|басқармасы|әкімдігі|прокуратурасы|жолы|банкі|палатасы|партиясы|кеңесі|градусы|жылы|қаласы|облысы|ауданы|ауылы|көшесі|даңғылы|күші|бағанасы|құралдары|қоғамы|кәсіпорны|кодексі|проспектісі|округі|қожалығы)$/;

/**
 * Returns whether the last vowel is a front one; the glides у and и, and a soft sign, count only if nothing
 * else decides.
 */
function hasFrontHarmony(word: string): boolean {
  for (let i = word.length - 1; i >= 0; i--) {
    const letter = word[i]!;
    if (FRONT.includes(letter)) return true;
    if (BACK.includes(letter)) return false;
    // "Минут" and "сум" are back; the last letter of "елу" follows the vowel before it.
    if (letter === "у" && i < word.length - 1) return word.endsWith("ь");
    if ((letter === "и" || letter === "ю") && i < word.length - 1) return true;
  }
  return word.endsWith("ь") || word.endsWith("и");
}
