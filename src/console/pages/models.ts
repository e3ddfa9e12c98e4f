import { useEffect, useState } from "preact/hooks";
import { DauysClient, type Model, type Recognizer } from "../../client/browser.js";
import { type Problem, toProblem } from "./api.js";

/** A model of each task, as the catalog shows it. */
interface ModelOf {
  readonly synthesis: Model;
  readonly transcription: Recognizer;
}
export type Task = keyof ModelOf;

/** The installed models of a task, and the one that the page works with. */
export interface ChosenModel<M> {
  /** Empty while they are not known. */
  readonly models: readonly M[];
  readonly model: M | null;
  readonly problem: Problem | null;
  /** Is remembered in this browser. */
  choose(name: string): void;
}

const keptAs = (task: Task) => `dauys.model.${task}`;

/** The catalog is open: it is asked without a key. */
export function catalogClient(): DauysClient {
  return new DauysClient({ baseUrl: location.origin });
}

/** What is installed for a task; the default is chosen, or what was chosen before and is still there. */
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

/** What a request says to get this model: nothing for the default. */
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
