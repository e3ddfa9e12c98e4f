import { emailRanges } from "./emails.js";
import { cardKind, hasKnownArea, iinKind, type NumberKind, phoneKind } from "./number-kinds.js";
import { MOST_EXCESS, MOST_EXCESS_OF_CUED_PHONE, type Reading, readingsFrom } from "./readings.js";
import { bare, type DigitRun, digitRuns } from "./spoken-digits.js";

export const REDACTED_KINDS = ["phone", "iin", "card", "email"] as const;
export type RedactedKind = (typeof REDACTED_KINDS)[number];

/** Words [first, end) that contain personal data. */
export interface Redaction {
  readonly kind: RedactedKind;
  readonly first: number;
  readonly end: number;
}

type NumberName = Exclude<RedactedKind, "email">;

/** Among equally likely numbers the first kind wins, one with a check digit. */
const NUMBERS: readonly (readonly [NumberName, NumberKind])[] = [
  ["iin", iinKind],
  ["card", cardKind],
  ["phone", phoneKind],
];

const STRONG_PHONE_CUE =
  /^(?:телефон|тел$|ұялы|сотк|сотов|мобильн|мобилк|whatsapp|ватсап|уатсап|вацап|вотсап|звон|позвон|перезвон|набер|набира|звандас|хабарлас|қоңырау)/;
/** Words that are a weak cue, because "нөмір" is also the number of a house or a contract. */
const WEAK_PHONE_CUE = /^(?:номер|нөмір)/;
const OTHER_NUMBER =
  /^(?:карт|иин|жсн|бин|бсн|шот|счет|договор|келісім|шарт|заказ|тапсырыс|чек|накладн|штрих|iban)/;
const IIN_CUE = /^(?:иин|жсн|сәйкестендіру|идентификационн)/;
const CARD_CUE = /^карт(?:а|ы|у|е|ой|ам|оч|аң|ас|ан)/;
const CUE_WORDS_BEFORE = 4;
const CUE_WORDS_AFTER = 3;
/**
 * Largest number next to a telephone number that is not part of it: "екі минут" after it, "номер один" before
 * it.
 */
const LARGEST_STRAY = 2;
/** Number of additional words that a cue outweighs. */
const CUE_SCORE = 4;
/** Required length of a number in a longer run without a cue. */
const USUAL_DIGITS: Readonly<Record<NumberName, number>> = { phone: 11, iin: 12, card: 16 };
/** A possible number in items [first, end) of a run. */
interface Candidate {
  readonly kind: NumberName;
  readonly first: number;
  readonly end: number;
  readonly isCued: boolean;
  readonly excess: number;
  /** Accepted only if numbers fill the whole run. */
  readonly isWeak: boolean;
  /** Accepted only if at most a short number follows. */
  readonly endsRun: boolean;
}

/**
 * Finds personal data in a transcript: telephone numbers of Kazakhstan and Russia, individual identification
 * numbers, payment cards, e-mail addresses.
 *
 * Numbers may be spoken in Kazakh, Russian or both, in any grouping, or written in digits. Every way to
 * group the words is tried, so "жиырма үш" is 23 and 20, 3. A number split over two lists, for example by a
 * pause between two finals, is not found.
 *
 * @param words as the recogniser returns them
 * @returns ranges of words in order, without overlap
 */
export function redact(words: readonly string[], kinds: Iterable<RedactedKind>): readonly Redaction[] {
  const wanted = new Set(kinds);
  const rest = words.map(bare);
  const emails = wanted.has("email") ? emailRanges(rest) : [];
  for (const { first, end } of emails) rest.fill("", first, end);
  const found: Redaction[] = emails.map((range) => ({ kind: "email", ...range }));
  // Also searches kinds that were not requested, because their digits are not a number of another kind.
  for (const run of wanted.has("phone") || wanted.has("iin") || wanted.has("card") ? digitRuns(rest) : []) {
    found.push(...numbersOf(rest, run).filter(({ kind }) => wanted.has(kind)));
  }
  return found.sort((one, other) => one.first - other.first);
}

