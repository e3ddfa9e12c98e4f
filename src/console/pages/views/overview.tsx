import { FREE_GRANT_CREDITS } from "../../../../core/domain/usage/tariff.js";
import type { ApiKey, Credits, List, Prices, ViewProps } from "../api.js";
import { useLoaded } from "../hooks.js";
import { Link } from "../router.js";
import { servedPages } from "../served.js";
import { date, t } from "../text/language.js";
import { Money } from "../ui/cost.js";
import { ButtonLink, PageHead, WhenLoaded } from "../ui/parts.js";

const PLAYGROUNDS = [
  { name: "speak", lead: "startSpeak", icon: "M5 9v6h4l5 4V5L9 9H5zM17 8.5a5 5 0 0 1 0 7" },
  { name: "transcribe", lead: "startTranscribe", icon: "M6 3h8l4 4v14H6zM9 11h6M9 15h6" },
  { name: "jobs", lead: "startJobs", icon: "M4 6h3v3H4zM10 7.5h10M4 15h3v3H4zM10 16.5h10" },
  {
    name: "listen",
    lead: "startListen",
    icon: "M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4",
  },
] as const;

export function Overview({ organization, session }: ViewProps) {
  const at = `/organizations/${organization.id}`;
  const [credits, reload] = useLoaded<Credits>(`${at}/credits`);
  const [prices] = useLoaded<Prices>("/prices");
  const [keys] = useLoaded<List<ApiKey>>(`${at}/keys`);
  const active = keys.state === "ready" ? keys.value.data.filter((key) => key.revoked_at === null).length : 0;
  return (
    <>
      <PageHead title={t("welcome")} lead={t(active > 0 ? "homeLeadKnown" : "homeLead")} />
      <WhenLoaded loaded={credits} retry={reload}>
        {(value) => (
          <section class="card balance">
            <div>
              <h2>{t("balance")}</h2>
              <p class={`figure ${value.available > 0 ? "" : "wrong"}`}>
                {t("creditsUnit", { n: value.available })}
                <Money credits={value.available} prices={prices} />
              </p>
              <p class="hint">
                <BalanceNote credits={value} />
              </p>
              {value.held > 0 && <p class="hint">{t("heldNote", { n: value.held })}</p>}
            </div>
            <ButtonLink
              to="credits"
              look={value.available > 0 ? "plain" : "primary"}
              text={t(value.available > 0 ? "credits" : "redeemVoucher")}
            />
          </section>
        )}
      </WhenLoaded>
      <ul class="tiles">
        {PLAYGROUNDS.filter(({ name }) => servedPages(session).includes(name)).map(({ name, lead, icon }) => (
          <li key={name}>
            <Link to={name} class="card tile">
              <svg viewBox="0 0 24 24" aria-hidden="true">
                <path d={icon} />
              </svg>
              <strong>{t(name)}</strong>
              <span>{t(lead)}</span>
            </Link>
          </li>
        ))}
      </ul>
      <section class="card row">
        <div>
          <h2>{t("firstKey")}</h2>
          <p class="hint">{active > 0 ? t("activeKeys", { n: active }) : t("firstKeyLead")}</p>
        </div>
        <ButtonLink
          to="keys"
          look={active > 0 ? "plain" : "primary"}
          text={t(active > 0 ? "keys" : "createKey")}
        />
      </section>
    </>
  );
}

/** States where the balance comes from: the last top-up, or the free credits. */
function BalanceNote({ credits }: { readonly credits: Credits }) {
  const { available, balance, last_top_up: last } = credits;
  if (available <= 0) return <>{t("storyOut")}</>;
  if (last !== null) return <>{t("storyPaid", { n: last.credits, date: date(last.created_at) })}</>;
  if (balance >= FREE_GRANT_CREDITS) return <>{t("storyFree")}</>;
  return <>{t("storyLeft", { n: balance, all: FREE_GRANT_CREDITS })}</>;
}
