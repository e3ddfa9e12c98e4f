import type { Prices } from "../api.js";
import { useLoaded } from "../hooks.js";
import { useWords } from "../text/language.js";
import { Money } from "./money.js";

const MINUTE_S = 60;

/** What a minute of sound costs, before any is sent. */
export function MinuteCost({ kind }: { readonly kind: "file" | "live" }) {
  const { t } = useWords();
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
