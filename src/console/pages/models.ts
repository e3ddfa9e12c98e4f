import { useEffect, useState } from "preact/hooks";
import { DauysClient, type Model, type Recognizer } from "../../client/browser.js";
import { type Problem, toProblem } from "./api.js";

interface ModelOf {
  readonly synthesis: Model;
  readonly transcription: Recognizer;
}
export type Task = keyof ModelOf;

/** The installed models of a task, and the chosen one. */
export interface ChosenModel<M> {
  /** Empty until the models are loaded. */
  readonly models: readonly M[];
  readonly model: M | null;
  readonly problem: Problem | null;
  /** Chooses a model; this browser remembers it. */
  choose(name: string): void;
}

const keptAs = (task: Task) => `dauys.model.${task}`;

/** A client without a key: anyone may read the catalog. */
export function catalogClient(): DauysClient {
  return new DauysClient({ baseUrl: location.origin });
}

/**
 * Loads the models of a task. Selects the last choice if that model is still installed, otherwise the
 * default.
 */
export function useModels<T extends Task>(task: T): ChosenModel<ModelOf[T]> {
  const [models, setModels] = useState<readonly ModelOf[T][]>([]);
  const [chosen, setChosen] = useState(() => localStorage.getItem(keptAs(task)));
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    modelsOf(task)
      .then(setModels)
      .catch((thrown: unknown) => setProblem(toProblem(thrown)));
  }, [task]);
  return {
    models,
    model: models.find(({ name }) => name === chosen) ?? models[0] ?? null,
    problem,
    choose(name) {
      setChosen(name);
      localStorage.setItem(keptAs(task), name);
    },
  };
}

/** Returns the request options for a model; empty for the default one. */
export function modelOption(model: { readonly name: string; readonly default: boolean } | null): {
  readonly model?: string;
} {
  return model === null || model.default ? {} : { model: model.name };
}

async function modelsOf<T extends Task>(task: T): Promise<readonly ModelOf[T][]> {
  const client = catalogClient();
  const models = task === "synthesis" ? await client.models() : await client.recognizers();
  return models as readonly ModelOf[T][];
}
