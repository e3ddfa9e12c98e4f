import { Store } from "../store.js";
import { en, type TextName, type Texts } from "./en.js";
import { kk } from "./kk.js";
import { ru } from "./ru.js";

export const LANGUAGES = { kk: "Қазақша", ru: "Русский", en: "English" } as const;
type Language = keyof typeof LANGUAGES;
type Values = Readonly<Record<string, string | number>>;

const TEXTS: Readonly<Record<Language, Texts>> = { kk, ru, en };
const STORAGE_KEY = "dauys.language";

// One language for the whole page: the root renders everything again when it changes.
export const language = new Store(initialLanguage());

export function chooseLanguage(name: string): void {
  if (!isLanguage(name)) return;
  localStorage.setItem(STORAGE_KEY, name);
  language.set(name);
}

/** A text in the reader's language. */
export function t(name: TextName, values: Values = {}): string {
  return formOf(TEXTS[language.value][name], values["n"]).replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = values[key] ?? "";
    return typeof value === "number" ? number(value) : value;
  });
}

/** The text for an error code; for an unknown one it names the request. */
export function problemText(code: string, requestId: string | null): string {
  return isTextName(`e_${code}`) ? t(`e_${code}` as TextName) : t("e_unknown", { id: requestId ?? code });
}

export function number(value: number, digits = 0): string {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);
}

/** Amounts below 1 keep three significant digits. */
export function money(amount: number, currency: string): string {
  return new Intl.NumberFormat(locale(), {
    style: "currency",
    currency,
    ...(amount !== 0 && Math.abs(amount) < 1 && { maximumSignificantDigits: 3 }),
  }).format(amount);
}

export function dateAndTime(iso: string): string {
  return formatTime(new Date(iso), { dateStyle: dateStyle(), timeStyle: "short" });
}

export function date(iso: string): string {
  return formatTime(new Date(iso), { dateStyle: dateStyle() });
}

/** Short enough for three of them below a chart on a phone. */
export function dayAndMonth(iso: string): string {
  return formatTime(new Date(iso), { day: "numeric", month: language.value === "kk" ? "2-digit" : "short" });
}

export function timeOfDay(atMs: number): string {
  return formatTime(atMs, { timeStyle: "short" });
}

function formatTime(at: Date | number, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(locale(), options).format(at);
}

/** Some browsers lack Kazakh formats: use the Russian ones, with months as numbers. */
function locale(): string {
  return language.value === "kk" ? "ru" : language.value;
}

function dateStyle(): "short" | "medium" {
  return language.value === "kk" ? "short" : "medium";
}

/** Selects the plural form of a text; forms are separated by bars: one, (few,) many. */
function formOf(text: string, count: string | number | undefined): string {
  const forms = text.split("|");
  if (forms.length === 1 || typeof count !== "number") return text;
  const category = new Intl.PluralRules(language.value).select(count);
  // Russian fractions ("other") take the form of "few".
  const isFew = category === "few" || (category === "other" && language.value === "ru");
  const form = category === "one" ? 0 : isFew ? 1 : 2;
  return forms[Math.min(form, forms.length - 1)] ?? text;
}

/** The language chosen earlier in this browser, or the first of the browser's languages that we have. */
function initialLanguage(): Language {
  const wanted = [localStorage.getItem(STORAGE_KEY) ?? "", ...navigator.languages];
  return wanted.map((name) => name.slice(0, 2)).find(isLanguage) ?? "en";
}

function isLanguage(name: string): name is Language {
  return Object.hasOwn(LANGUAGES, name);
}

function isTextName(name: string): name is TextName {
  return Object.hasOwn(en, name);
}
