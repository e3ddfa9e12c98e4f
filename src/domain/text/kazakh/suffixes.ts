/**
 * Kazakh case endings: which form a word takes, and which case a written ending stands for.
 *
 * Source: case_rule, numeral_case, currency_case, month_case, unit_case rows of facts-kk.tsv (grammar rules, counted in
 * the corpora).
 */
export type GrammaticalCase = "genitive" | "dative" | "accusative" | "locative" | "ablative" | "instrumental";

const WRITTEN_CASES: readonly (readonly [GrammaticalCase, RegExp])[] = [
  // "АҚШ-ң" leaves the most of it out.
  ["genitive", /^(?:[ндт][ыі])?ң$/],
  ["dative", /^[ғгқкн][ае]$/],
  ["accusative", /^[ндт][ыі]$/],
  ["locative", /^н?[дт][ае]$/],
  ["ablative", /^[ндт][ае]н$/],
  ["instrumental", /^[мбп]ен$/],
];

/** Endings that are not one case alone and are taken as written: plural, possessive, likeness, origin. */
const OTHER_ENDING =
  /^(?:ң$|[лдт][ае]р)?(?:с?[ыі]|[ыі]?м[ыі]з)?(?:[ндт][ыі]ң|н?[дт][ае]|[ндт][ае]н|н[ае]?|[ғгқк][ае]|[ндт][ыі]|[мбп]ен|(?:н?[дт][ае])?[ғг][ыі])?$/;
const LIKENESS = /^(?:[дт][ае]й|[лдт](?:ық|ік))$/;

const FRONT = "әеіөүэ";
const BACK = "аоұыяё";
const VOICELESS = "пфкқтсшщчцхһбвгд";

/** True for a run of letters that can only be an ending, such as "тен", "сінде", "лары". */
export function isEnding(written: string): boolean {
  return written !== "" && (OTHER_ENDING.test(written) || LIKENESS.test(written));
}

/** The third person's possessive, and a case after it: "-сі", "-ынан". */
const WRITTEN_POSSESSIVE = /^с?[ыі](н[ыі]ң|н[ае]|н|нд[ае]|н[ае]н|мен)?$/;

/**
 * Puts a written ending to a spoken phrase: a case or a possessive is formed anew for its last word, anything else is
 * taken as it is. After a possessive ("министрлігі") the case takes its possessive form.
 */
export function withEnding(phrase: string, written: string): string {
  const possessive = WRITTEN_POSSESSIVE.exec(written);
  if (possessive !== null) return inPossessive(phrase) + (possessive[1] ?? "");
  const found = WRITTEN_CASES.find(([, pattern]) => pattern.test(written));
  return found === undefined ? phrase + written : inCase(phrase, found[0]);
}

/** The phrase with its last word in a case. */
export function inCase(phrase: string, grammaticalCase: GrammaticalCase): string {
  const word = phrase.slice(phrase.lastIndexOf(" ") + 1);
  return stem(phrase) + caseEnding(word, grammaticalCase);
}

/**
 * The phrase with its last word in the third person's possessive: -сы/-сі after a vowel, -ы/-і after a consonant, before
 * which к, қ and п become voiced; "қырық" loses its ы.
 */
function inPossessive(phrase: string): string {
  const word = phrase.slice(phrase.lastIndexOf(" ") + 1);
  if (POSSESSIVE.test(word)) return phrase;
  const high = hasFrontHarmony(word) ? "і" : "ы";
  if (/[аәеёоөыіэя]$/.test(word)) return `${phrase}с${high}`;
  if (word === "қырық") return `${phrase.slice(0, -2)}қы`;
  const voiced = VOICED[word.charAt(word.length - 1)];
  return (voiced === undefined ? stem(phrase) : phrase.slice(0, -1) + voiced) + high;
}
const VOICED: Readonly<Record<string, string>> = { к: "г", қ: "ғ", п: "б" };

/** Borrowed words in a double consonant lose one before an ending: "килограмнан" (spelling rules of 1983). */
function stem(phrase: string): string {
  return /(мм|лл|тт|сс)$/.test(phrase) ? phrase.slice(0, -1) : phrase;
}

function caseEnding(word: string, grammaticalCase: GrammaticalCase): string {
  const isFront = hasFrontHarmony(word);
  const high = isFront ? "і" : "ы";
  const low = isFront ? "е" : "а";
  const last = word.at(-1) === "ь" ? (word.at(-2) ?? "") : (word.at(-1) ?? "");
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

/** Heads of compound names, which carry a third person possessive: "министрлігі", "Штаттары", "градусы". */
const POSSESSIVE =
  /(?:лігі|лығы|тары|лары|дары|лері|дері|тері|ұйымы|одағы|орталығы|орны|соғысы|стансасы|салығы|нөмірі|департаменті|республикасы|федерациясы|комитеті|қоры|институты|градусы|жылы|қаласы|облысы|ауданы|ауылы|көшесі|даңғылы|күші|бағанасы|құралдары)$/;

/** The last vowel decides; the glides у and и, and a soft sign, decide only where nothing else does. */
function hasFrontHarmony(word: string): boolean {
  for (let i = word.length - 1; i >= 0; i--) {
    const letter = word[i]!;
    if (FRONT.includes(letter)) return true;
    if (BACK.includes(letter)) return false;
    // "минут", "сум" are back; the last letter of "елу" follows the vowel before it.
    if (letter === "у" && i < word.length - 1) return word.endsWith("ь");
    if ((letter === "и" || letter === "ю") && i < word.length - 1) return true;
  }
  return word.endsWith("ь") || word.endsWith("и");
}
