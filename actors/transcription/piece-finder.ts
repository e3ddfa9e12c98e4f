import {
  type EndpointEvent,
  Endpointer,
  NOTHING_MORE,
  pauseFramesFor,
} from "../../core/domain/endpointing/endpointer.js";
import type { FilePiece } from "../../native/threads/protocol.js";

/** Silence that separates two pieces of a file: longer than live, since nobody waits for the first words. */
const PAUSE_FRAMES = pauseFramesFor(480);
/** Of a pause, so many frames belong to the speech before it. */
const TAIL_FRAMES = PAUSE_FRAMES / 2;
/** Letters come out late: a piece that begins within so many frames of a cut would begin with those of the one before. */
const LATE_FRAMES = 5;

/** Frames of silence behind a file, so that speech right before its end ends in a pause as any other does. */
export const FILE_END_FRAMES = PAUSE_FRAMES;

/** A run of speech, before it is known what the encoder made of it. */
export type FoundPiece = Pick<
  FilePiece,
  "startFrame" | "endFrame" | "endSample" | "speechMean" | "isCutBefore" | "isCutBehind"
>;

/** Finds the runs of speech of a file in the probabilities of its frames. */
export class PieceFinder {
  readonly #endpointer = new Endpointer({ pauseFrames: PAUSE_FRAMES });
  readonly #frameSamples: number;
  readonly #sampleCount: number;
  #lastCut = Number.NEGATIVE_INFINITY;

  /** @param sampleCount of the file, at the model's rate */
  constructor(parts: { readonly frameSamples: number; readonly sampleCount: number }) {
    this.#frameSamples = parts.frameSamples;
    this.#sampleCount = parts.sampleCount;
  }

  /** No later piece begins before this frame. */
  get earliestFrame(): number {
    return this.#endpointer.earliestNeededFrame;
  }

  /** Takes the next frames of the file: how likely each is speech, and its level where that is known. */
  push(speech: Float32Array, levels: Float32Array | null = null): FoundPiece[] {
    const found: FoundPiece[] = [];
    for (const [frame, probability] of speech.entries()) {
      const heard = levels === null ? NOTHING_MORE : { levelDb: levels[frame]!, hasLetter: true };
      this.#take(this.#endpointer.push(probability, heard), found);
    }
    return found;
  }

  /** The file has ended. */
  finish(): FoundPiece[] {
    const found: FoundPiece[] = [];
    this.#take(this.#endpointer.finalizeNow(), found);
    return found;
  }

  #take(events: readonly EndpointEvent[], found: FoundPiece[]): void {
    for (const event of events) {
      if (event.type !== "ended") continue;
      const { startFrame, speechMean } = event;
      const isCutBehind = event.reason === "too-long";
      const isCutBefore = startFrame < this.#lastCut + LATE_FRAMES;
      if (isCutBehind) this.#lastCut = event.endFrame;
      const endFrame = event.endFrame + (isCutBehind ? 0 : TAIL_FRAMES);
      const endSample = Math.min(endFrame * this.#frameSamples, this.#sampleCount);
      if (endSample <= startFrame * this.#frameSamples) continue;
      found.push({ startFrame, endFrame, endSample, speechMean, isCutBefore, isCutBehind });
    }
  }
}
