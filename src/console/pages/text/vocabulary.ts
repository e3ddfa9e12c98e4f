/** Texts of the page of stored words. */
export const vocabularyEn = {
  vocabulary: "Vocabulary",
  vocabularyLead:
    "Names and terms of your organization. They apply to all its requests: with API keys, in jobs and in the playground.",
  hotWordsLead: "Transcriptions prefer these words over others that sound similar.",
  hotWordsLines: "One word or phrase per line",
  hotWordsLimits:
    "Up to {characters} characters each. A number from 0 to {largest} after a colon sets the weight: маңғыстау:2. Without it, the weight is {usual}.",
  pronunciationsLead: "Speech pronounces these words the way you write here.",
  pronunciationsLines: "One per line: word = how it sounds",
  pronunciationsLimits: "Up to {characters} characters on each side. Write the sound in Kazakh letters.",
  countOf: "{n} of {most}",
  discard: "Discard changes",
  vocabularySaved: "Saved. New requests use it within 30 seconds.",
  vocabularyUnsaved: "Unsaved changes",
  vocabularyChanged: "Someone else has changed the vocabulary",
  vocabularyChangedLead:
    "Save again to replace their version with yours, or discard your changes to see theirs.",
  vocabularyMore: "A request’s own words win over these. The API can also read and replace them:",
  lineLength: "Line {line}: use 1 to {most} characters.",
  tooManyLines: "Use at most {most}. There are {n} now.",
  hotWordWeight: "Line {line}: the weight must be a number from 0 to {largest}.",
  hotWordLetter:
    "“{word}” has the character “{letter}”, which no installed model writes. Spell it in letters, as it sounds.",
  pronunciationTwice: "Line {line}: the word is already in line {first}.",
  pronunciationWord:
    "Line {line}: the left side must have letters, digits or signs, and must not repeat another line.",
  pronunciationSay: "Line {line}: the right side cannot be spoken. Write it in Kazakh letters.",
};

type VocabularyTexts = Readonly<Record<keyof typeof vocabularyEn, string>>;

export const vocabularyRu: VocabularyTexts = {
  vocabulary: "Словарь",
  vocabularyLead:
    "Имена и термины вашей организации. Действуют для всех её запросов: по API-ключам, в заданиях и на тестовой площадке.",
  hotWordsLead: "Распознавание предпочитает эти слова другим, похожим на слух.",
  hotWordsLines: "По одному слову или фразе на строку",
  hotWordsLimits:
    "До {characters} символов. Число от 0 до {largest} после двоеточия задаёт вес: маңғыстау:2. Если его нет, вес равен {usual}.",
  pronunciationsLead: "При озвучивании эти слова звучат так, как вы укажете.",
  pronunciationsLines: "По одному на строку: слово = как оно звучит",
  pronunciationsLimits: "До {characters} символов с каждой стороны. Звучание пишите казахскими буквами.",
  countOf: "{n} из {most}",
  discard: "Отменить изменения",
  vocabularySaved: "Сохранено. Новые запросы учтут словарь в течение 30 секунд.",
  vocabularyUnsaved: "Есть несохранённые изменения",
  vocabularyChanged: "Словарь изменил кто-то ещё",
  vocabularyChangedLead:
    "Сохраните ещё раз, чтобы заменить его версию своей, или отмените изменения, чтобы увидеть её.",
  vocabularyMore: "Слова из самого запроса важнее словаря. Прочитать и заменить его можно и через API:",
  lineLength: "Строка {line}: введите от 1 до {most} символов.",
  tooManyLines: "Допустимо не больше {most}, сейчас {n}.",
  hotWordWeight: "Строка {line}: вес должен быть числом от 0 до {largest}.",
  hotWordLetter:
    "В «{word}» есть символ «{letter}», которого не знает ни одна установленная модель. Напишите его буквами, как слышится.",
  pronunciationTwice: "Строка {line}: это слово уже есть в строке {first}.",
  pronunciationWord: "Строка {line}: слева должны быть буквы, цифры или знаки, без повтора других строк.",
  pronunciationSay: "Строка {line}: правую часть нельзя произнести. Напишите её казахскими буквами.",
};

export const vocabularyKk: VocabularyTexts = {
  vocabulary: "Сөздік",
  vocabularyLead:
    "Ұйымыңыздағы есімдер мен терминдер. Ұйымның барлық сұрауына қолданылады: API кілттерімен, тапсырмаларда және сынақ алаңында.",
  hotWordsLead: "Тану кезінде ұқсас естілетін сөздердің ішінен осылар таңдалады.",
  hotWordsLines: "Әр жолға бір сөз немесе тіркес",
  hotWordsLimits:
    "{characters} таңбаға дейін. Қос нүктеден кейінгі 0–{largest} аралығындағы сан — салмағы: маңғыстау:2. Көрсетілмесе, салмағы {usual} болады.",
  pronunciationsLead: "Мәтінді дыбыстағанда бұл сөздер сіз жазғандай айтылады.",
  pronunciationsLines: "Әр жолға біреуден: сөз = айтылуы",
  pronunciationsLimits: "Екі жағы да {characters} таңбаға дейін. Айтылуын қазақ әріптерімен жазыңыз.",
  countOf: "{most} ішінен {n}",
  discard: "Өзгерістерден бас тарту",
  vocabularySaved: "Сақталды. Жаңа сұрауларға 30 секунд ішінде қолданылады.",
  vocabularyUnsaved: "Сақталмаған өзгерістер бар",
  vocabularyChanged: "Сөздікті басқа біреу өзгертті",
  vocabularyChangedLead:
    "Оның нұсқасын өзіңіздікімен ауыстыру үшін қайта сақтаңыз. Оны көру үшін өзгерістеріңізден бас тартыңыз.",
  vocabularyMore: "Сұраудың өз сөздері сөздіктен басым. Сөздікті API арқылы да оқып, ауыстыруға болады:",
  lineLength: "{line}-жол: 1–{most} таңба енгізіңіз.",
  tooManyLines: "Ең көбі {most} болуы керек, қазір {n}.",
  hotWordWeight: "{line}-жол: салмағы 0 мен {largest} аралығындағы сан болуы керек.",
  hotWordLetter:
    "«{word}» ішіндегі «{letter}» таңбасын орнатылған модельдердің ешқайсысы жазбайды. Оны естілуінше, әріппен жазыңыз.",
  pronunciationTwice: "{line}-жол: бұл сөз {first}-жолда бар.",
  pronunciationWord:
    "{line}-жол: сол жағында әріп, цифр немесе белгі болуы керек, басқа жолды қайталауға болмайды.",
  pronunciationSay: "{line}-жол: оң жағын дыбыстау мүмкін емес. Қазақ әріптерімен жазыңыз.",
};
