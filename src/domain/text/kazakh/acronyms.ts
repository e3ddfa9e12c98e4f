import { CONSONANTS, hasVowel, LOWER, spelledByLetters, UPPER } from "./letters.js";
import { patternRule, type Rule, WORD_END } from "./reading.js";
import { isEnding, withEnding } from "./suffixes.js";
import { saidWord } from "./words.js";

/** Source: abbreviation rows of facts-kk.tsv (common usage); the rest are official names of institutions. */
const ACRONYMS: Readonly<Record<string, string>> = {
  ҚР: "қазақстан республикасы",
  АҚШ: "америка құрама штаттары",
  БҰҰ: "біріккен ұлттар ұйымы",
  ЕО: "еуропалық одақ",
  ЕАЭО: "еуразиялық экономикалық одақ",
  ТМД: "тәуелсіз мемлекеттер достастығы",
  ШЫҰ: "шанхай ынтымақтастық ұйымы",
  ЕҚЫҰ: "еуропадағы қауіпсіздік және ынтымақтастық ұйымы",
  ҰҚШҰ: "ұжымдық қауіпсіздік туралы шарт ұйымы",
  ДДСҰ: "дүниежүзілік денсаулық сақтау ұйымы",
  ДСҰ: "дүниежүзілік сауда ұйымы",
  ХВҚ: "халықаралық валюта қоры",
  РФ: "ресей федерациясы",
  ҚХР: "қытай халық республикасы",
  ІІМ: "ішкі істер министрлігі",
  ІІД: "ішкі істер департаменті",
  ТЖМ: "төтенше жағдайлар министрлігі",
  ТЖД: "төтенше жағдайлар департаменті",
  БҒМ: "білім және ғылым министрлігі",
  СІМ: "сыртқы істер министрлігі",
  ҰҚК: "ұлттық қауіпсіздік комитеті",
  ЖШС: "жауапкершілігі шектеулі серіктестік",
  АҚ: "акционерлік қоғам",
  ҰК: "ұлттық компания",
  ЖК: "жеке кәсіпкер",
  ЖСН: "жеке сәйкестендіру нөмірі",
  БСН: "бизнес-сәйкестендіру нөмірі",
  ХҚКО: "халыққа қызмет көрсету орталығы",
  ЖОО: "жоғары оқу орны",
  ҰБТ: "ұлттық бірыңғай тестілеу",
  БАҚ: "бұқаралық ақпарат құралдары",
  ЖІӨ: "жалпы ішкі өнім",
  АЕК: "айлық есептік көрсеткіш",
  ҚҚС: "қосылған құн салығы",
  МӘМС: "міндетті әлеуметтік медициналық сақтандыру",
  БЖЗҚ: "бірыңғай жинақтаушы зейнетақы қоры",
  ТҮКШ: "тұрғын үй-коммуналдық шаруашылық",
  АӨК: "агроөнеркәсіптік кешен",
  ШОБ: "шағын және орта бизнес",
  ҒЗИ: "ғылыми-зерттеу институты",
  КСРО: "кеңестік социалистік республикалар одағы",
  ҰОС: "ұлы отан соғысы",
  ЖЭО: "жылу электр орталығы",
  АЭС: "атом электр стансасы",
  ГЭС: "су электр стансасы",
};
const VOWEL = "аәеёоөұүыіэ";
const GLIDE = "иуюя";
/**
 * Syllables as Kazakh has them, (C)V(C)(C): the vowels apart, and at the end at most a sonorant or a hiss before a
 * consonant ("қарт", "аст"). "ҰҚК" and "АӨК" are none.
 */
const PRONOUNCEABLE = new RegExp(
  `^[${CONSONANTS}]?[${VOWEL}${GLIDE}](?:(?:[${CONSONANTS}]{1,2}[${VOWEL}${GLIDE}])|[${GLIDE}])*(?:[${CONSONANTS}]|[рлнйсң][тқкшсп])?$`,
  "u",
);
const CAPITAL_NEIGHBOUR = new RegExp(`^[ ,:;!?-]*[${UPPER}]{6}|[${UPPER}]{6}[ ,:;!?-]*$`, "u");

/** "АҚШ-тың", "ҚР-да": known names in full, others by letters unless they can be said as a word ("НАТО", "МЕН"). */
export const acronymRule: Rule = patternRule(
  `([${UPPER}]{2,5})(?:-([${LOWER}]+)|([${LOWER}]{2,6}))?${WORD_END}`,
  (match, text) => {
    const [written, letters = "", hyphenated, attached] = match;
    const ending = hyphenated ?? attached;
    if (attached !== undefined && !(Object.hasOwn(ACRONYMS, letters) && isEnding(attached))) return null;
    const spoken = spokenAcronym(letters, text, match.index, match.index + written.length);
    if (spoken === null) return null;
    if (ending === undefined) return spoken;
    return isEnding(ending) ? withEnding(spoken, ending) : `${spoken} ${saidWord(ending)}`;
  },
);

function spokenAcronym(letters: string, text: string, start: number, end: number): string | null {
  const lower = letters.toLowerCase();
  const isWord = PRONOUNCEABLE.test(lower);
  const isShouted =
    CAPITAL_NEIGHBOUR.test(text.slice(Math.max(0, start - 12), start)) ||
    CAPITAL_NEIGHBOUR.test(text.slice(end, end + 12));
  // In a line of capitals "АҚ" is white and "БАҚ" is luck, and "СПОРТ" is a word.
  if (isShouted && (isWord || (letters.length > 4 && hasVowel(lower)))) return null;
  if (Object.hasOwn(ACRONYMS, letters)) return ACRONYMS[letters] ?? null;
  return isWord ? null : spelledByLetters(lower);
}
