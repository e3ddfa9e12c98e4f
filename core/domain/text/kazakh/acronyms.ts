import { CONSONANTS, hasVowel, LOWER, spelledByLetters, UPPER } from "./letters.js";
import { patternRule, type Rule, WORD_END } from "./reading.js";
import { isEnding, withEnding } from "./suffixes.js";
import { wordTable } from "./word-table.js";
import { saidWord } from "./words.js";

/** Source: abbreviation rows of facts-kk.tsv (common usage); the rest are official names of institutions. */
const ACRONYMS = wordTable(`
ҚР: қазақстан республикасы; АҚШ: америка құрама штаттары; БҰҰ: біріккен ұлттар ұйымы; ЕО: еуропалық одақ;
ЕАЭО: еуразиялық экономикалық одақ; ТМД: тәуелсіз мемлекеттер достастығы; ШЫҰ: шанхай ынтымақтастық ұйымы;
ЕҚЫҰ: еуропадағы қауіпсіздік және ынтымақтастық ұйымы; ҰҚШҰ: ұжымдық қауіпсіздік туралы шарт ұйымы;
ДДСҰ: дүниежүзілік денсаулық сақтау ұйымы; ДСҰ: дүниежүзілік сауда ұйымы; ХВҚ: халықаралық валюта қоры;
РФ: ресей федерациясы; ҚХР: қытай халық республикасы; ІІМ: ішкі істер министрлігі;
ІІД: ішкі істер департаменті; ТЖМ: төтенше жағдайлар министрлігі; ТЖД: төтенше жағдайлар департаменті;
БҒМ: білім және ғылым министрлігі; СІМ: сыртқы істер министрлігі; ҰҚК: ұлттық қауіпсіздік комитеті;
ЖШС: жауапкершілігі шектеулі серіктестік; АҚ: акционерлік қоғам; ҰК: ұлттық компания; ЖК: жеке кәсіпкер;
ЖСН: жеке сәйкестендіру нөмірі; БСН: бизнес-сәйкестендіру нөмірі; ХҚКО: халыққа қызмет көрсету орталығы;
ЖОО: жоғары оқу орны; ҰБТ: ұлттық бірыңғай тестілеу; БАҚ: бұқаралық ақпарат құралдары; ЖІӨ: жалпы ішкі өнім;
АЕК: айлық есептік көрсеткіш; ҚҚС: қосылған құн салығы; МӘМС: міндетті әлеуметтік медициналық сақтандыру;
БЖЗҚ: бірыңғай жинақтаушы зейнетақы қоры; ТҮКШ: тұрғын үй-коммуналдық шаруашылық;
АӨК: агроөнеркәсіптік кешен; ШОБ: шағын және орта бизнес; ҒЗИ: ғылыми-зерттеу институты;
КСРО: кеңестік социалистік республикалар одағы; ҰОС: ұлы отан соғысы; ЖЭО: жылу электр орталығы;
АЭС: атом электр стансасы; ГЭС: су электр стансасы; ЖЭС: жылу электр стансасы;
ДДҰ: дүниежүзілік денсаулық сақтау ұйымы; ЭЫДҰ: экономикалық ынтымақтастық және даму ұйымы;
АӨСШК: азиядағы өзара іс-қимыл және сенім шаралары кеңесі; ТМҰ: түркі мемлекеттері ұйымы;
ЕДБ: еуразия даму банкі; ЕҚДБ: еуропа қайта құру және даму банкі; БҚО: батыс қазақстан облысы;
ШҚО: шығыс қазақстан облысы; СҚО: солтүстік қазақстан облысы; ОҚО: оңтүстік қазақстан облысы;
КСР: кеңестік социалистік республикасы; АКСР: автономиялық кеңестік социалистік республикасы;
РКФСР: ресей кеңестік федеративтік социалистік республикасы; КОКП: кеңес одағы коммунистік партиясы;
КХДР: корей халық демократиялық республикасы; БАӘ: біріккен араб әмірліктері; ҰҒА: ұлттық ғылым академиясы;
ІІБ: ішкі істер басқармасы; ДСМ: денсаулық сақтау министрлігі; ОАМ: оқу-ағарту министрлігі;
АШМ: ауыл шаруашылығы министрлігі; ҰЭМ: ұлттық экономика министрлігі; МКК: мемлекеттік кірістер комитеті;
МЖӘ: мемлекеттік-жекеменшік әріптестік; ЭЦҚ: электрондық цифрлық қолтаңба;
АХҚО: астана халықаралық қаржы орталығы; АЭА: арнайы экономикалық аймақ;
ӘКК: әлеуметтік-кәсіпкерлік корпорация; ЖАҚ: жабық акционерлік қоғам; ААҚ: ашық акционерлік қоғам;
МАИ: мемлекеттік автоинспекция; ЖҚЕ: жол қозғалысы ережелері; КЕАҚ: коммерциялық емес акционерлік қоғам;
РМК: республикалық мемлекеттік кәсіпорын; КММ: коммуналдық мемлекеттік мекеме; ҮЕҰ: үкіметтік емес ұйым;
ҚХА: қазақстан халқы ассамблеясы; ҚазҰУ: қазақ ұлттық университеті; ЕҰУ: еуразия ұлттық университеті;
ҚазҰПУ: қазақ ұлттық педагогикалық университеті; ҚазҰТУ: қазақ ұлттық техникалық университеті;
ҚазҰМУ: қазақ ұлттық медицина университеті; ҚазҰАУ: қазақ ұлттық аграрлық университеті;
ҚазМУ: қазақ мемлекеттік университеті; ТЖ: төтенше жағдай; ТКШ: тұрғын үй-коммуналдық шаруашылық;
ЖЖМ: жанар-жағармай материалдары; ҰТО: ұлттық тестілеу орталығы; ҰКП: ұлттық кәсіпкерлер палатасы;
ЖАО: жергілікті атқарушы орган; РМҚК: республикалық мемлекеттік қазыналық кәсіпорын;
МКҚК: мемлекеттік коммуналдық қазыналық кәсіпорын; КМҚК: коммуналдық мемлекеттік қазыналық кәсіпорын;
ШЖҚ: шаруашылық жүргізу құқығындағы; ҒЖБМ: ғылым және жоғары білім министрлігі;
ҰОК: ұлттық олимпиада комитеті; ХОК: халықаралық олимпиада комитеті;
ЖСДП: жалпыұлттық социал-демократиялық партия; ЖИ: жасанды интеллект; ЖЭК: жаңартылатын энергия көздері;
ҚРҰБ: қазақстан республикасының ұлттық банкі; ӘҚБтК: әкімшілік құқық бұзушылық туралы кодекс;
ЕурАзЭҚ: еуразиялық экономикалық қоғамдастық; ЕуразЭҚ: еуразиялық экономикалық қоғамдастық;
ҚазАКСР: қазақ автономиялық кеңестік социалистік республикасы;
ҚазКСР: қазақ кеңестік социалистік республикасы
`);
/**
 * Pronounced as words although their syllables are not Kazakh, or because spelling them would take too long.
 */
