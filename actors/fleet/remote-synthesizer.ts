import { concatenatePcm } from "../../core/domain/audio/pcm.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import { NO_SPAN, type Span, traceparentsOf } from "../../core/ports/span.js";
import type {
  SpeakOptions,
  SynthesisJob,
  SynthesizedPiece,
  Synthesizer,
} from "../../core/ports/synthesizer.js";
import { CallLost } from "./fleet-calls.js";
import type { NodePlaces } from "./node-places.js";
import { boundsOf, pcmOf, type SpeakDone, type SpeakPart, toSpeakCall } from "./speak-call.js";

/** A piece that loses this many nodes is assumed to be the cause. */
const MAX_ATTEMPTS = 3;
/**
 * Most pieces that wait for a node with room; more fail with `ENGINE_BUSY`, as in a single-process engine.
 */
const MAX_WAITING = 256;

/** The part of a piece that its listener has received; another node continues from there. */
class PartialPiece {
  readonly #options: SpeakOptions;
  readonly #signal: AbortSignal;
  readonly #parts: Int16Array[] = [];
  #isTimed = false;
  sampleCount = 0;

  constructor(options: SpeakOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  take({ bounds, pcm }: SpeakPart, span: Span): void {
    if (bounds !== undefined && !this.#isTimed) {
      this.#isTimed = true;
      if (!this.#signal.aborted) this.#options.onBounds?.(boundsOf(bounds as Uint8Array));
    }
    if (pcm === undefined) return;
    const samples = pcmOf(pcm as Uint8Array);
    if (this.sampleCount === 0) span.event("first samples");
    this.sampleCount += samples.length;
    this.#parts.push(samples);
    if (!this.#signal.aborted) this.#options.onPcm?.(samples);
  }

  piece({ bounds, sampleRateHz }: SpeakDone): SynthesizedPiece {
    const characterBounds = bounds === null ? null : boundsOf(bounds as Uint8Array);
    return { pcm: concatenatePcm(this.#parts), sampleRateHz, characterBounds };
  }
}

/** Synthesizes pieces on nodes of the fleet. If a node is lost, another continues at the next sample. */
export class RemoteSynthesizer implements Synthesizer {
  readonly #places: NodePlaces;
  readonly #clock: Clock;
  #waiting = 0;

  constructor(parts: { readonly places: NodePlaces; readonly clock: Clock }) {
    this.#places = parts.places;
    this.#clock = parts.clock;
  }

  /** Waits without limit for a node. */
  async start(): Promise<void> {
    await this.#places.await();
  }

  async stop(): Promise<void> {
    this.#places.close();
  }

  async speak(job: SynthesisJob, signal: AbortSignal, options: SpeakOptions = {}): Promise<SynthesizedPiece> {
    const { urgency = { kind: "whole" }, askedAtMs = this.#clock.nowMs(), span = NO_SPAN } = options;
    const partial = new PartialPiece(options, signal);
    for (let attempt = 1; ; ) {
      const place = await this.#place(signal, span, partial.sampleCount > 0);
      const run = span.child("worker run", { node: place.node, attempt });
      try {
        const call = { job, urgency, askedAtMs, skipSamples: partial.sampleCount };
        const done = await place.call({
          body: toSpeakCall(call, this.#clock.nowMs()),
          traceparents: traceparentsOf([run]),
          onPart: (part) => partial.take(part as SpeakPart, run),
        }).answer;
        return partial.piece(done as SpeakDone);
      } catch (error) {
        if (!(error instanceof CallLost)) throw error;
        run.set({ lost: error.ending });
        // A rejection does not count as an attempt.
        if (error.ending !== "refused" && ++attempt > MAX_ATTEMPTS) throw lost(error);
      } finally {
        run.end();
        place.leave();
      }
    }
  }

  async #place(signal: AbortSignal, span: Span, isHeard: boolean) {
    if (this.#waiting >= MAX_WAITING)
      throw new ServiceError("ENGINE_BUSY", "synthesis is at capacity, try again");
    const wait = span.child("queue wait");
    this.#waiting++;
    try {
      return await this.#places.take(signal);
    } catch (error) {
      const isBusy = error instanceof ServiceError && error.code === "ENGINE_BUSY";
      // To a listener who has heard the start, this is a lost worker.
      throw isBusy && isHeard ? lost(error) : error;
    } finally {
      this.#waiting--;
      wait.end();
    }
  }
}

function lost(cause: unknown): ServiceError {
  return new ServiceError("WORKER_LOST", "synthesis failed, try again", { cause });
}
