/** How well a sentence can be cut between two words. */
export const BREAK = { never: 0, words: 1, conjunction: 2, mark: 3 } as const;
export type Break = (typeof BREAK)[keyof typeof BREAK];

const setOf = (words: string) => new Set(words.trim().split(/\s+/u));

/**
 * Prepositions, particles, determiners and adverbs of degree, which are spoken together with the next word.
 */
const BOUND_TO_NEXT = setOf(`
  в во на с со к ко о об обо у от ото из изо за до по под подо над надо при про без безо для ради через между
  перед передо около после вокруг кроме сквозь среди против вместо из-за из-под не ни очень самый самая самое
  этот эта это эти тот та те наш ваш мой
  бұл сол осы мына ана ең өте тым әр бір
`);
/** Postpositions and particles, which are spoken together with the previous word. */
const BOUND_TO_PREVIOUS = setOf(`
  ли ль же ж бы б
  үшін туралы дейін кейін бойы сайын сияқты секілді арқылы бойынша қарай бұрын бері соң жайлы жөнінде қарсы
  да де та те ма ме ба бе па пе мен бен пен ғана ғой қой екен еді емес деп болып
`);
const CONJUNCTIONS = setOf(`
  и а но или либо что чтобы если когда пока потому поэтому так как где куда откуда хотя однако зато
  который которая которое которые которого которой которому которым которых
  және ал бірақ немесе сондықтан өйткені егер себебі алайда дегенмен яғни
`);
const NUMERAL = new RegExp(
  `^(${[
    "од(ин|на|но|ного|ной|ному|ним|них)|дв(а|е|ух|ум|умя|адцат\\S*|енадцат\\S*|ести|ухсот)|полтора|полторы",
    "тр(и|[её]х|[её]м|емя|иста|идцат\\S*|инадцат\\S*)|четыр\\S*|(пят|шест|сем|восем|девят|десят)(ь|и|ью|ьсот)",
    "(пят|шест|сем|восем|девят)(ьдесят|надцат)\\S*|одиннадцат\\S*|сорока?|девяносто|сто|ста|тысяч\\S*",
    "миллион\\S*|миллиард\\S*|екі|үш|төрт|бес|алты|жеті|сегіз|тоғыз|он|жиырма|отыз|қырық|елу|алпыс",
    "жетпіс|сексен|тоқсан|жүз|мың|\\d\\S*",
  ].join("|")})$`,
  "u",
);

/**
 * Rates the gap after each word but the last: never between a number and what it counts, or between a
 * preposition or postposition and its noun.
 *
 * @param words in lower case, without marks
 */
export function breaksBetween(words: readonly string[]): Break[] {
  return words.slice(1).map((next, index) => {
    const word = words[index]!;
    if (BOUND_TO_NEXT.has(word) || NUMERAL.test(word) || BOUND_TO_PREVIOUS.has(next)) return BREAK.never;
    // A conjunction belongs to the words that follow it.
    if (CONJUNCTIONS.has(word)) return BREAK.never;
    return CONJUNCTIONS.has(next) ? BREAK.conjunction : BREAK.words;
  });
}