const SAID_AS_WORDS = new Set(
  "ЖИТС ЭКСПО ЮНЕСКО ЮНИСЕФ НАТО УЕФА ФИФА ОПЕК НАСА МАГАТЭ КЕГОК БРИКС ИНТЕРПОЛ КОВИД СКАТ АЛЖИР ЮНКТАД ФАО ОСАГО ГУЛАГ КАМАЗ БЕЛАЗ СПИД ЛУКОЙЛ КИМЭП ИГИЛ АСЕАН ЕВРАЗЭС ГОСТ".split(
    " ",
  ),
);
const VOWEL = "аәеёоөұүыіэ";
const GLIDE = "иуюя";
/**
 * Kazakh syllables, (C)V(C)(C): no adjacent vowels, and at the end at most a sonorant or sibilant plus a
 * consonant ("қарт", "аст"). "ҰҚК" and "АӨК" do not match.
 */
const PRONOUNCEABLE = new RegExp(
  `^[${CONSONANTS}]?[${VOWEL}${GLIDE}](?:(?:[${CONSONANTS}]{1,2}[${VOWEL}${GLIDE}])|[${GLIDE}])*(?:[${CONSONANTS}]|[рлнйсң][тқкшсп])?$`,
  "u",
);
const CAPITAL_NEIGHBOUR = new RegExp(`^[ ,:;!?-]*[${UPPER}]{6}|[${UPPER}]{6}[ ,:;!?-]*$`, "u");

/** A country's academy, bank and codes of law; elsewhere these letters have other meanings. */
const AFTER_COUNTRIES = wordTable(`
ҒА: ғылым академиясы; ҰБ: ұлттық банкі; ҚК: қылмыстық кодексі; ЕК: еңбек кодексі; АК: азаматтық кодексі;
СК: салық кодексі; ҚПК: қылмыстық-процестік кодексі
`);
const COUNTRY_BEFORE = /(?:ҚР|РФ|КСРО|КСР|СССР|Қазақстан(?: Республикасы(?:ның)?)?|Ресей) $/u;
const PARTY_BEFORE = /(?:К[Оо]?[КП]?П|партиясы) $/u;

