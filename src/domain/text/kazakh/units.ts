/**
 * Units of measure and money, as they are written after a number and said.
 *
 * Source: unit and currency rows of facts-kk.tsv (Unicode CLDR 37 main/kk). A case ending goes to the last word.
 */
const PLAIN_UNITS: Readonly<Record<string, string>> = {
  км: "километр",
  м: "метр",
  дм: "дециметр",
  см: "сантиметр",
  мм: "миллиметр",
  мкм: "микрометр",
  "км²": "шаршы километр",
  "м²": "шаршы метр",
  "см²": "шаршы сантиметр",
  "м³": "текше метр",
  "см³": "текше сантиметр",
  км2: "шаршы километр",
  м2: "шаршы метр",
  см2: "шаршы сантиметр",
  м3: "текше метр",
  см3: "текше сантиметр",
  "кв. м": "шаршы метр",
  "кв.м": "шаршы метр",
  "кв. км": "шаршы километр",
  "куб. м": "текше метр",
  "куб.м": "текше метр",
  га: "гектар",
  кг: "килограмм",
  г: "грамм",
  мг: "миллиграмм",
  т: "тонна",
  ц: "центнер",
  л: "литр",
  мл: "миллилитр",
  "°C": "Цельсий градусы",
  "°С": "Цельсий градусы",
  "° C": "Цельсий градусы",
  "° С": "Цельсий градусы",
  "°": "градус",
  сағ: "сағат",
  мин: "минут",
  с: "секунд",
  сек: "секунд",
  мс: "миллисекунд",
  ап: "апта",
  Вт: "ватт",
  кВт: "киловатт",
  МВт: "мегаватт",
  ГВт: "гигаватт",
  кВт·сағ: "киловатт-сағат",
  кВт·ч: "киловатт-сағат",
  В: "вольт",
  кВ: "киловольт",
  А: "ампер",
  Гц: "герц",
  кГц: "килогерц",
  МГц: "мегагерц",
  ГГц: "гигагерц",
  байт: "байт",
  КБ: "килобайт",
  Кб: "килобайт",
  МБ: "мегабайт",
  Мб: "мегабайт",
  ГБ: "гигабайт",
  Гб: "гигабайт",
  ТБ: "терабайт",
  Тб: "терабайт",
  ккал: "килокалория",
  Дж: "джоуль",
  кДж: "килоджоуль",
  Па: "паскаль",
  кПа: "килопаскаль",
  "мм с.б.": "миллиметр сынап бағанасы",
  "а.к.": "ат күші",
  "%": "пайыз",
  "‰": "промилле",
  px: "пиксель",
  "п.т.": "пайыздық тармақ",
  km: "километр",
  kg: "килограмм",
  cm: "сантиметр",
  mm: "миллиметр",
  GB: "гигабайт",
  MB: "мегабайт",
  TB: "терабайт",
  KB: "килобайт",
  GHz: "гигагерц",
  MHz: "мегагерц",
  kWh: "киловатт-сағат",
};

/** Rates put the divisor before the number: "60 км/сағ" is "сағатына алпыс километр". */
const RATES: readonly (readonly [unit: string, before: string, after: string])[] = [
  ["км/сағ", "сағатына", "километр"],
  ["км/ч", "сағатына", "километр"],
  ["км/h", "сағатына", "километр"],
  ["м/с", "секундына", "метр"],
  ["м/сек", "секундына", "метр"],
  ["км/с", "секундына", "километр"],
  ["Мбит/с", "секундына", "мегабит"],
  ["Гбит/с", "секундына", "гигабит"],
  ["кбит/с", "секундына", "килобит"],
  ["МБ/с", "секундына", "мегабайт"],
  ["л/мин", "минутына", "литр"],
];

/** Scale words by their abbreviations. */
const SCALES: Readonly<Record<string, string>> = {
  тыс: "мың",
  мың: "мың",
  млн: "миллион",
  миллион: "миллион",
  млрд: "миллиард",
  миллиард: "миллиард",
  трлн: "триллион",
  триллион: "триллион",
};

export interface Currency {
  readonly name: string;
  /** A hundredth of it; null where fractions are read as decimals. */
  readonly minor: string | null;
}

const TENGE: Currency = { name: "теңге", minor: "тиын" };
const DOLLAR: Currency = { name: "доллар", minor: "цент" };
const EURO: Currency = { name: "еуро", minor: "цент" };
const ROUBLE: Currency = { name: "рубль", minor: "тиын" };
const YUAN: Currency = { name: "юань", minor: null };
const POUND: Currency = { name: "фунт стерлинг", minor: "пенс" };
const LIRA: Currency = { name: "лира", minor: null };

export const CURRENCIES: Readonly<Record<string, Currency>> = {
  "₸": TENGE,
  тг: TENGE,
  тнг: TENGE,
  KZT: TENGE,
  $: DOLLAR,
  USD: DOLLAR,
  долл: DOLLAR,
  "€": EURO,
  EUR: EURO,
  "₽": ROUBLE,
  руб: ROUBLE,
  RUB: ROUBLE,
  "¥": YUAN,
  CNY: YUAN,
  "£": POUND,
  GBP: POUND,
  "₺": LIRA,
  TRY: LIRA,
};

/** Patterns end where no letter, digit or power follows. */
const END = "(?![\\p{L}\\p{M}\\d²³])";
export const UNIT_PATTERN = new RegExp(
  ` ?(${alternatives(Object.keys(PLAIN_UNITS))})(?<!(?<!°) ?А(?= \\p{L}))${END}`,
  "yu",
);
export const RATE_PATTERN = new RegExp(` ?(${alternatives(RATES.map(([unit]) => unit))})${END}`, "yu");
export const SCALE_PATTERN = new RegExp(` ?(${alternatives(Object.keys(SCALES))})${END}`, "yu");
export const CURRENCY_PATTERN = new RegExp(` ?(${alternatives(Object.keys(CURRENCIES))})${END}`, "yu");

export function unitName(written: string): string {
  return PLAIN_UNITS[written]!.toLowerCase();
}

export function rateOf(written: string): { readonly before: string; readonly after: string } {
  const [, before, after] = RATES.find(([unit]) => unit === written)!;
  return { before, after };
}

export function scaleName(written: string): string {
  return SCALES[written]!;
}

/** Longest first, so that "км/сағ" wins over "км". */
function alternatives(texts: readonly string[]): string {
  const longestFirst = texts.toSorted((a, b) => b.length - a.length);
  return longestFirst.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("|");
}
