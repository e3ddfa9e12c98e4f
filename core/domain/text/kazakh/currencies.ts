/**
 * Currencies by their signs, codes and short names.
 *
 * Source: currency rows of facts-kk.tsv (Unicode CLDR 37 main/kk); ISO 4217 codes.
 */
export interface Currency {
  readonly name: string;
  /** Name of a hundredth; null if fractions are read as decimals. */
  readonly minor: string | null;
}

const TENGE: Currency = { name: "теңге", minor: "тиын" };
const DOLLAR: Currency = { name: "доллар", minor: "цент" };
const EURO: Currency = { name: "еуро", minor: "цент" };
const ROUBLE: Currency = { name: "рубль", minor: "тиын" };
/** Its sign is also the yen's; the yuan is more common in Kazakhstan. */
const YUAN: Currency = { name: "юань", minor: null };
const YEN: Currency = { name: "иена", minor: null };
const POUND: Currency = { name: "фунт стерлинг", minor: "пенс" };
const LIRA: Currency = { name: "лира", minor: null };

export const CURRENCIES: Readonly<Record<string, Currency>> = {
  "₸": TENGE,
  тг: TENGE,
  тнг: TENGE,
  теңге: TENGE,
  KZT: TENGE,
  $: DOLLAR,
  USD: DOLLAR,
  долл: DOLLAR,
  доллар: DOLLAR,
  "€": EURO,
  EUR: EURO,
  еуро: EURO,
  "₽": ROUBLE,
  руб: ROUBLE,
  рубль: ROUBLE,
  RUB: ROUBLE,
  "¥": YUAN,
  CNY: YUAN,
  "£": POUND,
  GBP: POUND,
  "₺": LIRA,
  TRY: LIRA,
  JPY: YEN,
  сом: { name: "сом", minor: "тыйын" },
  KGS: { name: "сом", minor: "тыйын" },
  сум: { name: "сум", minor: null },
  UZS: { name: "сум", minor: null },
  "₴": { name: "гривна", minor: null },
  "₹": { name: "рупия", minor: null },
  "₩": { name: "вон", minor: null },
  "₿": { name: "биткоин", minor: null },
  "₼": { name: "манат", minor: null },
  "₾": { name: "лари", minor: null },
  "₪": { name: "шекель", minor: null },
  "¢": { name: "цент", minor: null },
  тиын: { name: "тиын", minor: null },
  цент: { name: "цент", minor: null },
};
