import type { WavHeader } from "../../core/domain/audio/wav.js";
import type { HotWord } from "../../core/domain/decoding/hot-words.js";
import type { FileWord } from "../../core/domain/decoding/transcript.js";
import type { UnpackedPlace } from "../../core/domain/decoding/unpacked-place.js";
import type { ScoredWord } from "../../core/domain/decoding/words.js";
import type { SpeakerWindow } from "../../core/domain/diarization/windows.js";
import type { Endpointing } from "../../core/domain/endpointing/patience.js";
import type { SpeakerState } from "../../core/domain/endpointing/speaker-level.js";
import { asServiceError, type ErrorCode, ServiceError } from "../../core/domain/errors.js";
import type { BatchRows } from "../../core/domain/placement/batch-rows.js";
import type { Provider } from "../../core/domain/placement/provider.js";
import { ProviderError, type ProviderErrorKind } from "../../core/domain/placement/provider-error.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import type { ModelManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import type { SharedPlacement } from "../models/placement.js";
import type { EncoderState } from "../models/state-rows.js";

/** Version of the protocol; both sides check it, so that builds never mix. */
export const PROTOCOL_VERSION = 6;

/** Data that a worker receives at its start. */
export interface WorkerData<M extends ModelManifest = ModelManifest> {
  readonly protocolVersion: typeof PROTOCOL_VERSION;
  /** The package, read and checked by the main thread. */
  readonly model: ModelPackage<M>;
  readonly intraOpThreads: number;
  readonly placement: SharedPlacement;
  readonly runTimes?: SharedArrayBuffer | undefined;
  /** Cells shared with the engine, see `LIVE_CELL` and `SYNTHESIS_CELL`. */
  readonly cells: SharedArrayBuffer;
  /** The `PcmQueue` of a synthesis worker. */
  readonly pcm: SharedArrayBuffer | null;
  readonly rows: BatchRows;
  readonly unpacked?: UnpackedPlace | undefined;
}

/** Int32 cells of a live worker: a bell, rung after each write into any of its rings. */
export const LIVE_CELL = { bell: 0, count: 1 } as const;

/** Int32 counters of a synthesis worker, modulo 2^32: started runs, pieces in them, and time inside them. */
export const SYNTHESIS_CELL = { runs: 0, rows: 1, busyMicros: 2, count: 3 } as const;

export type WorkerStatus =
  | { readonly type: "ready"; readonly protocolVersion: number; readonly warmupMs: number }
  /** Sent in place of `ready`. */
  | ({ readonly type: "failed" } & Failure)
  /** Sent after `ready`, before the thread ends, if the provider failed. */
  | { readonly type: "lost"; readonly message: string; readonly provider: ProviderFailure };

interface ProviderFailure {
  readonly provider: Provider;
  readonly kind: ProviderErrorKind;
}

/** An error as plain data, since classes cannot be posted between threads. */
interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly provider: ProviderFailure | null;
}

export function failureOf(thrown: unknown): Failure {
  const error = asServiceError(thrown);
  const { code, message } = error;
  if (!(error instanceof ProviderError)) return { code, message, provider: null };
  const { provider, kind } = error;
  return { code, message, provider: { provider, kind } };
}

export function errorOf({ code, message, provider }: Failure): ServiceError {
  if (provider === null) return new ServiceError(code, message);
  return new ProviderError(provider.provider, provider.kind, message);
}

/** Position from which a session can be replayed: everything before it is final or silence. */
export interface ResumePoint {
  /** Position in samples, a multiple of the frame size. */
  readonly sample: number;
  /** Whether the previous utterance was cut during speech, see `Endpointer`. */
  readonly isMidSpeech: boolean;
  /** Absent before the first speech, and from processes of older versions. */
  readonly speaker?: SpeakerState;
}

