import type { UsageRow } from "../api.js";
import { useLoaded, useWhileSeen } from "../hooks.js";
import { useWords } from "../text/language.js";
import { NoteText } from "../ui/model-choice.js";
import { PageHead, Shown } from "../ui/parts.js";

const EVERY_MS = 5_000;
const NAMES = { synthesis: "speak", file: "transcribe", live: "listen" } as const;

interface EngineStatus {
  readonly kind: UsageRow["kind"];
  readonly model: string;
  readonly state: "cold" | "loading" | "warm" | "down" | "stopping";
  readonly load_ms: number | null;
}

interface InstalledModel {
  readonly name: string;
  readonly lang: string;
  readonly notes: string | null;
  readonly default: boolean;
}

interface ServiceStatus {
  readonly is_ready: boolean;
  readonly version: string;
  /** 0: models stay. */
  readonly model_idle_s: number;
  /** Those of the default models first. */
  readonly engines: readonly EngineStatus[];
  readonly models: readonly InstalledModel[];
  /** Packages that are installed and cannot be used. */
  readonly broken: readonly string[];
}

/** What the service says of itself, asked again while somebody looks. */
export function Status() {
  const { t } = useWords();
  const [status, reload] = useLoaded<ServiceStatus>("/status");
  useWhileSeen(reload, EVERY_MS);
  return (
    <>
      <PageHead title={t("status")} lead={t("statusLead")} />
      <Shown loaded={status} retry={() => void reload()}>
        {({ is_ready: isReady, engines, models, broken, version, model_idle_s: idleSeconds }) => (
          <>
            <p class={`overall ${isReady ? "warm" : "down"}`} role="status">
              <span class="dot" aria-hidden="true" />
              {t(isReady ? "serviceReady" : "serviceDown")}
            </p>
            <ul class="card engines">
              {engines.map((engine) => (
                <Engine
                  key={`${engine.kind} ${engine.model}`}
                  engine={engine}
                  model={models.find(({ name }) => name === engine.model)}
                />
              ))}
              {broken.map((name) => (
                <li key={name}>
                  <p class="mono">{name}</p>
                  <div class="state-of down">
                    <strong>
                      <span class="dot" aria-hidden="true" />
                      {t("state_broken")}
                    </strong>
                    <span class="hint">{t("stateNote_broken")}</span>
                  </div>
                </li>
              ))}
            </ul>
            <h2>{t("installedModels")}</h2>
            <dl class="card models">
              {models.map(({ name, lang, notes, default: isDefault }) => (
                <div key={name}>
                  <dt>
                    <strong>{name}</strong> <span class="hint">{lang.replaceAll("-", ", ")}</span>{" "}
                    {isDefault && <span class="tag">{t("modelDefault")}</span>}
                  </dt>
                  {notes !== null && (
                    <dd class="hint">
                      <NoteText notes={notes} />
                    </dd>
                  )}
                </div>
              ))}
            </dl>
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

interface EngineProps {
  readonly engine: EngineStatus;
  readonly model: InstalledModel | undefined;
}

function Engine({ engine: { kind, model: name, state, load_ms: loadMs }, model }: EngineProps) {
  const { t, number } = useWords();
  return (
    <li>
      <div>
        <h2>{t(NAMES[kind])}</h2>
        <p class="hint mono">
          {name}
          {model?.default === true ? ` · ${t("modelDefault")}` : ""}
        </p>
      </div>
      <div class={`state-of ${state}`}>
        <strong>
          <span class="dot" aria-hidden="true" />
          {t(`state_${state}`)}
        </strong>
        <span class="hint">
          {t(`stateNote_${state}`)}
          {state === "cold" && loadMs !== null && ` ${t("loadTook", { n: number(loadMs / 1_000, 1) })}`}
        </span>
      </div>
    </li>
  );
}
