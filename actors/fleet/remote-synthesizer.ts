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

/** A piece that was lost so often with its node, or on its way, is taken to be the cause. */
const MOST_ATTEMPTS = 3;
/** Pieces that may wait for a node with room; beyond it `ENGINE_BUSY`, as where pieces are made here. */
const MOST_WAITING = 256;

/** What a listener was told of a piece so far; another node goes on behind it. */
class ToldPiece {
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

/** Has pieces spoken by nodes of the fleet; where one is lost another goes on at the next sample. */
export class RemoteSynthesizer implements Synthesizer {
  readonly #places: NodePlaces;
  readonly #clock: Clock;
  #waiting = 0;

  constructor(parts: { readonly places: NodePlaces; readonly clock: Clock }) {
    this.#places = parts.places;
    this.#clock = parts.clock;
  }

  /** Waits until a node is there, as long as it takes. */
  async start(): Promise<void> {
    await this.#places.await();
  }

  async stop(): Promise<void> {
    this.#places.close();
  }

  async speak(job: SynthesisJob, signal: AbortSignal, options: SpeakOptions = {}): Promise<SynthesizedPiece> {
    const { urgency = { kind: "whole" }, askedAtMs = this.#clock.nowMs(), span = NO_SPAN } = options;
    const told = new ToldPiece(options, signal);
    for (let attempt = 1; ; ) {
      const place = await this.#place(signal, span, told.sampleCount > 0);
      const run = span.child("worker run", { node: place.node, attempt });
      try {
        const call = { job, urgency, askedAtMs, skipSamples: told.sampleCount };
        const done = await place.call({
          body: toSpeakCall(call, this.#clock.nowMs()),
          traceparents: traceparentsOf([run]),
          onPart: (part) => told.take(part as SpeakPart, run),
        }).answer;
        return told.piece(done as SpeakDone);
      } catch (error) {
        if (!(error instanceof CallLost)) throw error;
        run.set({ lost: error.ending });
        // A node without room has not tried.
        if (error.ending !== "refused" && ++attempt > MOST_ATTEMPTS) throw lost(error);
      } finally {
        run.end();
        place.leave();
      }
    }
  }

  async #place(signal: AbortSignal, span: Span, isHeard: boolean) {
    if (this.#waiting >= MOST_WAITING)
      throw new ServiceError("ENGINE_BUSY", "synthesis is at capacity, try again");
    const wait = span.child("queue wait");
    this.#waiting++;
    try {
      return await this.#places.take(signal);
    } catch (error) {
      const isBusy = error instanceof ServiceError && error.code === "ENGINE_BUSY";
      // A listener of the beginning hears that it was cut off, as where a worker is lost here.
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
