import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { en, type TextName, type Texts } from "./en.js";
import { kk } from "./kk.js";
import { ru } from "./ru.js";

export const LANGUAGES = { kk: "Қазақша", ru: "Русский", en: "English" } as const;
export type Language = keyof typeof LANGUAGES;
type Values = Readonly<Record<string, string | number>>;

const TEXTS: Readonly<Record<Language, Texts>> = { kk, ru, en };
const STORAGE_KEY = "dauys.language";

export const LanguageContext = createContext<Language>("en");

/** The language that was chosen here, or the first of the browser's that there is. */
export function initialLanguage(): Language {
  const wanted = [localStorage.getItem(STORAGE_KEY) ?? "", ...navigator.languages];
  return wanted.map((name) => name.slice(0, 2)).find(isLanguage) ?? "en";
}

export function keepLanguage(language: Language): void {
  localStorage.setItem(STORAGE_KEY, language);
}

export function isLanguage(name: string): name is Language {
  return Object.hasOwn(LANGUAGES, name);
}

/** Texts, numbers and times in the reader's language. */
export function useTranslation() {
  const language = useContext(LanguageContext);
  const t = (name: TextName, values: Values = {}): string =>
    formOf(TEXTS[language][name], values["n"], language).replace(/\{(\w+)\}/g, (_, key: string) => {
      const value = values[key] ?? "";
      return typeof value === "number" ? number(value) : value;
    });
  const number = (value: number, digits = 0) =>
    new Intl.NumberFormat(localeOf(language), { maximumFractionDigits: digits }).format(value);
  /** In the currency's own writing; small amounts keep two figures that count. */
  const money = (amount: number, currency: string) =>
    new Intl.NumberFormat(localeOf(language), {
      style: "currency",
      currency,
      ...(amount !== 0 && Math.abs(amount) < 1 && { maximumSignificantDigits: 3 }),
    }).format(amount);
  const time = (iso: string) =>
    new Intl.DateTimeFormat(localeOf(language), {
      dateStyle: dateStyleOf(language),
      timeStyle: "short",
    }).format(new Date(iso));
  const date = (iso: string) =>
    new Intl.DateTimeFormat(localeOf(language), { dateStyle: dateStyleOf(language) }).format(new Date(iso));
  /** Short enough for three of them below a chart on a phone. */
  const dayAndMonth = (iso: string) =>
    new Intl.DateTimeFormat(localeOf(language), {
      day: "numeric",
      month: language === "kk" ? "2-digit" : "short",
    }).format(new Date(iso));
  const timeOfDay = (atMs: number) =>
    new Intl.DateTimeFormat(localeOf(language), { timeStyle: "short" }).format(atMs);
  const problem = (code: string, requestId: string | null): string =>
    isTextName(`e_${code}`) ? t(`e_${code}` as TextName) : t("e_unknown", { id: requestId ?? code });
  return { language, t, number, money, time, timeOfDay, date, dayAndMonth, problem };
}

/**
 * Some builds of browsers do not know how Kazakh writes numbers and dates: as Russian does, with months as numbers.
 */
function localeOf(language: Language): string {
  return language === "kk" ? "ru" : language;
}

function dateStyleOf(language: Language): "short" | "medium" {
  return language === "kk" ? "short" : "medium";
}

/** Texts that count hold their forms between bars: one, (few,) many. */
function formOf(text: string, count: string | number | undefined, language: Language): string {
  const forms = text.split("|");
  if (forms.length === 1 || typeof count !== "number") return text;
  const category = new Intl.PluralRules(language).select(count);
  // In Russian "other" are fractions, which take the form of few.
  const isFew = category === "few" || (category === "other" && language === "ru");
  const form = category === "one" ? 0 : isFew ? 1 : 2;
  return forms[Math.min(form, forms.length - 1)] ?? text;
}

function isTextName(name: string): name is TextName {
  return Object.hasOwn(en, name);
}
