import { CURRENCIES } from "./currencies.js";
import { wordTable } from "./word-table.js";

/**
 * Units of measure after a number, and their readings.
 *
 * Source: unit rows of facts-kk.tsv (Unicode CLDR 37 main/kk). A case ending attaches to the last word.
 */
const PLAIN_UNITS = wordTable(`
км: километр; м: метр; дм: дециметр; см: сантиметр; мм: миллиметр; мкм: микрометр; км²: шаршы километр;
м²: шаршы метр; см²: шаршы сантиметр; м³: текше метр; см³: текше сантиметр; км2: шаршы километр;
м2: шаршы метр; см2: шаршы сантиметр; м3: текше метр; см3: текше сантиметр; мм²: шаршы миллиметр;
мм2: шаршы миллиметр; мм³: текше миллиметр; мм3: текше миллиметр; кв. м: шаршы метр; кв.м: шаршы метр;
кв. км: шаршы километр; куб. м: текше метр; куб.м: текше метр; га: гектар; кг: килограмм; г: грамм;
мг: миллиграмм; т: тонна; ц: центнер; л: литр; мл: миллилитр; °C: Цельсий градусы; °С: Цельсий градусы;
° C: Цельсий градусы; ° С: Цельсий градусы; °F: Фаренгейт градусы; °: градус; сағ: сағат; мин: минут;
с: секунд; сек: секунд; мс: миллисекунд; ап: апта; Вт: ватт; кВт: киловатт; МВт: мегаватт; ГВт: гигаватт;
кВт·сағ: киловатт-сағат; кВт·ч: киловатт-сағат; В: вольт; кВ: киловольт; А: ампер; Гц: герц; кГц: килогерц;
МГц: мегагерц; ГГц: гигагерц; байт: байт; КБ: килобайт; Кб: килобайт; МБ: мегабайт; Мб: мегабайт;
ГБ: гигабайт; Гб: гигабайт; ТБ: терабайт; Тб: терабайт; ккал: килокалория; Дж: джоуль; кДж: килоджоуль;
Па: паскаль; кПа: килопаскаль; гПа: гектопаскаль; мкг: микрограмм; мм сын. бағ.: миллиметр сынап бағанасы;
мм с.б.: миллиметр сынап бағанасы; а.к.: ат күші; %: пайыз; ‰: промилле; дл: децилитр; гл: гектолитр;
моль: моль; дБ: децибел; лк: люкс; бар: бар; МПа: мегапаскаль; Н: ньютон; Ом: ом; кОм: килоом;
мА: миллиампер; мА·сағ: миллиампер-сағат; мВ: милливольт; мВт: милливатт; МВт·сағ: мегаватт-сағат;
ГВт·сағ: гигаватт-сағат; ТВт: тераватт; бит: бит; кбит: килобит; Мбит: мегабит; Гбит: гигабит; шақ: шақырым;
шаршы м: шаршы метр; шаршы км: шаршы километр; текше м: текше метр; px: пиксель; п.т.: пайыздық тармақ;
m: метр; m2: шаршы метр; m²: шаршы метр; m3: текше метр; m³: текше метр; km2: шаршы километр;
km²: шаршы километр; mg: миллиграмм; ml: миллилитр; km: километр; kg: килограмм; cm: сантиметр;
mm: миллиметр; GB: гигабайт; MB: мегабайт; TB: терабайт; KB: килобайт; GHz: гигагерц; MHz: мегагерц;
kWh: киловатт-сағат
`);

/**
 * Divisors of rates in the possessive dative, spoken before the number: "60 км/сағ" is "сағатына алпыс
 * километр".
 *
 * Source: unit rows of facts-kk.tsv; the ending is possessive -ы/-і/-сы/-сі and dative -на/-не (case_rule
 * rows).
 */
const DIVISORS = wordTable(`
сағ: сағатына; ч: сағатына; h: сағатына; с: секундына; сек: секундына; s: секундына; с²: секунд квадратына;
мин: минутына; тәул: тәулігіне; тәулік: тәулігіне; күн: күніне; апта: аптасына; ай: айына; жыл: жылына;
л: литріне; мл: миллилитріне; дл: децилитріне; кг: килограмына; г: грамына; т: тоннасына; га: гектарына;
км: километріне; м: метріне; км²: шаршы километріне; м²: шаршы метріне; м³: текше метріне;
см³: текше сантиметріне; м3: текше метріне; м2: шаршы метріне; адам: адамына; дана: данасына
`);

/** Scale words by their abbreviations. */
const SCALES = wordTable(`
тыс: мың; мың: мың; млрд: миллиард; млн: миллион; миллион: миллион; миллиард: миллиард; трлн: триллион;
триллион: триллион
`);

/** End of a pattern: no letter, digit or power may follow. */
const END = "(?![\\p{L}\\p{M}\\d²³])";
export const UNIT_PATTERN = new RegExp(
  // "7 А сыныбы" is a class, not a current.
  ` ?(${alternatives(Object.keys(PLAIN_UNITS))})(?<!(?<!°) ?[АВ](?= \\p{L}))${END}`,
  "yu",
);
/** Matches "км/сағ", "₸/кг"; the groups are the measure and its divisor. */
export const RATE_PATTERN = new RegExp(
  ` ?(${alternatives([...Object.keys(PLAIN_UNITS), ...Object.keys(CURRENCIES)])})/(${alternatives(Object.keys(DIVISORS))})${END}`,
  "yu",
);
export const SCALE_PATTERN = new RegExp(` ?(${alternatives(Object.keys(SCALES))})${END}`, "yu");
export const CURRENCY_PATTERN = new RegExp(` ?(${alternatives(Object.keys(CURRENCIES))})${END}`, "yu");

export function unitName(written: string): string {
  return PLAIN_UNITS[written]!.toLowerCase();
}

/** Returns the words before and after the number of a rate. */
export function rateOf(
  measured: string,
  divisor: string,
): { readonly before: string; readonly after: string } {
  return { before: DIVISORS[divisor]!, after: CURRENCIES[measured]?.name ?? unitName(measured) };
}

/** Reads a unit, currency or scale without a number, as in "бір кг"; null for others. */
export function bareUnitName(written: string): string | null {
  if (Object.hasOwn(SCALES, written)) return SCALES[written] ?? null;
  if (Object.hasOwn(CURRENCIES, written)) return CURRENCIES[written]?.name ?? null;
  return Object.hasOwn(PLAIN_UNITS, written) ? unitName(written) : null;
}

export function scaleName(written: string): string {
  return SCALES[written]!;
}

/** Joins alternatives, longest first, so that "км/сағ" wins over "км". */
function alternatives(texts: readonly string[]): string {
  const longestFirst = texts.toSorted((a, b) => b.length - a.length);
  return longestFirst.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("|");
}
