import { ServiceError } from "../errors.js";
import type { VoiceManner } from "../synthesis/voice-manner.js";

/** Length at which a client's value is cut in error messages. */
const LONGEST_SHOWN = 60;

/** Properties of every installed model. */
interface ModelEntry {
  /** Its package's id. */
  readonly name: string;
  /** Language codes, with hyphens between. */
  readonly lang: string;
  /** Sample rate of its output or input, in Hz. */
  readonly sample_rate: number;
  /** Its limits, in sentences for users; null if its package has none. */
  readonly notes: string | null;
  /** The date of its weights, `2026-11-21`; null if unknown. */
  readonly created: string | null;
}

export interface CatalogVoice {
  readonly name: string;
  readonly gender: string | null;
  readonly style: string | null;
  readonly best_for: string | null;
  readonly manner: VoiceManner;
}

export interface SpeakingModel extends ModelEntry {
  readonly task: "synthesis";
  readonly voices: readonly CatalogVoice[];
  readonly default_voice: string;
  /** Whether it reports the time of each word. */
  readonly word_times: boolean;
  /** Whether it accepts the number of solver steps (`nfe`). */
  readonly solver_steps: boolean;
}

export interface HearingModel extends ModelEntry {
  readonly task: "transcription";
  /** Model family, such as `ctc-two-pass`. */
  readonly family: string;
  /** Characters that hot words may contain; empty for a model that does not support hot words. */
  readonly alphabet: ReadonlySet<string>;
  /** Whether the model writes punctuation and capitals itself; readable text then keeps them. */
  readonly writes_marks: boolean;
  /** Whether it sends partials before an utterance has ended. */
  readonly live_partials: boolean;
}

export type CatalogModel = SpeakingModel | HearingModel;

/** The installed models of one task. */
export class ModelList<M extends CatalogModel = CatalogModel> {
  /** The default model, then the others. */
  readonly all: readonly M[];
  readonly default: M;
  readonly #byName: ReadonlyMap<string, M>;

  /** @param all one or more; the first is the default */
  constructor(all: readonly M[]) {
    const [first] = all;
    if (first === undefined) throw new RangeError("a list of models must not be empty");
    this.all = all;
    this.default = first;
    this.#byName = new Map(all.map((model) => [model.name, model]));
  }

  /** @param name null for the default */
  find(name: string | null): M | undefined {
    return name === null ? this.default : this.#byName.get(name);
  }

  /**
   * @param name null for the default
   * @param code error code for an unknown name
   * @throws {ServiceError} `code`, with the installed names
   */
  require(name: string | null, code: "UNKNOWN_MODEL" | "INVALID_REQUEST" = "UNKNOWN_MODEL"): M {
    const model = this.find(name);
    if (model !== undefined) return model;
    const known = this.all.map((candidate) => candidate.name).join(", ");
    const received = JSON.stringify(name?.slice(0, LONGEST_SHOWN));
    throw new ServiceError(code, `model must be one of ${known}, received ${received}`, { param: "model" });
  }
}

/** Every installed model, by task. */
export interface Catalog {
  readonly speaking: ModelList<SpeakingModel>;
  readonly hearing: ModelList<HearingModel>;
  /** The model that tells speakers apart; absent if none is installed. */
  readonly diarization?: DiarizationModel | undefined;
}

interface DiarizationModel {
  /** Its package's id. */
  readonly name: string;
  /** False in a gateway none of whose engines has the model. */
  readonly isServed: () => boolean;
}

/** Returns whether requests may ask for speakers now. */
export function servesSpeakers({ diarization }: Pick<Catalog, "diarization">): boolean {
  return diarization?.isServed() === true;
}

/** @throws {ServiceError} `DIARIZATION_UNAVAILABLE` if no diarization model is installed */
export function requireDiarization({ diarization }: Pick<Catalog, "diarization">): void {
  if (diarization?.isServed() === true) return;
  const reason =
    diarization === undefined
      ? "a diarization model, and none is installed: run dauys models add speakers-eres2net"
      : `an engine with the model ${diarization.name}, and none is running: install it on the engines`;
  throw new ServiceError("DIARIZATION_UNAVAILABLE", `diarize requires ${reason}`, { param: "diarize" });
}

/** All models of both tasks, sorted by name. */
export function everyModel({ speaking, hearing }: Catalog): readonly CatalogModel[] {
  return [...speaking.all, ...hearing.all].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
