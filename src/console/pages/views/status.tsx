import type { UsageRow } from "../api.js";
import { useLoaded, usePolling } from "../hooks.js";
import { number, t } from "../text/language.js";
import { NoteText } from "../ui/model-choice.js";
import { PageHead, WhenLoaded } from "../ui/parts.js";

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
  /** 0 if models are never unloaded. */
  readonly model_idle_s: number;
  /** The models, with the default ones first. */
  readonly engines: readonly EngineStatus[];
  readonly models: readonly InstalledModel[];
  /** Installed packages that cannot be used. */
  readonly broken: readonly string[];
}

/** The state of the service, refreshed while the page is visible. */
export function Status() {
  const [status, reload] = useLoaded<ServiceStatus>("/status");
  usePolling(reload, EVERY_MS);
  return (
    <>
      <PageHead title={t("status")} lead={t("statusLead")} />
      <WhenLoaded loaded={status} retry={reload}>
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
                  <EngineState look="down" title={t("state_broken")} note={t("stateNote_broken")} />
                </li>
              ))}
            </ul>
            <h2>{t("installedModels")}</h2>
            <ModelList models={models} />
            <p class="hint">
              {idleSeconds > 0 && `${t("idleNote", { n: Math.ceil(idleSeconds / 60) })} `}
              {t("version", { version })}
            </p>
          </>
        )}
      </WhenLoaded>
    </>
  );
}

interface EngineProps {
  readonly engine: EngineStatus;
  readonly model: InstalledModel | undefined;
}

function Engine({ engine: { kind, model: name, state, load_ms: loadMs }, model }: EngineProps) {
  const note = t(`stateNote_${state}`);
  const took = (ms: number) => t("loadTook", { n: number(ms / 1_000, 1) });
  return (
    <li>
      <div>
        <h2>{t(NAMES[kind])}</h2>
        <p class="hint mono">
          {name}
          {model?.default === true ? ` · ${t("modelDefault")}` : ""}
        </p>
      </div>
      <EngineState
        look={state}
        title={t(`state_${state}`)}
        note={state === "cold" && loadMs !== null ? `${note} ${took(loadMs)}` : note}
      />
    </li>
  );
}

function EngineState({ look, title, note }: Readonly<Record<"look" | "title" | "note", string>>) {
  return (
    <div class={`state-of ${look}`}>
      <strong>
        <span class="dot" aria-hidden="true" />
        {title}
      </strong>
      <span class="hint">{note}</span>
    </div>
  );
}

function ModelList({ models }: { readonly models: readonly InstalledModel[] }) {
  return (
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
  );
}