/**
 * "АҚШ-тың", "ҚР-да": reads known names in full, others by letters unless they are pronounceable ("НАТО",
 * "МЕН").
 */
export const acronymRule: Rule = patternRule(
  `(Қаз[${UPPER}]{2,4}|Еу[рР][аА]зЭҚ|ӘҚБтК|[${UPPER}]{2,8})(?:-([${LOWER}]+)|([${LOWER}]{2,6}))?${WORD_END}`,
  (match, text) => {
    const [written, letters = "", hyphenated, attached] = match;
    const ending = hyphenated ?? attached;
    // A party's committee; elsewhere "ОК" is a button.
    if (letters === "ОК" && PARTY_BEFORE.test(text.slice(Math.max(0, match.index - 12), match.index)))
      return ending === undefined ? "орталық комитеті" : withEnding("орталық комитеті", ending);
    const ofCountry = AFTER_COUNTRIES[letters];
    if (
      ofCountry !== undefined &&
      COUNTRY_BEFORE.test(text.slice(Math.max(0, match.index - 26), match.index))
    ) {
      if (ending === undefined) return ofCountry;
      return isEnding(ending) ? withEnding(ofCountry, ending) : null;
    }
    // "ІТ-компания" is often written with the Kazakh І; "ІТ" is a dog only without a hyphen.
    if (letters === "ІТ" && hyphenated !== undefined)
      return isEnding(hyphenated) ? `ай ти${hyphenated}` : `ай ти ${saidWord(hyphenated)}`;
    if (
      hyphenated !== undefined &&
      isEnding(hyphenated) &&
      isSaidAsWord(letters) &&
      !Object.hasOwn(ACRONYMS, letters)
    )
      return letters.toLowerCase() + hyphenated;
    if (letters.length > 5 && !Object.hasOwn(ACRONYMS, letters)) return null;
    if (attached !== undefined && !(Object.hasOwn(ACRONYMS, letters) && isEnding(attached))) return null;
    const spoken = spokenAcronym(letters, text, match.index, match.index + written.length);
    if (spoken === null) return null;
    if (ending === undefined) return spoken;
    return isEnding(ending) ? withEnding(spoken, ending) : `${spoken} ${saidWord(ending)}`;
  },
);

/**
 * Reads known acronyms of at least three letters with dots, "А.Қ.Ш.", "Б.Ұ.Ұ.-ның"; two letters are initials.
 */
export const dottedAcronymRule: Rule = patternRule(
  `(?<![\\p{L}\\p{M}])((?:[${UPPER}]\\.){2,5}(?:[${UPPER}]\\.?)?)(?:-([${LOWER}]+)${WORD_END})?(?! ?[${UPPER}][${LOWER}])`,
  ([, written = "", ending], text) => {
    const letters = written.replaceAll(".", "");
    const spoken = letters.length > 2 && Object.hasOwn(ACRONYMS, letters) ? ACRONYMS[letters]! : null;
    if (spoken === null || (ending !== undefined && !isEnding(ending))) return null;
    if (ending !== undefined) return withEnding(spoken, ending);
    return text.trimEnd().endsWith(written) && written.endsWith(".") ? `${spoken}.` : spoken;
  },
);

function spokenAcronym(letters: string, text: string, start: number, end: number): string | null {
  const lower = letters.toLowerCase();
  const isWord = PRONOUNCEABLE.test(lower);
  const isShouted =
    CAPITAL_NEIGHBOUR.test(text.slice(Math.max(0, start - 12), start)) ||
    CAPITAL_NEIGHBOUR.test(text.slice(end, end + 12));
  // In a line of capitals "АҚ" is white, "БАҚ" is luck, and "СПОРТ" is a word.
  if (isShouted && (isWord || (letters.length > 4 && hasVowel(lower)))) return null;
  if (Object.hasOwn(ACRONYMS, letters)) return ACRONYMS[letters] ?? null;
  return isWord || SAID_AS_WORDS.has(letters) ? null : spelledByLetters(lower);
}

function isSaidAsWord(letters: string): boolean {
  return SAID_AS_WORDS.has(letters) || PRONOUNCEABLE.test(letters.toLowerCase());
}
