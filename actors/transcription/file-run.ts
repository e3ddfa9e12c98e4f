import type { HotWord } from "../../core/domain/decoding/hot-words.js";
import type { TranscribedSegment } from "../../core/domain/decoding/transcript.js";
import type { ServiceError } from "../../core/domain/errors.js";
import { deferred } from "../../core/kernel/deferred.js";
import { NO_SPAN, type Span, type SpanAttributes } from "../../core/ports/span.js";
import type {
  DecodedPiece,
  FilePiece,
  FileTask,
  HeardPart,
  WavSource,
} from "../../native/threads/protocol.js";
import { samplesAt } from "../../native/transcription/file-audio.js";
import { FILE_TASK_CELL } from "../../native/transcription/task-cell.js";
import { FILE_END_FRAMES, type FoundPiece, PieceFinder } from "./piece-finder.js";

/** Frames of a part, 10 s to 60 s: enough parts for all workers, and little context that is encoded twice. */
const PART_FRAMES = { least: 250, most: 1_500 };
/** Number of parts of a short file: enough for several workers. */
const MIN_PARTS = 4;
/**
 * Most parts that a piece of 30 s overlaps, including the next part, which may contain its end.
 */
export const MIN_PARTS_HELD = 6;

export interface FileRunOptions {
  readonly source: WavSource;
  readonly hotWords: readonly HotWord[];
  readonly sampleRateHz: number;
  readonly frameSamples: number;
  /**
   * True if the model's state ends with its context: then parts can be encoded in any order and in parallel.
   */
  readonly forgets: boolean;
  /** True if nobody is waiting for the file: other files go first, and interrupt its tasks. */
  readonly isLater?: boolean;
  /** Called with the finished share, 0 to 1. */
  readonly onProgress: (share: number) => void;
  /** Called once per segment, in order, as soon as all audio before its end is transcribed. */
  readonly onSegments?: ((segments: readonly TranscribedSegment[]) => void) | undefined;
  /** Called when the file is given up, with the cell that informs workers. */
  readonly onGiveUp?: (cell: SharedArrayBuffer) => void;
  readonly span?: Span;
}

type HearTask = Extract<FileTask, { type: "hear" }>;

/** A part to encode. */
export interface PartToHear {
  readonly part: number;
  readonly task: HearTask;
}

/** An encoded part. */
interface Part extends HeardPart {
  readonly startFrame: number;
  readonly endFrame: number;
}

/** A piece of a file, by its number in the file. */
export interface RunPiece {
  readonly run: FileRun;
  readonly index: number;
  readonly piece: FilePiece;
}

/**
 * One file in progress on the workers. Its parts are encoded ("heard"). Pieces of speech are cut out of them
 * as soon as their end is known, and decoded from the encoder's output. A part's memory is reused when no
 * piece needs it any more.
 */
export class FileRun {
  /** Rejects when the file is given up. */
  readonly segments: Promise<readonly TranscribedSegment[]>;
  readonly #options: FileRunOptions;
  readonly #cell = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #finder: PieceFinder;
  readonly #partFrames: number;
  readonly #endFrame: number;
  /** Parts that pieces still need, or that are waiting for an earlier part. */
  readonly #parts = new Map<number, Part>();
  readonly #ready: RunPiece[] = [];
  readonly #pieces: FoundPiece[] = [];
  readonly #decoded: (DecodedPiece | undefined)[] = [];
  readonly #freeBuffers: SharedArrayBuffer[] = [];
  /** Interrupted parts, to be encoded again. */
  readonly #interrupted: PartToHear[] = [];
  readonly #outcome = deferred<readonly TranscribedSegment[]>();
  /** Span that lasts until the first task starts. */
  readonly #wait: Span;
  #nextPart = 0;
  /** Number of parts that have been searched for pieces. */
  #joinedParts = 0;
  /** Number of parts that are no longer in memory. */
  #forgottenParts = 0;
  #undecoded = 0;
  #atWork = 0;
  #failure: ServiceError | null = null;
  #isOver = false;
  /** True while its tasks are being interrupted; no other starts until they have stopped. */
  #isYielding = false;