function numbersOf(words: readonly string[], run: DigitRun): Redaction[] {
  const candidates = reachableCandidates(words, run);
  const count = run.at.length;
  const filled =
    filling(candidates, count) ??
    (run.hasLooseEnd ? filling(candidates, count - 1) : null) ??
    covering(run, candidates);
  return filled.map(({ kind, first, end }) => {
    const plusAt = run.plusAt[first]!;
    return { kind, first: plusAt === -1 ? run.at[first]! : plusAt, end: run.at[end - 1]! + 1 };
  });
}

/**
 * Lists candidate numbers by their first item, which is at the start of the run, at a plus sign or after
 * another number.
 */
function reachableCandidates(words: readonly string[], run: DigitRun): readonly (readonly Candidate[])[] {
  const isStart = run.plusAt.map((plusAt) => plusAt !== -1);
  const isBoundary = run.at.map((_, at) => at === 0);
  return run.at.map((_, first) => {
    if (isBoundary[first]) {
      isStart[first] = true;
      for (const end of strayEnds(run, first)) isStart[end] = true;
    }
    if (!isStart[first]) return [];
    const found = NUMBERS.flatMap(([name, kind]) => candidatesAt(words, run, first, name, kind));
    for (const { end } of found) isBoundary[end] = true;
    return found;
  });
}

/** Lists every number of a kind that begins at an item, one for each possible last item. */
function candidatesAt(
  words: readonly string[],
  run: DigitRun,
  first: number,
  name: NumberName,
  kind: NumberKind,
): Candidate[] {
  const found: Candidate[] = [];
  for (const [end, readings] of readingsFrom(run, first, kind)) {
    const whole = readings.filter(({ digits }) => kind.isWhole(digits));
    if (whole.length === 0) continue;
    const isCued = hasCue(words, run, first, end, name);
    const known = whole.filter((reading) => isLikely(name, reading, isCued));
    if (known.length === 0) continue;
    const excess = Math.min(...known.map((reading) => reading.excess));
    const isSure = known.some(
      (reading) =>
        (isCued || reading.digits.length === USUAL_DIGITS[name]) &&
        (reading.excess === 0 || (isCued && name === "phone")),
    );
    found.push({
      kind: name,
      first,
      end,
      isCued,
      excess,
      isWeak: !isSure,
      endsRun: name === "phone" && !isCued,
    });
  }
  return found;
}

function isLikely(name: NumberName, { digits, excess }: Reading, isCued: boolean): boolean {
  if (name !== "phone") return excess <= (isCued ? MOST_EXCESS : 0);
  const isKnown = hasKnownArea(digits);
  if (digits.length === phoneKind.longest) return isCued || (isKnown && excess <= MOST_EXCESS);
  return excess <= (isCued && isKnown ? MOST_EXCESS : 0) && (isCued || isKnown);
}

function hasCue(
  words: readonly string[],
  run: DigitRun,
  first: number,
  end: number,
  name: NumberName,
): boolean {
  if (name === "phone" && run.plusAt[first] !== -1) return true;
  const from = run.at[first]!;
  const to = run.at[end - 1]! + 1;
  const before = words.slice(Math.max(0, from - CUE_WORDS_BEFORE), from);
  const around = [...before, ...words.slice(to, to + CUE_WORDS_AFTER)];
  if (name === "iin") return around.some((word) => IIN_CUE.test(word));
  if (name === "card") return around.some((word) => CARD_CUE.test(word));
  return (
    around.some((word) => STRONG_PHONE_CUE.test(word)) ||
    (around.some((word) => WEAK_PHONE_CUE.test(word)) && !around.some((word) => OTHER_NUMBER.test(word)))
  );
}

