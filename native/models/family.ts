import type { FlowMatching } from "./flow-matching/flow-matching.js";
import type { GraphOptions } from "./graph.js";
import type { ModelManifest, RecognizerManifest, SynthesizerManifest } from "./manifest.js";
import type { ModelPackage } from "./package.js";
import type { PackageSchema } from "./package-schema.js";
import type { RecognizerModel } from "./recognizer.js";
import type { PieceModel } from "./synthesizer.js";

/**
 * A family of models: what its packages must say, how they are loaded, and what they can do. Both halves are imported when
 * they are asked for: the main thread checks packages and has no graphs, worker threads have graphs and check nothing.
 */
interface FamilyBase<M extends ModelManifest, C> {
  /** `family` of a manifest. */
  readonly name: string;
  readonly task: M["task"];
  schema(): Promise<PackageSchema<M, C>>;
}

/** Where voice activity comes from: the model's own graph, a file of the package, or what ships with the repository. */
export type VoiceSource = "model" | "package" | "near-voice";

export interface RecognizerFamily<M extends RecognizerManifest = RecognizerManifest, C = unknown>
  extends FamilyBase<M, C> {
  readonly task: "transcription";
  readonly can: {
    /** Text of an utterance that is still spoken. */
    readonly livePartials: boolean;
    /**
     * Voice activity, and what a step leaves for the second pass, forget all audio before the last `contextFrames`, to the last
     * bit: parts of a file are heard in any order.
     */
    forget(manifest: M): boolean;
  };
  voiceSource(manifest: M): VoiceSource;
  /** @throws {ServiceError} `MODEL_BROKEN` naming the file that is missing, damaged or of another interface */
  load(model: ModelPackage<M, C>, options: GraphOptions): Promise<RecognizerModel>;
  /** Outputs of the model, the blank first. @throws {ServiceError} `MODEL_BROKEN` */
  vocabulary(model: ModelPackage<M, C>): Promise<readonly string[]>;
}

export interface SynthesizerFamily<M extends SynthesizerManifest = SynthesizerManifest, C = unknown>
  extends FamilyBase<M, C> {
  readonly task: "synthesis";
  readonly can: {
    /** Tells when it says each word. */
    wordTimes(manifest: M): boolean;
    /** Takes as many solver steps as a request asks for; without it `nfe` changes nothing. */
    readonly solverSteps: boolean;
  };
  /** @throws {ServiceError} `MODEL_BROKEN` naming the file that is missing, damaged or of another interface */
  load(model: ModelPackage<M, C>, options: GraphOptions): Promise<LoadedSynthesizer>;
}

/** A synthesizer's graphs, and what pieces that are made at once have in common. */
type LoadedSynthesizer =
  | { readonly shares: "nothing"; readonly model: PieceModel }
  /** Steps of the solver and runs of the vocoder. */
  | { readonly shares: "steps"; readonly model: FlowMatching };

export type Family = RecognizerFamily | SynthesizerFamily;
