import { setImmediate as nextTurn } from "node:timers/promises";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { asServiceError, ServiceError } from "../../core/domain/errors.js";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import {
  type ModelRun,
  nextRun,
  type PieceInFlight,
  type PieceStage,
  type RunLimits,
} from "../../core/domain/synthesis/solver-schedule.js";
import { chunkDueAtMs } from "../../core/domain/synthesis/urgency.js";
import type { VocoderWindow } from "../../core/domain/synthesis/vocoder-windows.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import type { FlowMatching } from "../models/flow-matching/flow-matching.js";
import type { SolverPiece } from "../models/flow-matching/solver-piece.js";
import { SYNTHESIS_CELL } from "../threads/protocol.js";

export interface SolverSink {
  /** Sends the next samples of a job; settles when there is space for more. */
  pcm(jobId: number, samples: Int16Array): Promise<void>;
  /** Precedes the first samples of a piece with growing chunks; see `SpeakOptions.onBounds`. */
  begun(jobId: number, characterBounds: Int32Array): void;
  /** @param characterBounds see `SynthesizedPiece` */
  spoken(jobId: number, characterBounds: Int32Array | null): void;
  gaveUp(jobId: number, error: ServiceError): void;
  /** The provider has failed; no further call follows for the current pieces. */
  lost(error: ProviderError): void;
}

export interface SolverRequest {
  readonly jobId: number;
  readonly job: SynthesisJob;
  readonly dueAtMs: number;
  /** Start of its playback; null for immediate playback. */
  readonly playsFromMs: number | null;
}

interface Flight {
  readonly jobId: number;
  readonly job: SynthesisJob;
  dueAtMs: number;
  playsFromMs: number | null;
  /** Null until its text is encoded. */
  piece: SolverPiece | null;
  /** Frame of the piece up to which samples were sent; null until its first speech is solved. */
  sentFrames: number | null;
  sentSamples: number;
}

/**
 * Speaks several pieces concurrently, one model run after another. Each run has its own batch; between two
 * runs, the thread handles messages, so that new pieces join and cancelled ones leave.
 */
export class SharedSolver {
  readonly #model: FlowMatching;
  readonly #sink: SolverSink;
  readonly #limits: RunLimits;
  readonly #cells: Int32Array;
  readonly #flights = new Map<number, Flight>();
  #working: Promise<void> | null = null;

  /** @param cells see `SYNTHESIS_CELL` */
  constructor(parts: { model: FlowMatching; sink: SolverSink; limits: RunLimits; cells: Int32Array }) {
    this.#model = parts.model;
    this.#sink = parts.sink;
    this.#limits = parts.limits;
    this.#cells = parts.cells;
  }

  speak(request: SolverRequest): void {
    this.#flights.set(request.jobId, { ...request, piece: null, sentFrames: null, sentSamples: 0 });
    this.#working ??= this.#work();
  }

