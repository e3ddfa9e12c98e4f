import { saysDigits } from "./spoken-digits.js";

/** A range of words [first, end). */
interface Range {
  readonly first: number;
  readonly end: number;
}

const WRITTEN = /^[\p{L}\d._%+-]{1,64}@[\p{L}\d-]{1,63}(?:\.[\p{L}\d-]{1,63}){1,4}$/u;
const WRITTEN_DOMAIN = /^[\p{L}\d-]{1,63}(?:\.[\p{L}\d-]{1,63}){1,4}$/u;
/** "Айқұлақ" is the sign's Kazakh name, "ит белгісі" is "sign of the dog". */
const AT = /^(?:собак[ауи]|собачк[ауи]|айқұлақ|эт|@)$/;
const AT_OF_TWO = /^(?:ит белгісі|ит белгі|знак собак[аи]|коммерческое эт)$/;
const DOT = /^(?:точк[ау]|нүкте|дот|\.)$/;
/** Characters that join words of a local part: dots, underscores, hyphens. */
const JOINT =
  /^(?:точк[ау]|нүкте|дот|тире|дефис|сызықша|минус|плюс|подчеркивани[ея]|подчерк|андерскор|төменгісызық|астыңғысызық|[._-])$/;
const JOINT_OF_TWO =
  /^(?:нижнее (?:подчеркивание|тире)|нижний подчерк|(?:төменгі|астыңғы) (?:сызық|сызықша|тире)|астын сыз[уы])$/;
/** Providers whose name needs no dot after it, as one word or two. */
const PROVIDER =
  /^(?:мейл|майл|мэйл|меил|маил|mail|(?:д?жи|джи|g|ж) ?(?:мейл|майл|мэйл|mail)|гмейл|гмайл|джимэйл|gmail|яндекс|яндэкс|yandex|рамблер|rambler|хотмейл|хотмайл|hotmail|аутлук|outlook|инбокс|inbox|лист|list|бк|bk|айклауд|айклоуд|ай клауд|icloud|яху|yahoo)$/;
const TLD_NAMES =
  "ру|ком|кз|кэзэ|казэ|кезет|кейзет|кей зет|ка зэ|ка зе|ка зет|орг|нет|инфо|рф|уз|кгз|бай|юа|еду|эдю|гов|гоу|про|ай оу|ru|com|kz|org|net|info|edu|gov|uz|kg|by|io|pro|me";
const TLD = new RegExp(`^(?:${TLD_NAMES})$`);
/** A top-level domain with a case ending: "мейл ру-ға". */
const TLD_WITH_ENDING = new RegExp(
  `^(?:${TLD_NAMES})-?(?:[ғк][ае]|қа|[дт][ае]|[дтн][ае]н|[дтн][ыі]|[дтн][ыі]ң)$`,
);
/** Letters by their spoken names. */
const LETTER =
  /^(?:\p{L}|эй|би|си|ди|эф|джи|эйч|аш|ай|джей|йот|кей|ка|эл|эль|эм|эн|оу|пи|пэ|кью|ку|ар|эр|эс|ти|тэ|ю|ви|вэ|дабл|икс|уай|игрек|зет|зед|бэ|цэ|дэ|же|гэ)$/u;
const CUE =
  /^(?:имейл|емейл|эмейл|е-мейл|e-mail|email|пошта|почт|мейл|майл|мекенжай|мекен-жай|адрес)\p{Ll}{0,6}$/u;
/** Words between a cue and the address that it announces. */
const AFTER_CUE =
  /^(?:это|вот|такой|такая|будет|мынау|мынадай|былай|болады|деген|менің|мой|моя|наш|наша|біздің|электронды|электронная|—|–|-)$/;

/** Maximum number of words between a cue and the sign. */
const CUE_DISTANCE = 6;
const LONGEST_LOCAL = 24;
const MOST_LABELS = 4;
/** Maximum number of words in a label that is not spelled: "тау кен банк точка кз". */
const LABEL_WORDS = 3;
const SPELLED_LABEL_WORDS = 12;

/** Finds e-mail addresses, written or spoken, in bare words; in order. */
export function emailRanges(clean: readonly string[]): readonly Range[] {
  const found: Range[] = [];
  for (let at = 0; at < clean.length; at++) {
    const from = found.at(-1)?.end ?? 0;
    if (at < from) continue;
    const range = WRITTEN.test(clean[at]!) ? { first: at, end: at + 1 } : spokenAround(clean, at, from);
    if (range !== null) found.push(range);
  }
  return found;
}

