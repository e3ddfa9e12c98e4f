import type { WavHeader } from "../../core/domain/audio/wav.js";
import type { HotWord } from "../../core/domain/decoding/hot-words.js";
import type { UnpackedPlace } from "../../core/domain/decoding/unpacked-place.js";
import type { ScoredWord, TimedWord } from "../../core/domain/decoding/words.js";
import type { Endpointing } from "../../core/domain/endpointing/endpointer.js";
import type { SpeakerState } from "../../core/domain/endpointing/speaker-level.js";
import type { ErrorCode } from "../../core/domain/errors.js";
import type { BatchRows } from "../../core/domain/placement/batch-rows.js";
import type { Provider } from "../../core/domain/placement/provider.js";
import type { ProviderErrorKind } from "../../core/domain/placement/provider-error.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import type { ModelManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import type { SharedPlacement } from "../models/placement.js";
import type { EncoderState } from "../models/state-rows.js";

/** Both sides check it: a worker of another build must not be talked to. */
export const PROTOCOL_VERSION = 6;

/** Handed to every worker at birth. */
export interface WorkerData<M extends ModelManifest = ModelManifest> {
  readonly protocolVersion: typeof PROTOCOL_VERSION;
  /** As the main thread has read and checked it. */
  readonly model: ModelPackage<M>;
  readonly intraOpThreads: number;
  readonly placement: SharedPlacement;
  /** See `RunTimes`; absent when nobody asks. */
  readonly runTimes?: SharedArrayBuffer | undefined;
  /** Cells shared with the engine; see `LiveCell` and `SynthesisCell`. */
  readonly cells: SharedArrayBuffer;
  /** The worker's `PcmQueue`, for workers that speak. */
  readonly pcm: SharedArrayBuffer | null;
  readonly rows: BatchRows;
  /** See `WorkerSettings`. */
  readonly unpacked?: UnpackedPlace | undefined;
}

/** Int32 cells of a live worker: a bell rung after each write into any of its rings. */
export const LIVE_CELL = { bell: 0, count: 1 } as const;

/**
 * Int32 cells of a synthesis worker, counted by it modulo 2^32: model runs begun, pieces in them, and microseconds spent
 * inside them.
 */
export const SYNTHESIS_CELL = { runs: 0, rows: 1, busyMicros: 2, count: 3 } as const;

/** What every worker may say about itself. */
export type WorkerStatus =
  | { readonly type: "ready"; readonly protocolVersion: number; readonly warmupMs: number }
  /** Instead of `ready`. */
  | {
      readonly type: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      readonly provider: ProviderFailure | null;
    }
  /** After `ready`, before the thread ends: where it runs its graphs it cannot go on. */
  | { readonly type: "lost"; readonly message: string; readonly provider: ProviderFailure };

/** What of a `ProviderError` travels between threads, beside its message. */
export interface ProviderFailure {
  readonly provider: Provider;
  readonly kind: ProviderErrorKind;
}

/** Where a session can go on from its audio alone: everything before it is final or silence. */
export interface ResumePoint {
  /** A multiple of the frame. */
  readonly sample: number;
  /** What was before it ended in the middle of speech; see `Endpointer`. */
  readonly isMidSpeech: boolean;
  /** Of what was before it; absent where nobody has spoken, and from processes that do not know it. */
  readonly speaker?: SpeakerState;
}

export type ToLiveWorker =
  | {
      readonly type: "open";
      readonly session: number;
      /** Rises each time the session joins a worker; answers of an older one are dropped. */
      readonly epoch: number;
      readonly ring: SharedArrayBuffer;
      readonly from: ResumePoint;
      /** Marks of the session that are not told again by `finalize`; see `PcmRing.marks`. */
      readonly marks: number;
      readonly nextUtterance: number;
      /** Its client was told text of that utterance, by another worker. */
      readonly wasShown: boolean;
      readonly endOfUtteranceMs: number;
      readonly endpointing: Endpointing;
      readonly wantsPartials: boolean;
      readonly hotWords: readonly HotWord[];
      /** Of the session, where it is traced: a worker in another process goes on with its trace. */
      readonly traceparent?: string;
    }
  | { readonly type: "finalize"; readonly session: number; readonly atSample: number }
  | { readonly type: "finish"; readonly session: number; readonly atSample: number }
  /** The session's audio lies in another ring from now on, at the same positions. */
  | { readonly type: "ring"; readonly session: number; readonly ring: SharedArrayBuffer }
  | { readonly type: "close"; readonly session: number }
  | { readonly type: "stop" };

export type FromLiveWorker =
  | WorkerStatus
  /** What came out of one turn, for all its sessions, in order: a message between threads costs more than what is in it. */
  | { readonly type: "answers"; readonly answers: readonly LiveWorkerAnswer[] }
  | LivePace;

/** What a live worker says to one session. */
export type LiveWorkerAnswer =
  | {
      readonly type: "partial";
      readonly session: number;
      readonly epoch: number;
      readonly utterance: number;
      readonly text: string;
      readonly startSample: number;
      readonly endSample: number;
      /** Code points at its beginning that this worker will not change; absent when it is all of them. */
      readonly stable?: number;
    }
  | {
      readonly type: "final";
      readonly session: number;
      readonly epoch: number;
      readonly utterance: number;
      /** Null when the utterance held no text and none of its partials did: the client hears nothing of it. */
      readonly text: string | null;
      readonly startSample: number;
      readonly endSample: number;
      readonly words: readonly ScoredWord[];
      /** A replay may begin here: nothing before it is needed for what comes. */
      readonly resume: ResumePoint;
    }
  /** No utterance is open and audio before `resume` is silence that nobody needs any more. */
  | { readonly type: "idle"; readonly session: number; readonly epoch: number; readonly resume: ResumePoint }
  | { readonly type: "finished"; readonly session: number; readonly epoch: number };

