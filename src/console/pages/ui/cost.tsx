import { moneyFor } from "../../../../core/domain/usage/credit-price.js";
import { creditsFor, SYNTHESIS_TARIFF } from "../../../../core/domain/usage/tariff.js";
import type { Prices } from "../api.js";
import { type Loaded, useLoaded } from "../hooks.js";
import { money, t } from "../text/language.js";

const MINUTE_S = 60;

/** Formats credits as money; empty if the operator has not set a price. */
export function Money({ credits, prices }: { readonly credits: number; readonly prices: Loaded<Prices> }) {
  const price = prices.state === "ready" ? prices.value.credit_price : null;
  if (price === null || credits <= 0) return null;
  return <span class="money">{money(moneyFor(credits, price), price.currency)}</span>;
}

/** Shows the price of a minute of audio. */
export function MinuteCost({ kind }: { readonly kind: "file" | "live" }) {
  const [prices] = useLoaded<Prices>("/prices");
  if (prices.state !== "ready") return null;
  const { credits, per_units: perUnits } = prices.value.tariffs[kind];
  const cost = Math.ceil((MINUTE_S * credits) / perUnits);
  return (
    <p class="hint number cost">
      {t("minuteCosts", { credits: t("creditsUnit", { n: cost }) })} <Money credits={cost} prices={prices} />
    </p>
  );
}

/**
 * The number of credits that speaking a whole text costs. Uses the default tariff until the service's own is
 * known.
 */
export function speechCredits(text: string, prices: Loaded<Prices>): number {
  const own = prices.state === "ready" ? prices.value.tariffs.synthesis : null;
  const tariff = own === null ? SYNTHESIS_TARIFF : { credits: own.credits, perUnits: own.per_units };
  return creditsFor({ units: [...text].length, unitsPerSecond: 1 }, tariff);
}
