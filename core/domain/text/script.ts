/** Languages of transcripts. */
export type SpokenLanguage = "kazakh" | "russian";

const KAZAKH_LETTER = /[әғқңөұүһі]/;

/**
 * The most frequent words of each language without distinctive letters, counted in the project's text
 * corpora.
 */
const KAZAKH_WORDS = new Set(
  `мен керемет екен бар болады осы деп рахмет де ол ойын керек емес болды немесе болып сапасы жылы бойынша тез болса ал жоба
  туралы адам сол болсын тек деген жатыр кезде алып жалпы алла разы неге жаман бес жыл болар жер оны келген есеп олар егер
  алады жерде тамаша болатын байланысты сапалы су жасау сондай сатып осындай алу отыр ма ба па бас ел алдым тапсырыс пен бен
  жеке саны жасап нашар жол аз мысалы бастап ала болуы бала сай алды жиырма содан пайда астам зор жатырмын одан мына орын
  арасында мемлекет жылдан жасайды жолы жас ерте мал сайын жауап ай сонымен беру арнайы берген болмайды таза алдын алты онда
  отырып орта сосын ауыл арзан алайда орыс менде адамдар келе сен біз бір төрт отыз елу он мың иә жоқ бала ана ата`.split(
    /\s+/,
  ),
);
const RUSSIAN_WORDS = new Set(
  `и в ты не я что на а с это как он то его к мы по у но так за меня же все мне вы бы она о из от для ее было еще только уже был
  ну вот нет когда их ли почему они или вас может ему теперь если знаешь чем тебя этого есть быть где хочешь до этом сказал
  чтобы будет кто нас очень тебе ведь вам себя там во сейчас была со этот время него ничего тут даже нам ни этой чего тоже
  всё того здесь можно всех раз сегодня себе без эти больше тогда были сам надо ей просто об ней более под после такой зачем
  должны слово ним какой один всегда человек потому про свою мой них вдруг хорошо тем знаю опять уж однако при лучше день им
  эту куда никогда такое между сколько дело этим который потом два три пять сказать много нее перед этих совсем поэтому лет
  людей делать всем жизни правда эй наконец пожалуйста спасибо здравствуйте привет года работы одна совета сюда туда
  должна откуда жена иногда места народа вопросы которым работа города забыл силы страна самым господа проекта комитета
  годы воды комнаты президента минуты господина окна мужчина однажды часы важным брата волосы первым отсюда региона черта
  никуда княжна свободы климата результаты роста нужна надежды уверена карты оттуда ветер ответа рода обеда вода вина
  навсегда доклада ребята рада каждым беда граждан рады света школы новым главным открыл билеты времена мечты цветы война
  погода`.split(/\s+/),
);

/** Endings that are rare in the other language. */
const RUSSIAN_SHAPE =
  /[щъё]|(?:ть|тся|ться|шь|ся|сь|ого|его|ому|ему|ой|ый|ий|ая|яя|ое|ее|ые|ие|ых|их|ую|юю|ами|ями|ов|ев|ния|ние|нию|ции|ция|ость|ость[ию]|али|или|ла|ло|ют|ят|ает|ует|нно|ьно|тво|тва|ию|ью|ким|ком|ку)$/;
const KAZAKH_SHAPE =
  /(?:[лдт]ар|[лдт]ары[а-я]{0,40}|[лдт]ер|дың|тың|дан|тан|нан|ды|ты|ады|йды|ып|ап|еп|ған|ген|сын|мын|сыз|мыз|йын|май|мау|[ндт]а|ған|сы|лы|шы|уы|ысы|ым|лап|лау|уға|ыл|ыр|ың)$/;

/** Returns the language of most words of a transcript; null without words. */
export function majorityLanguage(words: readonly string[]): SpokenLanguage | null {
  if (words.length === 0) return null;
  let balance = 0;
  for (const word of words) {
    const language = wordLanguage(word);
    if (language !== null) balance += language === "kazakh" ? 1 : -1;
  }
  return balance >= 0 ? "kazakh" : "russian";
}

/** Returns the language of a lower-case word; null if both are equally likely. */
export function wordLanguage(word: string): SpokenLanguage | null {
  if (KAZAKH_LETTER.test(word)) return "kazakh";
  if (KAZAKH_WORDS.has(word)) return RUSSIAN_WORDS.has(word) ? null : "kazakh";
  if (RUSSIAN_WORDS.has(word)) return "russian";
  if (RUSSIAN_SHAPE.test(word)) return "russian";
  if (word.length > 3 && KAZAKH_SHAPE.test(word)) return "kazakh";
  // Letters that Kazakh has only in loanwords.
  return /[цчфэь]/.test(word) ? "russian" : null;
}

const A_WORD = /[\p{L}\p{M}]+/gu;
/** Words that identify the language even when alone; any other lone word may be a name or a loanword. */
const SURE_ALONE =
  /^(?:здравствуй(?:те)?|привет|спасибо|пожалуйста|хорошо|конечно|сегодня|завтра|нельзя|можно|что|почему|когда)$/;

/**
 * Returns whether a sentence is Russian: no Kazakh letter, at least two Russian words, and more than Kazakh.
 */
export function isRussianSentence(sentence: string): boolean {
  const lower = sentence.toLowerCase();
  if (KAZAKH_LETTER.test(lower)) return false;
  const words = lower.match(A_WORD)?.filter((word) => /^[а-яё]+$/.test(word)) ?? [];
  let russian = 0;
  let kazakh = 0;
  for (const word of words) {
    const language = wordLanguage(word);
    if (language === "russian") russian++;
    else if (language === "kazakh") kazakh++;
  }
  if (words.length === 1) return SURE_ALONE.test(words[0]!);
  return russian >= 2 && russian > kazakh && russian * 3 >= words.length;
}