export type ToLiveWorker =
  | {
      readonly type: "open";
      readonly session: number;
      /** Increases each time the session joins a worker; answers with an older epoch are dropped. */
      readonly epoch: number;
      readonly ring: SharedArrayBuffer;
      readonly from: ResumePoint;
      /** Number of marks that `finalize` will not send again, see `PcmRing.marks`. */
      readonly marks: number;
      readonly nextUtterance: number;
      /** Whether another worker has reported text of that utterance. */
      readonly wasShown: boolean;
      readonly endOfUtteranceMs: number;
      readonly endpointing: Endpointing;
      readonly wantsPartials: boolean;
      /** Whether to report each pause, see `isPause`. */
      readonly wantsPauses?: boolean;
      readonly hotWords: readonly HotWord[];
      /** Trace context of the session, for a worker in another process. */
      readonly traceparent?: string;
    }
  | { readonly type: "finalize"; readonly session: number; readonly atSample: number }
  | { readonly type: "finish"; readonly session: number; readonly atSample: number }
  /** The session's audio is in another ring from now on, at the same positions. */
  | { readonly type: "ring"; readonly session: number; readonly ring: SharedArrayBuffer }
  | { readonly type: "close"; readonly session: number }
  | { readonly type: "stop" };

export type FromLiveWorker =
  | WorkerStatus
  /** All answers of one turn of the event loop, in order: posting a message costs more than its content. */
  | { readonly type: "answers"; readonly answers: readonly LiveWorkerAnswer[] }
  | LivePace;

export type LiveWorkerAnswer =
  | {
      readonly type: "partial";
      readonly session: number;
      readonly epoch: number;
      readonly utterance: number;
      readonly text: string;
      readonly startSample: number;
      readonly endSample: number;
      /** Leading code points that will not change; all of them if absent. */
      readonly stable?: number;
      /** Whether the speaker has been silent for half of the threshold; only with `wantsPauses`. */
      readonly isPause?: boolean;
      /** With `isPause`: the words of the final if no speech follows. Older processes never report them. */
      readonly words?: readonly ScoredWord[];
    }
  | {
      readonly type: "final";
      readonly session: number;
      readonly epoch: number;
      readonly utterance: number;
      /** Null if neither the utterance nor its partials had text: the client is not notified. */
      readonly text: string | null;
      readonly startSample: number;
      readonly endSample: number;
      readonly words: readonly ScoredWord[];
      readonly resume: ResumePoint;
      /** A `finalize` ended the utterance. Older processes never report it. */
      readonly isFromFinalize?: boolean;
    }
  /** No utterance is open, and the audio before `resume` is no longer needed. */
  | { readonly type: "idle"; readonly session: number; readonly epoch: number; readonly resume: ResumePoint }
  /**
   * A `finalize` mark was reached, and the finals before it were reported. Older processes never send this.
   */
  | {
      readonly type: "finalized";
      readonly session: number;
      readonly epoch: number;
      readonly atSample: number;
    }
  | { readonly type: "finished"; readonly session: number; readonly epoch: number };

/** A live worker's use of time since its last report, about every second of work. */
export interface LivePace {
  readonly type: "pace";
  readonly stepsMs: Float32Array;
  readonly busyMs: number;
  readonly runMs: number;
}

export type ToSynthesisWorker =
  | {
      readonly type: "speak";
      /** Increases from job to job. */
      readonly jobId: number;
      readonly job: SynthesisJob;
      /** Time until the piece, or its first chunk, is due; see `dueAtMs`. */
      readonly dueInMs: number;
      /** Time until its playback starts; null for immediate playback. */
      readonly playsInMs: number | null;
    }
  /** Cancels a job before its next run; answered with `gave-up` if the job is not done. */
  | { readonly type: "cancel"; readonly jobId: number }
  | { readonly type: "stop" };

export type FromSynthesisWorker =
  | WorkerStatus
  /** Sent before the first samples of a piece with growing chunks; see `SpeakOptions.onBounds`. */
  | { readonly type: "begun"; readonly jobId: number; readonly characterBounds: Int32Array }
  /** The next `sampleCount` samples in the worker's PCM queue belong to this job. */
  | { readonly type: "pcm"; readonly jobId: number; readonly sampleCount: number }
  /** All samples are in the queue; `characterBounds` as in `SynthesizedPiece`. */
  | { readonly type: "spoken"; readonly jobId: number; readonly characterBounds: Int32Array | null }
  | { readonly type: "gave-up"; readonly jobId: number; readonly code: ErrorCode; readonly message: string };

