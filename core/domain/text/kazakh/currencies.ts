import { wordTable } from "./word-table.js";

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

/** "¥" is also the yen's sign; the yuan is more common in Kazakhstan. */
const NAMES = wordTable(`
₸ тг тнг теңге KZT: теңге, тиын; $ USD долл доллар: доллар, цент; € EUR еуро: еуро, цент;
₽ руб рубль RUB: рубль, тиын; ¥ CNY: юань; £ GBP: фунт стерлинг, пенс; ₺ TRY: лира; JPY: иена;
сом KGS: сом, тыйын; сум UZS: сум; ₴: гривна; ₹: рупия; ₩: вон; ₿: биткоин; ₼: манат; ₾: лари; ₪: шекель;
¢ цент: цент; тиын: тиын
`);

export const CURRENCIES: Readonly<Record<string, Currency>> = Object.fromEntries(
  Object.entries(NAMES).flatMap(([signs, names]) => {
    const [name = "", minor = null] = names.split(", ");
    return signs.split(" ").map((sign) => [sign, { name, minor }]);
  }),
);