  cancel(jobId: number): void {
    if (!this.#flights.delete(jobId)) return;
    this.#sink.gaveUp(jobId, new ServiceError("CANCELLED", "synthesis was cancelled"));
  }

  async idle(): Promise<void> {
    await this.#working;
  }

  async release(): Promise<void> {
    await this.#model.release();
  }

  async #work(): Promise<void> {
    for (;;) {
      // Handle messages that arrived during the last run before choosing the next one.
      await nextTurn();
      const pieces = Array.from(this.#flights.values(), (flight) => this.#pieceOf(flight));
      const run = nextRun(pieces, this.#limits);
      if (run === null) break;
      await this.#perform(run);
    }
    this.#working = null;
  }

  async #perform(run: ModelRun): Promise<void> {
    const flights = (run.type === "begin" ? [run.id] : run.ids).map((id) => this.#flights.get(id)!);
    try {
      if (run.type === "begin") {
        const flight = flights[0]!;
        flight.piece = await this.#counted(1, () => this.#model.begin(flight.job));
      } else if (run.type === "step") await this.#step(flights, run.patches);
      else await this.#vocode(flights);
    } catch (thrown) {
      const error = asServiceError(thrown);
      if (error instanceof ProviderError) {
        // No piece caused this failure, so another worker takes over all of them.
        this.#flights.clear();
        this.#sink.lost(error);
        return;
      }
      for (const { jobId } of flights) {
        if (this.#flights.delete(jobId)) this.#sink.gaveUp(jobId, error);
      }
    }
  }

  async #step(flights: readonly Flight[], patches: number): Promise<void> {
    const pieces = flights.map(({ piece }) => piece!).filter((piece) => this.#model.isUnsolved(piece));
    await this.#counted(pieces.length, () => this.#model.step(pieces, patches));
    for (const flight of flights) {
      if (flight.sentFrames === null && flight.piece!.trim !== null) this.#beginSound(flight);
    }
  }

  async #vocode(flights: readonly Flight[]): Promise<void> {
    const windows = flights.map((flight) => ({ piece: flight.piece!, window: this.#windowOf(flight)! }));
    const parts = await this.#counted(windows.length, () => this.#model.vocode(windows));
    for (const [row, flight] of flights.entries()) {
      await this.#send(flight, parts[row]!, windows[row]!.window.end);
    }
  }

  #beginSound(flight: Flight): void {
    const { jobId, job, piece } = flight;
    flight.sentFrames = piece!.trim!.start;
    // The job may have been cancelled meanwhile.
    if (job.chunking === "growing" && this.#flights.has(jobId))
      this.#sink.begun(jobId, this.#model.characterBoundsOf(piece!));
  }

  async #send(flight: Flight, samples: Float32Array, sentFrames: number): Promise<void> {
    const piece = flight.piece!;
    const { start, stop, silentFramesBefore, silentFramesAfter } = this.#model.trimOf(piece);
    const isFirst = flight.sentFrames === start;
    const isLast = sentFrames === stop && !this.#model.isUnsolved(piece);
    flight.sentFrames = sentFrames;
    const { hopSamples } = this.#model.manifest;
    const before = isFirst ? silentFramesBefore * hopSamples : 0;
    const after = isLast ? silentFramesAfter * hopSamples : 0;
    const padded = new Float32Array(before + samples.length + after);
    padded.set(samples, before);
    flight.sentSamples += padded.length;
    // The job may have been cancelled while another piece waited for space.
    if (this.#flights.has(flight.jobId)) await this.#sink.pcm(flight.jobId, toInt16(padded));
    this.#dueAgain(flight);
    if (!isLast || !this.#flights.delete(flight.jobId)) return;
    this.#sink.spoken(flight.jobId, this.#model.characterBoundsOf(piece));
  }

  /**
   * Sets the due time of the next chunk to the end of playback of the samples sent. Whole pieces have no such
   * time.
   */
  #dueAgain(flight: Flight): void {
    if (flight.job.chunking !== "growing") return;
    flight.playsFromMs ??= performance.now();
    const sentMs = (1_000 * flight.sentSamples) / this.#model.manifest.sampleRateHz;
    flight.dueAtMs = chunkDueAtMs(flight.playsFromMs, sentMs);
  }

  #pieceOf(flight: Flight): PieceInFlight {
    const { jobId: id, job, dueAtMs, piece, sentFrames } = flight;
    const isFirstChunk =
      job.chunking === "growing" &&
      sentFrames === null &&
      flight.playsFromMs === null &&
      !piece?.solving?.index;
    return { id, dueAtMs, isFirstChunk, stage: this.#stageOf(flight) };
  }

  #stageOf(flight: Flight): PieceStage {
    const { piece } = flight;
    if (piece === null) return { type: "begin" };
    const window = this.#windowOf(flight);
    if (window !== null) return { type: "vocode", window };
    const { patches, stepsDone } = piece.solving!;
    return { type: "step", patches, stepsDone, steps: piece.schedule.length - 1 };
  }

  /** Returns the next window to vocode, if any; windows do not depend on other pieces. */
  #windowOf({ piece, sentFrames }: Flight): VocoderWindow | null {
    return sentFrames === null ? null : this.#model.windowOf(piece!, sentFrames);
  }

  /** Counts a run at its start, and its time inside the runtime at its end. */
  async #counted<T>(rows: number, run: () => Promise<T>): Promise<T> {
    Atomics.add(this.#cells, SYNTHESIS_CELL.runs, 1);
    Atomics.add(this.#cells, SYNTHESIS_CELL.rows, rows);
    const busyBeforeMs = this.#model.busyMs;
    try {
      return await run();
    } finally {
      const micros = Math.round((this.#model.busyMs - busyBeforeMs) * 1_000);
      Atomics.add(this.#cells, SYNTHESIS_CELL.busyMicros, micros);
    }
  }
}
