import { moneyFor } from "../../../../core/domain/usage/credit-price.js";
import type { Prices } from "../api.js";
import type { Loaded } from "../hooks.js";
import { useWords } from "../text/language.js";

/** Credits in money, where the operator has named a price; else nothing. */
export function Money({ credits, prices }: { readonly credits: number; readonly prices: Loaded<Prices> }) {
  const { money } = useWords();
  const price = prices.state === "ready" ? prices.value.credit_price : null;
  if (price === null || credits <= 0) return null;
  return <span class="money">{money(moneyFor(credits, price), price.currency)}</span>;
}
