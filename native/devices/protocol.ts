import type { Place } from "../../core/domain/placement/provider.js";
import type { Sizes } from "./feeds.js";
import type { SpeechFigures } from "./speech-trial.js";
import type { GraphShapes, Placed, ShapeFigures, TrialOptions } from "./trial.js";

/** Request to a process that tests a provider: JSON on its standard input. */
export interface TrialRequest extends TrialOptions {
  /** Of a model package. */
  readonly folder: string;
  readonly place: Place;
  readonly graphs: readonly GraphShapes[];
  /** Graphs and shapes for which to report where nodes run. */
  readonly placed: readonly { readonly graph: string; readonly sizes: Sizes }[];
  /** For a synthesizer: numbers of concurrent pieces to test in turn. */
  readonly streams: readonly number[];
}

/** Answers, one JSON per line of its standard output. */
export type TrialAnswer =
  | { readonly type: "shape"; readonly figures: ShapeFigures }
  | { readonly type: "placed"; readonly placed: Placed }
  | { readonly type: "speech"; readonly figures: SpeechFigures }
  /** A graph that cannot be loaded or run; the next ones follow. */
  | { readonly type: "failed"; readonly graph: string; readonly reason: string };