export type FileTask =
  | {
      readonly type: "hear";
      readonly source: AudioSource;
      /** Frames of the part; the end is exclusive and may exceed the audio. */
      readonly startFrame: number;
      readonly endFrame: number;
      /** The encoder's state at its start; null to start with the context before it, or with the file. */
      readonly state: EncoderState | null;
      /** Memory to reuse for the result. */
      readonly room: SharedArrayBuffer | null;
      /** Whether another file may interrupt the task, so that its runs must be short. */
      readonly isLater?: boolean;
      /** One Int32, see `FILE_TASK_CELL`. */
      readonly cell: SharedArrayBuffer;
    }
  | { readonly type: "decode"; readonly pieces: readonly FilePiece[] }
  | SpeakerTask
  | (TogetherTask & { readonly type: "warm-up" })
  /** Frees the graphs; a later task loads them again. */
  | (TogetherTask & { readonly type: "release" });

/** Work on the speakers of a file, for workers with a model for diarization. */
export type SpeakerTask =
  /** Answered with a `SpeakerWindow` for each window [firstWindow, endWindow). */
  | {
      readonly type: "hear-speakers";
      readonly source: AudioSource;
      readonly firstWindow: number;
      readonly endWindow: number;
      /** One Int32, see `FILE_TASK_CELL`. */
      readonly cell: SharedArrayBuffer;
    }
  /** Answered with the `SpeakerTurn`s of the file. */
  | {
      readonly type: "group-speakers";
      readonly windows: readonly SpeakerWindow[];
      /** Number of samples at the model's rate. */
      readonly sampleCount: number;
      /** Number of speakers; null if unknown. */
      readonly speakerCount: number | null;
      readonly cell: SharedArrayBuffer;
    };

/** A task for every worker: none takes a second one before all have taken theirs. */
interface TogetherTask {
  /** See `WARM_UP_CELL`. */
  readonly cell: SharedArrayBuffer;
  readonly workerCount: number;
}

/** The encoder's result for a part of a file. */
export interface HeardPart {
  /** Probability of speech of each frame. */
  readonly speech: Float32Array;
  /** Level of each frame, see `levelDb`; null from processes of older versions. */
  readonly levels: Float32Array | null;
  /** Input of the second pass, `[frames, encodedSize]`; the buffer may be longer. */
  readonly encoded: SharedArrayBuffer;
  readonly encodedSize: number;
  readonly state: EncoderState | null;
}

/** Encoder output of some frames of a file. */
interface EncodedPart {
  readonly encoded: SharedArrayBuffer;
  readonly startFrame: number;
  readonly endFrame: number;
}

/** A segment of speech in a file, with the encoder's output. */
export interface FilePiece {
  readonly source: AudioSource;
  /** Frames; the end is exclusive and includes some silence. */
  readonly startFrame: number;
  readonly endFrame: number;
  /** End of its audio, and upper bound for the times of its words. */
  readonly endSample: number;
  readonly speechMean: number;
  /** Whether it was cut off from earlier speech, and is encoded as if nothing preceded it. */
  readonly isCutBefore: boolean;
  /** Whether it was cut off from later speech, and is encoded as if silence followed it. */
  readonly isCutBehind: boolean;
  /** Parts in order; together they cover all of its frames. */
  readonly parts: readonly EncodedPart[];
  readonly hotWords: readonly HotWord[];
  /** The cell of the piece's file; see `FILE_TASK_CELL`. */
  readonly cell: SharedArrayBuffer;
}

export interface DecodedPiece {
  readonly text: string;
  /** Words with times in seconds from the start of the file. */
  readonly words: readonly FileWord[];
}

export interface WavSource {
  readonly path: string;
  readonly header: WavHeader;
  /** The only channel to read, from 0; all are averaged if absent. */
  readonly channel?: number;
  /** Number of samples per channel at the file's own rate, from the size of the file, not from its header. */
  readonly sampleCount: number;
}

/** A part of a file's audio in memory, read by another process. */
export interface PcmSource {
  /** Int16, mono, at the model's rate. */
  readonly samples: SharedArrayBuffer;
  /** Position of the first sample in the file. */
  readonly startSample: number;
  /** Length of the whole file at the model's rate; silence follows. */
  readonly sampleCount: number;
}

export type AudioSource = WavSource | PcmSource;

/** A file task's result; errors are values, since classes cannot be posted between threads. */
export type FileAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      /** Set if the provider failed, not the task. */
      readonly provider?: ProviderFailure;
    };
