import { useEffect, useState } from "preact/hooks";
import { en } from "../text/en.js";
import { useWords } from "../text/language.js";

type Task = "synthesis" | "transcription";

interface NotedModel {
  readonly name: string;
  /** What it cannot do, in English; null where its package does not say. */
  readonly notes: string | null;
}

/** What the service takes when a request names no model. */
const DEFAULTS: Readonly<Record<Task, string>> = { synthesis: "svc-kk-v1", transcription: "svc-kk-ru-v2" };

/** What the model of a page cannot do, as its package says it. Nothing where it does not. */
export function ModelNote({ task }: { readonly task: Task }) {
  const { t } = useWords();
  const [model, setModel] = useState<NotedModel | null>(null);
  useEffect(() => {
    modelOf(task)
      .then(setModel)
      // The page works all the same, and says by itself when the service is away.
      .catch(() => {});
  }, [task]);
  if (model === null || model.notes === null) return null;
  const known = (["noteSpeak", "noteHear"] as const).find((name) => en[name] === model.notes);
  return (
    <p class="model-note">
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4M8 7.4v3.8M8 4.9v.1" />
      </svg>
      <span>
        <strong>{model.name}</strong> {known === undefined ? <span lang="en">{model.notes}</span> : t(known)}{" "}
        <a href="/docs/models.md" target="_blank" rel="noreferrer">
          {t("noteLink")}
        </a>
      </span>
    </p>
  );
}

async function modelOf(task: Task): Promise<NotedModel | null> {
  const answer = await fetch("/v1/models");
  const { data, transcription } = (await answer.json()) as {
    readonly data: readonly NotedModel[];
    readonly transcription: readonly NotedModel[];
  };
  const models = task === "synthesis" ? data : transcription;
  return models.find(({ name }) => name === DEFAULTS[task]) ?? models[0] ?? null;
}
