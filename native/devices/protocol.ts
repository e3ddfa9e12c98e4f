import type { Place } from "../../core/domain/placement/provider.js";
import type { Sizes } from "./feeds.js";
import type { SpeechFigures } from "./speech-trial.js";
import type { GraphShapes, Placed, ShapeFigures, TrialOptions } from "./trial.js";

/** What a process that tries a provider is asked, as JSON on its standard input. */
export interface TrialRequest extends TrialOptions {
  /** Of a model package. */
  readonly folder: string;
  readonly place: Place;
  readonly graphs: readonly GraphShapes[];
  /** Graphs whose nodes' places are told, each at one shape. */
  readonly placed: readonly { readonly graph: string; readonly sizes: Sizes }[];
  /** Of a synthesizer: how many pieces are made at a time, one number after the other. */
  readonly streams: readonly number[];
}

/** What it answers, one JSON a line on its standard output. */
export type TrialAnswer =
  | { readonly type: "shape"; readonly figures: ShapeFigures }
  | { readonly type: "placed"; readonly placed: Placed }
  | { readonly type: "speech"; readonly figures: SpeechFigures }
  /** A graph that cannot be loaded or run; the next one is tried. */
  | { readonly type: "failed"; readonly graph: string; readonly reason: string };
