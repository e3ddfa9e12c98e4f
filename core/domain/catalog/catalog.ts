import { ServiceError } from "../errors.js";
import type { VoiceManner } from "../synthesis/voice-manner.js";

/** Names in messages are cut here: what a client sends may be long. */
const LONGEST_SHOWN = 60;

/** What every installed model tells about itself. */
interface ModelEntry {
  /** Its package's id. */
  readonly name: string;
  /** Language codes, with hyphens between. */
  readonly lang: string;
  /** Of the audio it makes or hears, in Hz. */
  readonly sample_rate: number;
  /** What it cannot do, in sentences for users; null where its package does not say. */
  readonly notes: string | null;
  /** The day its weights were made, `2026-11-21`; null where its package does not say. */
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
  /** It tells when it says each word. */
  readonly word_times: boolean;
  /** It takes as many solver steps as a request asks for (`nfe`). */
  readonly solver_steps: boolean;
}

export interface HearingModel extends ModelEntry {
  readonly task: "transcription";
  /** What kind of graphs it is made of, `ctc-two-pass`. */
  readonly family: string;
  /** Characters that hot words may be made of: those of its transcripts, or none where it writes pieces of words. */
  readonly alphabet: ReadonlySet<string>;
  /** It tells what it hears before an utterance has ended. */
  readonly live_partials: boolean;
}

export type CatalogModel = SpeakingModel | HearingModel;

/** The installed models of one task. Each request looks one up, so names are kept in a map. */
export class ModelList<M extends CatalogModel = CatalogModel> {
  /** The default, then the others in the order they were given. */
  readonly all: readonly M[];
  /** Answers requests that name no model. */
  readonly default: M;
  readonly #byName: ReadonlyMap<string, M>;

  /** @param all one or more; the first is the default */
  constructor(all: readonly M[]) {
    const [first] = all;
    if (first === undefined) throw new RangeError("a list of models must name one");
    this.all = all;
    this.default = first;
    this.#byName = new Map(all.map((model) => [model.name, model]));
  }

  /** @param name null asks for the default */
  find(name: string | null): M | undefined {
    return name === null ? this.default : this.#byName.get(name);
  }

  /**
   * @param name null asks for the default
   * @param code what an unknown name is on the path it was given on
   * @throws {ServiceError} `code`, naming what is installed
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
}

/** All models of both tasks, by name. */
export function everyModel({ speaking, hearing }: Catalog): readonly CatalogModel[] {
  return [...speaking.all, ...hearing.all].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