/** How a live worker has spent its time since it last said so, about every second of work. */
export interface LivePace {
  readonly type: "pace";
  /** Duration of each batched step, in milliseconds. */
  readonly stepsMs: Float32Array;
  /** Awake, inside runs of the graphs or not. */
  readonly busyMs: number;
  /** Inside runs of the graphs: steps and second passes. */
  readonly runMs: number;
}

export type ToSynthesisWorker =
  | {
      readonly type: "speak";
      /** Rises from job to job. */
      readonly jobId: number;
      readonly job: SynthesisJob;
      /** Milliseconds from now until it, or its first chunk, should be done; see `dueAtMs`. */
      readonly dueInMs: number;
      /** Milliseconds from now until its listener hears its first sample; null when that is as soon as it is made. */
      readonly playsInMs: number | null;
    }
  /** Seen before the next run; answered with `gave-up` if the job is still there. */
  | { readonly type: "cancel"; readonly jobId: number }
  | { readonly type: "stop" };

export type FromSynthesisWorker =
  | WorkerStatus
  /** Before the first samples of a piece whose chunks grow; `characterBounds` as in `SpeakOptions.onBounds`. */
  | { readonly type: "begun"; readonly jobId: number; readonly characterBounds: Int32Array }
  /** The next `sampleCount` samples of the worker's PCM queue are this job's. */
  | { readonly type: "pcm"; readonly jobId: number; readonly sampleCount: number }
  /** All of it is in the queue; `characterBounds` as in `SynthesizedPiece`. */
  | { readonly type: "spoken"; readonly jobId: number; readonly characterBounds: Int32Array | null }
  | { readonly type: "gave-up"; readonly jobId: number; readonly code: ErrorCode; readonly message: string };

/** Tasks of the file workers' pool. */
export type FileTask =
  | {
      readonly type: "hear";
      readonly source: AudioSource;
      /** The part, in frames of the model; the end exclusive, and it may lie behind the audio. */
      readonly startFrame: number;
      readonly endFrame: number;
      /** What the encoder remembers there; null where it may begin with its context before the part, or with the file. */
      readonly state: EncoderState | null;
      /** Memory that nobody uses any more. */
      readonly room: SharedArrayBuffer | null;
      /** One Int32, see `FILE_TASK_CELL`. */
      readonly cell: SharedArrayBuffer;
    }
  | { readonly type: "decode"; readonly pieces: readonly FilePiece[] }
  | (TogetherTask & { readonly type: "warm-up" })
  /** Frees the graphs; a task after it would load them again. */
  | (TogetherTask & { readonly type: "release" });

/** A task that each worker has once: none takes a second one before all have had theirs. */
interface TogetherTask {
  /** See `WARM_UP_CELL`. */
  readonly cell: SharedArrayBuffer;
  readonly workerCount: number;
}

/** What the encoder has heard in a part of a file. */
export interface HeardPart {
  /** Probability of each frame that it is speech. */
  readonly speech: Float32Array;
  /** Level of each frame, see `levelDb`; null from processes that do not know it. */
  readonly levels: Float32Array | null;
  /** `[frames, encodedSize]`, what the second pass works on, and perhaps more behind it. */
  readonly encoded: SharedArrayBuffer;
  readonly encodedSize: number;
  /** Behind the last frame. */
  readonly state: EncoderState | null;
}

/** Frames of a file whose encoder output lies in memory. */
interface EncodedPart {
  readonly encoded: SharedArrayBuffer;
  readonly startFrame: number;
  readonly endFrame: number;
}

/** A run of speech in a file, with the encoder's output of all its frames. */
export interface FilePiece {
  readonly source: AudioSource;
  /** In frames of the model, the end exclusive and behind some silence. */
  readonly startFrame: number;
  readonly endFrame: number;
  /** End of its audio: words end here at the latest. */
  readonly endSample: number;
  /** Mean probability of speech in it. */
  readonly speechMean: number;
  /** Speech goes on before it: it is heard as if nothing had been said. */
  readonly isCutBefore: boolean;
  /** Speech goes on behind it: silence is heard there instead. */
  readonly isCutBehind: boolean;
  /** One behind the other, and they hold every frame of it. */
  readonly parts: readonly EncodedPart[];
  readonly hotWords: readonly HotWord[];
  /** Of its file, see `FILE_TASK_CELL`. */
  readonly cell: SharedArrayBuffer;
}

export interface DecodedPiece {
  readonly text: string;
  /** Seconds from the start of the file. */
  readonly words: readonly TimedWord[];
}

/** A WAV file on disk, and where its samples lie in it. */
export interface WavSource {
  readonly path: string;
  readonly header: WavHeader;
  /** Samples per channel at its own rate: what is there, not what its header claims. */
  readonly sampleCount: number;
}

/** A part of a file's audio in memory, as the process that has the file has read it. */
export interface PcmSource {
  /** Int16, mono, at the model's rate. */
  readonly samples: SharedArrayBuffer;
  /** Where in the file the first of them lies. */
  readonly startSample: number;
  /** Of the whole file, at the model's rate: behind it is silence. */
  readonly sampleCount: number;
}

export type AudioSource = WavSource | PcmSource;

/** A file task's answer: errors travel as values, since classes do not survive the way between threads. */
export type FileAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      /** Not the task has failed but what ran it. */
      readonly provider?: ProviderFailure;
    };