  constructor(options: FileRunOptions) {
    const { source, sampleRateHz, frameSamples } = options;
    const sampleCount = samplesAt(source, sampleRateHz);
    this.#options = options;
    this.#wait = (options.span ?? NO_SPAN).child("queue wait");
    this.#endFrame = Math.ceil(sampleCount / frameSamples) + FILE_END_FRAMES;
    const { least, most } = PART_FRAMES;
    this.#partFrames = Math.min(most, Math.max(least, Math.ceil(this.#endFrame / MIN_PARTS)));
    this.#finder = new PieceFinder({ frameSamples, sampleCount });
    this.segments = this.#outcome.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isLater(): boolean {
    return this.#options.isLater === true;
  }

  /** Parts in memory, including those being processed. */
  get heldParts(): number {
    return this.#nextPart - this.#forgottenParts;
  }

  get readyFrames(): number {
    if (this.#isYielding) return 0;
    return this.#ready.reduce((sum, { piece }) => sum + piece.endFrame - piece.startFrame, 0);
  }

  /** True if the next part may be encoded now. */
  get canHear(): boolean {
    if (this.#failure !== null || this.#isYielding) return false;
    if (this.#interrupted.length > 0) return true;
    if (this.#nextPart * this.#partFrames >= this.#endFrame) return false;
    return this.#options.forgets || this.#joinedParts === this.#nextPart;
  }

  /** True if an interrupted part must be encoded again. That part already counts in `heldParts`. */
  get isInterrupted(): boolean {
    return this.#interrupted.length > 0;
  }

  /** Starts the span of a task. */
  taskSpan(name: string, attributes: SpanAttributes = {}): Span {
    this.#wait.end();
    return (this.#options.span ?? NO_SPAN).child(name, attributes);
  }

  /** Takes the next part to be encoded. */
  hear(): PartToHear {
    this.#atWork++;
    const again = this.#interrupted.shift();
    if (again !== undefined) return again;
    const part = this.#nextPart++;
    const startFrame = part * this.#partFrames;
    const endFrame = Math.min(startFrame + this.#partFrames, this.#endFrame);
    const state = this.#options.forgets ? null : (this.#parts.get(part - 1)?.state ?? null);
    const room = this.#freeBuffers.pop() ?? null;
    const { source, isLater = false } = this.#options;
    const span = { startFrame, endFrame, state, room };
    return {
      part,
      task: { type: "hear", source, ...span, cell: this.#cell, ...(isLater && { isLater }) },
    };
  }

  heard(part: number, { startFrame, endFrame }: HearTask, result: HeardPart): void {
    this.#atWork--;
    this.#parts.set(part, { ...result, startFrame, endFrame });
    for (let next = this.#parts.get(this.#joinedParts); next !== undefined; ) {
      this.#find(this.#finder.push(next.speech, next.levels));
      if (next.endFrame === this.#endFrame) this.#find(this.#finder.finish());
      next = this.#parts.get(++this.#joinedParts);
    }
    this.#advance();
  }

  /** Takes ready pieces: the first one regardless of its length, others as far as they fit. */
  takePieces(mostFrames: number): RunPiece[] {
    const taken: RunPiece[] = [];
    for (let frames = 0; this.#ready.length > 0; ) {
      const { piece } = this.#ready[0]!;
      frames += piece.endFrame - piece.startFrame;
      if (frames > mostFrames && taken.length > 0) break;
      taken.push(this.#ready.shift()!);
    }
    this.#atWork += taken.length;
    return taken;
  }

  decoded(index: number, result: DecodedPiece): void {
    this.#atWork--;
    this.#decoded[index] = result;
    const first = this.#undecoded;
    while (this.#decoded[this.#undecoded] !== undefined) this.#undecoded++;
    const segments = this.#failure === null ? this.#segments(first, this.#undecoded) : [];
    if (segments.length > 0) this.#options.onSegments?.(segments);
    this.#advance();
  }

  /**
   * Interrupts the file's tasks at their next run, to make way for another file.
   * @returns the number of parts and pieces at work, all of which end
   */
  yieldWorkers(): number {
    if (this.#atWork === 0 || this.#failure !== null) return this.#atWork;
    this.#isYielding = true;
    Atomics.store(new Int32Array(this.#cell), 0, FILE_TASK_CELL.giveUp);
    return this.#atWork;
  }

  /**
   * Takes back a part or piece whose task was interrupted. Returns false if the task failed for another
   * reason.
   */
  takeBack(work: PartToHear | RunPiece, { code }: ServiceError): boolean {
    if (!this.#isYielding || this.#failure !== null || code !== "CANCELLED") return false;
    this.#atWork--;
    if ("part" in work) this.#interrupted.push(work);
    else {
      this.#ready.push(work);
      this.#ready.sort((a, b) => a.index - b.index);
    }
    this.#advance();
    return true;
  }

  /** Called when a task of the file has failed. */
  failed(error: ServiceError): void {
    this.#atWork--;
    this.giveUp(error);
  }

  /** Gives up the file once no worker is busy with it. Only the first reason counts. */
  giveUp(error: ServiceError): void {
    this.#wait.end();
    this.#failure ??= error;
    Atomics.store(new Int32Array(this.#cell), 0, FILE_TASK_CELL.giveUp);
    this.#options.onGiveUp?.(this.#cell);
    this.#ready.length = 0;
    this.#advance();
  }

  #find(pieces: readonly FoundPiece[]): void {
    for (const found of pieces) {
      const index = this.#pieces.push(found) - 1;
      const { source, hotWords } = this.#options;
      const parts = [...this.#parts.values()].filter(
        ({ startFrame, endFrame }) => startFrame < found.endFrame && endFrame > found.startFrame,
      );
      const piece = { ...found, source, hotWords, cell: this.#cell, parts: parts.map(asEncoded) };
      this.#ready.push({ run: this, index, piece });
    }
  }

  #advance(): void {
    if (this.#isOver) return;
    if (this.#isYielding && this.#atWork === 0 && this.#failure === null) {
      this.#isYielding = false;
      Atomics.store(new Int32Array(this.#cell), 0, FILE_TASK_CELL.goOn);
    }
    if (this.#failure !== null) {
      if (this.#atWork > 0) return;
      this.#isOver = true;
      this.#outcome.reject(this.#failure);
      return;
    }
    const doneFrame = this.#pieces[this.#undecoded]?.startFrame ?? this.#finder.earliestFrame;
    this.#forget(doneFrame);
    const isHeard = this.#joinedParts * this.#partFrames >= this.#endFrame;
    const isDone = isHeard && this.#undecoded === this.#pieces.length;
    this.#options.onProgress(isDone ? 1 : Math.min(1, doneFrame / this.#endFrame));
    if (!isDone) return;
    this.#isOver = true;
    this.#outcome.resolve(this.#segments(0, this.#pieces.length));
  }

  /** Releases parts that end before a frame. */
  #forget(frame: number): void {
    for (; this.#forgottenParts < this.#joinedParts; this.#forgottenParts++) {
      const part = this.#parts.get(this.#forgottenParts)!;
      // The next part starts from this part's state.
      const isContinued = this.#options.forgets || this.#nextPart > this.#forgottenParts + 1;
      if (part.endFrame > frame || !isContinued) return;
      this.#parts.delete(this.#forgottenParts);
      this.#freeBuffers.push(part.encoded);
    }
  }

  /** Returns the segments of decoded pieces; the end is exclusive. */
  #segments(from: number, to: number): TranscribedSegment[] {
    const { frameSamples, sampleRateHz } = this.#options;
    return this.#pieces.slice(from, to).flatMap(({ startFrame, endSample }, index) => {
      const { text, words } = this.#decoded[from + index]!;
      if (text === "") return [];
      const startSeconds = words[0]?.start ?? (startFrame * frameSamples) / sampleRateHz;
      const endSeconds = words.at(-1)?.end ?? endSample / sampleRateHz;
      return [{ text, startSeconds, endSeconds, words }];
    });
  }
}

function asEncoded({ encoded, startFrame, endFrame }: Part): FilePiece["parts"][number] {
  return { encoded, startFrame, endFrame };
}
