import type { TimedWord } from "../../src/domain/decoding/words.js";
import type { ErrorCode } from "../../src/domain/errors.js";
import type { SynthesisJob } from "../../src/ports/synthesizer.js";

/** Both sides check it: a worker of another build must not be talked to. */
export const PROTOCOL_VERSION = 1;

/** Handed to every worker at birth. */
export interface WorkerData {
  readonly protocolVersion: typeof PROTOCOL_VERSION;
  readonly modelFolder: string;
  readonly intraOpThreads: number;
  /** Cells shared with the engine; see `LiveCell` and `SynthesisCell`. */
  readonly cells: SharedArrayBuffer;
  /** The worker's PCM output, for workers that speak. */
  readonly pcm: SharedArrayBuffer | null;
  /** Lets the engine's tests make the worker fail; never set by the service. */
  readonly allowFaults: boolean;
}

/** Int32 cells of a live worker: a bell rung after each write into any of its rings. */
export const LIVE_CELL = { bell: 0, count: 1 } as const;

/** Int32 cells of a synthesis worker: the job to give up, or -1. */
export const SYNTHESIS_CELL = { cancelledJob: 0, count: 1 } as const;

/** What every worker may say about itself. */
export type WorkerStatus =
  | { readonly type: "ready"; readonly protocolVersion: number; readonly warmupMs: number }
  | { readonly type: "failed"; readonly code: ErrorCode; readonly message: string };

export type ToLiveWorker =
  | {
      readonly type: "open";
      readonly session: number;
      /** Rises with each attachment; answers of an older one are dropped. */
      readonly epoch: number;
      readonly ring: SharedArrayBuffer;
      /** Where listening goes on: everything before it is final. A multiple of the frame. */
      readonly resumeSample: number;
      readonly nextUtterance: number;
      readonly endOfUtteranceMs: number;
      readonly wantsPartials: boolean;
    }
  | { readonly type: "finalize"; readonly session: number; readonly atSample: number }
  | { readonly type: "finish"; readonly session: number; readonly atSample: number }
  | { readonly type: "close"; readonly session: number }
  | { readonly type: "fault" }
  | { readonly type: "stop" };

export type FromLiveWorker =
  | WorkerStatus
  | {
      readonly type: "partial";
      readonly session: number;
      readonly epoch: number;
      readonly utterance: number;
      readonly text: string;
      readonly startSample: number;
      readonly endSample: number;
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
      readonly words: readonly TimedWord[];
      /** A replay may begin here: nothing before it is needed for what comes. A multiple of the frame. */
      readonly resumeSample: number;
    }
  /** No utterance is open and audio before `resumeSample` is silence that nobody needs any more. */
  | { readonly type: "idle"; readonly session: number; readonly epoch: number; readonly resumeSample: number }
  | { readonly type: "finished"; readonly session: number; readonly epoch: number };

export type ToSynthesisWorker =
  | { readonly type: "speak"; readonly jobId: number; readonly job: SynthesisJob }
  | { readonly type: "fault" }
  | { readonly type: "stop" };

export type FromSynthesisWorker =
  | WorkerStatus
  /** The next `sampleCount` samples of the worker's ring are this job's. */
  | { readonly type: "pcm"; readonly jobId: number; readonly sampleCount: number }
  | { readonly type: "spoken"; readonly jobId: number }
  | { readonly type: "gave-up"; readonly jobId: number; readonly code: ErrorCode; readonly message: string };

/** Tasks of the file workers' pool. */
export type FileTask =
  | {
      readonly type: "segment";
      readonly wavPath: string;
      /** Where the 16 kHz mono PCM of the whole file is spooled. */
      readonly pcmPath: string;
      readonly maxSeconds: number;
      /** One Int32 cell: not zero means give up. */
      readonly cancel: SharedArrayBuffer;
    }
  | {
      readonly type: "decode";
      readonly pcmPath: string;
      readonly pieces: readonly FilePiece[];
      readonly cancel: SharedArrayBuffer;
    }
  | { readonly type: "warm-up" };

/** A run of speech in the spooled PCM, in samples. */
export interface FilePiece {
  readonly startSample: number;
  readonly endSample: number;
}

export interface SegmentResult {
  readonly pieces: readonly FilePiece[];
  readonly sampleCountIn: number;
  readonly sampleRateInHz: number;
}

export interface DecodedPiece {
  readonly text: string;
  /** Seconds from the start of the file. */
  readonly words: readonly TimedWord[];
}

/** A file task's answer: errors travel as values, since classes do not survive the way between threads. */
export type FileAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string };