/** Finds the likeliest numbers that fill items [0, end) without a gap. */
function filling(candidates: readonly (readonly Candidate[])[], end: number): readonly Candidate[] | null {
  const fills: ({ readonly cost: number; readonly numbers: readonly Candidate[] } | null)[] = [];
  fills[end] = { cost: 0, numbers: [] };
  for (let at = end - 1; at >= 0; at--) {
    fills[at] = null;
    for (const candidate of candidates[at]!) {
      const rest = fills[candidate.end];
      if (rest === null || rest === undefined) continue;
      const cost = rest.cost + doubt(candidate);
      if (cost < (fills[at]?.cost ?? Number.POSITIVE_INFINITY)) {
        fills[at] = { cost, numbers: [candidate, ...rest.numbers] };
      }
    }
  }
  return end === 0 ? null : (fills[0]?.numbers ?? null);
}

/** Rates a candidate: a cue outweighs readings; among equals the first kind wins. */
function doubt({ isCued, excess }: Candidate): number {
  return 1 + excess + (isCued ? 0 : MOST_EXCESS_OF_CUED_PHONE + 1);
}

interface Cover {
  /** Counts covered items, plus a bonus for each cue. */
  readonly score: number;
  readonly numbers: readonly Candidate[];
}

/**
 * Finds the strong numbers that cover most of a run that they do not fill. A number begins at the start of
 * the run, after another number, or after one short number or sum; with a plus sign it may begin anywhere.
 */
function covering(run: DigitRun, candidates: readonly (readonly Candidate[])[]): readonly Candidate[] {
  const count = run.at.length;
  const hasOtherLength = shortestReading(run) === iinKind.longest;
  const covers: Cover[] = Array.from({ length: count + 1 }, () => ({ score: 0, numbers: [] }));
  /** The best numbers with a plus sign, from each item on. */
  let marked: Cover = { score: 0, numbers: [] };
  const startingAt = (at: number, isMarkedOnly: boolean): Cover => {
    let best: Cover = { score: 0, numbers: [] };
    for (const candidate of candidates[at] ?? []) {
      if (candidate.isWeak || (isMarkedOnly && run.plusAt[at] === -1)) continue;
      const rest = covers[candidate.end]!;
      const isDoubtful = (hasOtherLength && !hasAreaGroup(run, at)) || !isTidy(run, candidate.end, rest);
      if (candidate.endsRun && isDoubtful) continue;
      const score = candidate.end - at + (candidate.isCued ? CUE_SCORE : 0) + rest.score;
      if (score > best.score) best = { score, numbers: [candidate, ...rest.numbers] };
    }
    return best;
  };
  for (let at = count - 1; at >= 0; at--) {
    const options = [
      marked,
      startingAt(at, false),
      ...strayEnds(run, at).map((end) => startingAt(end, false)),
    ];
    covers[at] = options.reduce((best, option) => (option.score > best.score ? option : best));
    const here = startingAt(at, true);
    if (here.score > marked.score) marked = here;
  }
  return covers[0]!.numbers;
}

/** Returns true if nothing, a short number, a sum or another number follows. */
function isTidy(run: DigitRun, end: number, rest: Cover): boolean {
  const next = rest.numbers[0]?.first ?? run.at.length;
  return next === end || strayEnds(run, end).includes(next);
}

/** Returns true if a digit and a three-digit number begin here, as in spoken country and area codes. */
function hasAreaGroup(run: DigitRun, at: number): boolean {
  const areas = run.groups[at]!.filter(({ digits }) => digits.length === 1).flatMap(
    ({ end }) => run.groups[end] ?? [],
  );
  return areas.some(({ digits }) => digits.length === 3);
}

/** Returns the possible ends of a short number or a sum that begins at an item. */
function strayEnds(run: DigitRun, at: number): number[] {
  return (run.groups[at] ?? [])
    .filter(({ digits, isSum }) => isSum || digits.length <= LARGEST_STRAY)
    .map(({ end }) => end);
}

/**
 * Returns the fewest digits of any reading of a run: twelve are unlikely to be a telephone number and a
 * digit.
 */
function shortestReading(run: DigitRun): number {
  const fewest: number[] = run.at.map(() => Number.POSITIVE_INFINITY);
  fewest.push(0);
  for (let at = run.at.length - 1; at >= 0; at--) {
    for (const { end, digits } of run.groups[at]!)
      fewest[at] = Math.min(fewest[at]!, digits.length + fewest[end]!);
  }
  return fewest[0]!;
}
