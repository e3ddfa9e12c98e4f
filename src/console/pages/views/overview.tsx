import type { ApiKey, Credits } from "../api.js";
import { useLoaded } from "../hooks.js";
import { Link } from "../router.js";
import { useWords } from "../text/language.js";
import { PageHead, Shown } from "../ui/parts.js";
import type { ViewProps } from "../view-props.js";

const PLAYGROUNDS = [
  { name: "speak", lead: "startSpeak", icon: "M5 9v6h4l5 4V5L9 9H5zM17 8.5a5 5 0 0 1 0 7" },
  { name: "transcribe", lead: "startTranscribe", icon: "M6 3h8l4 4v14H6zM9 11h6M9 15h6" },
  {
    name: "listen",
    lead: "startListen",
    icon: "M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4",
  },
] as const;

/** The first page: what there is, and where to begin. */
export function Overview({ organization }: ViewProps) {
  const { t, number } = useWords();
  const at = `/organizations/${organization.id}`;
  const [credits, reload] = useLoaded<Credits>(`${at}/credits`);
  const [keys] = useLoaded<{ readonly data: readonly ApiKey[] }>(`${at}/keys`);
  const hasKey = keys.state === "ready" && keys.value.data.some((key) => key.revoked_at === null);
  return (
    <>
      <PageHead title={t("welcome")} lead={t("grantLead")} />
      <Shown loaded={credits} retry={() => void reload()}>
        {({ available, held }) => (
          <section class="card balance">
            <div>
              <h2>{t("balance")}</h2>
              <p class="figure">{t("creditsUnit", { n: available })}</p>
              {held > 0 && <p class="hint">{t("heldNote", { n: held })}</p>}
            </div>
            <Link to="credits" class="button plain">
              {t("credits")}
            </Link>
          </section>
        )}
      </Shown>
      <ul class="tiles">
        {PLAYGROUNDS.map(({ name, lead, icon }) => (
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
          <p class="hint">{t("firstKeyLead")}</p>
        </div>
        <Link to="keys" class={`button ${hasKey ? "plain" : "primary"}`}>
          {hasKey && keys.state === "ready"
            ? `${t("keys")} · ${number(keys.value.data.length)}`
            : t("createKey")}
        </Link>
      </section>
    </>
  );
}
