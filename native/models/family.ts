import type { FlowMatching } from "./flow-matching/flow-matching.js";
import type { GraphOptions } from "./graph.js";
import type {
  DiarizationManifest,
  ModelManifest,
  PackageSchema,
  PunctuationManifest,
  RecognizerManifest,
  SynthesizerManifest,
} from "./manifest.js";
import type { ModelPackage } from "./package.js";
import type { PunctuationModel } from "./punctuation-model.js";
import type { RecognizerModel } from "./recognizer.js";
import type { SpeakerModel } from "./speaker-model.js";
import type { PieceModel } from "./synthesizer.js";

/**
 * A model family: the schema of its packages, how they are loaded, and what they can do. Schema and graphs
 * are imported on demand: the main thread checks packages and loads no graphs, worker threads do the
 * opposite.
 */
interface FamilyBase<M extends ModelManifest, C> {
  readonly name: string;
  readonly task: M["task"];
  schema(): Promise<PackageSchema<M, C>>;
}

/** Source of voice activity: the model's own graph, a file of its package, or the shipped package. */
export type VoiceSource = "model" | "package" | "near-voice";

export interface RecognizerFamily<M extends RecognizerManifest = RecognizerManifest, C = unknown>
  extends FamilyBase<M, C> {
  readonly task: "transcription";
  readonly can: {
    /** Whether it returns the text of an utterance that is still being spoken. */
    readonly livePartials: boolean;
    /** Whether it reads speech while it is spoken, instead of whole utterances. */
    readonly streams: boolean;
    /**
     * Whether it reads the parts of a long live utterance while it is spoken, although it does not stream.
     */
    readonly windows: boolean;
    /** Whether its search prefers hot words, if its outputs start words. */
    readonly hotWords: boolean;
    /**
     * Whether voice activity and the step's output for the second pass depend on the last `contextFrames`
     * only, bit by bit, so that parts of a file can be encoded in any order.
     */
    forget(manifest: M): boolean;
  };
  voiceSource(manifest: M): VoiceSource;
  /** @throws {ServiceError} `MODEL_BROKEN` with the file that is missing, damaged or has other tensors */
  load(model: ModelPackage<M, C>, options: GraphOptions): Promise<RecognizerModel>;
  /** Outputs of the model, the blank first. @throws {ServiceError} `MODEL_BROKEN` */
  vocabulary(model: ModelPackage<M, C>): Promise<readonly string[]>;
}

export interface SynthesizerFamily<M extends SynthesizerManifest = SynthesizerManifest, C = unknown>
  extends FamilyBase<M, C> {
  readonly task: "synthesis";
  readonly can: {
    /** Whether it reports when each word is spoken. */
    wordTimes(manifest: M): boolean;
    /** Whether it runs as many solver steps as requested; if not, `nfe` has no effect. */
    readonly solverSteps: boolean;
  };
  /** @throws {ServiceError} `MODEL_BROKEN` with the file that is missing, damaged or has other tensors */
  load(model: ModelPackage<M, C>, options: GraphOptions): Promise<LoadedSynthesizer>;
}

/** A synthesizer's graphs. `shares` lists which of their runs handle several pieces together. */
type LoadedSynthesizer =
  | { readonly shares: "nothing"; readonly model: PieceModel }
  | { readonly shares: "steps"; readonly model: FlowMatching };

export interface PunctuationFamily<M extends PunctuationManifest = PunctuationManifest, C = unknown>
  extends FamilyBase<M, C> {
  readonly task: "punctuation";
  /** @throws {ServiceError} `MODEL_BROKEN` with the file that is missing, damaged or has other tensors */
  load(model: ModelPackage<M, C>, options: GraphOptions): Promise<PunctuationModel>;
}

export interface DiarizationFamily<M extends DiarizationManifest = DiarizationManifest, C = unknown>
  extends FamilyBase<M, C> {
  readonly task: "diarization";
  /** @throws {ServiceError} `MODEL_BROKEN` with the file that is missing, damaged or has other tensors */
  load(model: ModelPackage<M, C>, options: GraphOptions): Promise<SpeakerModel>;
}

export type Family = RecognizerFamily | SynthesizerFamily | PunctuationFamily | DiarizationFamily;
