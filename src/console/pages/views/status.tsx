import type { UsageRow } from "../api.js";
import { useLoaded, useWhileSeen } from "../hooks.js";
import { useWords } from "../text/language.js";
import { PageHead, Shown } from "../ui/parts.js";

const EVERY_MS = 5_000;
const NAMES = { synthesis: "speak", file: "transcribe", live: "listen" } as const;

interface ServiceStatus {
  readonly is_ready: boolean;
  readonly version: string;
  /** 0: models stay. */
  readonly model_idle_s: number;
  readonly engines: readonly {
    readonly kind: UsageRow["kind"];
    readonly model: string;
    readonly state: "cold" | "loading" | "warm" | "down" | "stopping";
    readonly load_ms: number | null;
  }[];
}

/** What the service says of itself, asked again while somebody looks. */
export function Status() {
  const { t, number } = useWords();
  const [status, reload] = useLoaded<ServiceStatus>("/status");
  useWhileSeen(reload, EVERY_MS);
  return (
    <>
      <PageHead title={t("status")} lead={t("statusLead")} />
      <Shown loaded={status} retry={() => void reload()}>
        {({ is_ready: isReady, engines, version, model_idle_s: idleSeconds }) => (
          <>
            <p class={`overall ${isReady ? "warm" : "down"}`} role="status">
              <span class="dot" aria-hidden="true" />
              {t(isReady ? "serviceReady" : "serviceDown")}
            </p>
            <ul class="card engines">
              {engines.map(({ kind, model, state, load_ms: loadMs }) => (
                <li key={kind}>
                  <div>
                    <h2>{t(NAMES[kind])}</h2>
                    <p class="hint mono">{model}</p>
                  </div>
                  <div class={`state-of ${state}`}>
                    <strong>
                      <span class="dot" aria-hidden="true" />
                      {t(`state_${state}`)}
                    </strong>
                    <span class="hint">
                      {t(`stateNote_${state}`)}
                      {state === "cold" &&
                        loadMs !== null &&
                        ` ${t("loadTook", { n: number(loadMs / 1_000, 1) })}`}
                    </span>
                  </div>
                </li>
              ))}
            </ul>
            <p class="hint">
              {idleSeconds > 0 && `${t("idleNote", { n: Math.ceil(idleSeconds / 60) })} `}
              {t("version", { version })}
            </p>
          </>
        )}
      </Shown>
    </>
  );
}