function spokenAround(clean: readonly string[], at: number, from: number): Range | null {
  const signWords = AT_OF_TWO.test(pair(clean, at)) ? 2 : AT.test(clean[at]!) ? 1 : 0;
  if (signWords === 0) return null;
  const end = domainEnd(clean, at + signWords);
  if (end === null) return null;
  const first = localStart(clean, at, from);
  return first === null ? null : { first, end };
}

/** Returns the end of the domain that begins at a word; null if there is none. */
function domainEnd(clean: readonly string[], start: number): number | null {
  if (WRITTEN_DOMAIN.test(clean[start] ?? "")) return start + 1;
  const providerWords = PROVIDER.test(pair(clean, start)) ? 2 : PROVIDER.test(clean[start] ?? "") ? 1 : 0;
  let at = start + providerWords;
  if (providerWords > 0) {
    const behind = tldEnd(clean, DOT.test(clean[at] ?? "") ? at + 1 : at);
    if (behind === null) return at;
    return secondTldEnd(clean, behind);
  }
  for (let label = 0; label < MOST_LABELS; label++) {
    const dot = dotAfterLabel(clean, at);
    if (dot === null) return null;
    const behind = tldEnd(clean, dot + 1);
    if (behind !== null) return secondTldEnd(clean, behind);
    at = dot + 1;
  }
  return null;
}

/**
 * Returns the position of the dot after a label: one to three words, or a longer run of letters and digits.
 */
function dotAfterLabel(clean: readonly string[], start: number): number | null {
  for (let at = start; at < Math.min(clean.length, start + SPELLED_LABEL_WORDS); at++) {
    if (DOT.test(clean[at]!)) return at > start ? at : null;
    const isSpelled = clean.slice(start, at + 1).every((word) => LETTER.test(word) || saysDigits(word));
    if (at - start >= LABEL_WORDS && !isSpelled) return null;
  }
  return null;
}

function tldEnd(clean: readonly string[], at: number): number | null {
  for (const [name, end] of [
    [pair(clean, at), at + 2],
    [clean[at] ?? "", at + 1],
  ] as const) {
    if (TLD.test(name) || TLD_WITH_ENDING.test(name)) return end;
  }
  return null;
}

/** Returns the end of a second top-level domain, as in "еду точка кз". */
function secondTldEnd(clean: readonly string[], end: number): number {
  return DOT.test(clean[end] ?? "") ? (tldEnd(clean, end + 1) ?? end) : end;
}

/**
 * Returns the start of the local part before the sign. After a cue such as "почта", takes all words up to the
 * sign; otherwise one word, plus words connected to it by joints, digits, spelled or Latin letters.
 */
function localStart(clean: readonly string[], sign: number, from: number): number | null {
  for (let at = sign - 1; at >= Math.max(from, sign - CUE_DISTANCE); at--) {
    if (!CUE.test(clean[at]!)) continue;
    let first = at + 1;
    while (first < sign && AFTER_CUE.test(clean[first]!)) first++;
    if (first < sign) return Math.min(first, tiedStart(clean, sign, Math.max(from, at + 1)));
  }
  const first = tiedStart(clean, sign, from);
  return first < sign ? first : null;
}

function tiedStart(clean: readonly string[], sign: number, from: number): number {
  let first = sign;
  let isJoined = false;
  const earliest = Math.max(from, sign - LONGEST_LOCAL);
  const takesMore = () => {
    if (first === sign || isJoined) return true;
    const [before, now] = [clean[first - 1]!, clean[first]!];
    if (JOINT.test(now) || JOINT.test(before)) return true;
    if (saysDigits(now)) return true;
    if (LETTER.test(now)) return LETTER.test(before) || saysDigits(before);
    return /^[a-z]+$/.test(now) && /^[a-z]+$/.test(before);
  };
  while (first > earliest) {
    const hasJoint = first < sign && first >= earliest + 2 && JOINT_OF_TWO.test(pair(clean, first - 2));
    if (!hasJoint && !takesMore()) break;
    first -= hasJoint ? 2 : 1;
    isJoined = hasJoint;
  }
  while (first < sign && JOINT_OF_TWO.test(pair(clean, first))) first += 2;
  while (first < sign && JOINT.test(clean[first]!)) first++;
  return first;
}

function pair(clean: readonly string[], at: number): string {
  return `${clean[at] ?? ""} ${clean[at + 1] ?? ""}`;
}
