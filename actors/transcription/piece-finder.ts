import {
  type EndpointEvent,
  Endpointer,
  NOTHING_MORE,
  pauseFramesFor,
} from "../../core/domain/endpointing/endpointer.js";
import type { FilePiece } from "../../native/threads/protocol.js";

/**
 * Silence between two pieces of a file; longer than in live sessions, because nobody waits for the first
 * words.
 */
const PAUSE_FRAMES = pauseFramesFor(480);
/** Frames of a pause that belong to the speech before it. */
const TAIL_FRAMES = PAUSE_FRAMES / 2;
/**
 * Letters are emitted late, so a piece that starts this close to a cut would begin with letters of the
 * previous piece.
 */
const LATE_FRAMES = 5;

/** Frames of silence added to a file, so that speech at its very end is followed by a pause too. */
export const FILE_END_FRAMES = PAUSE_FRAMES;

/** A run of speech, without the encoder's output. */
export type FoundPiece = Pick<
  FilePiece,
  "startFrame" | "endFrame" | "endSample" | "speechMean" | "isCutBefore" | "isCutBehind"
>;

/** Finds runs of speech in the speech probabilities of a file's frames. */
export class PieceFinder {
  readonly #endpointer = new Endpointer({ pauseFrames: PAUSE_FRAMES });
  readonly #frameSamples: number;
  readonly #sampleCount: number;
  #lastCut = Number.NEGATIVE_INFINITY;

  /** @param parts.sampleCount length of the file at the model's rate */
  constructor(parts: { readonly frameSamples: number; readonly sampleCount: number }) {
    this.#frameSamples = parts.frameSamples;
    this.#sampleCount = parts.sampleCount;
  }

  /** All later pieces start at or after this frame. */
  get earliestFrame(): number {
    return this.#endpointer.earliestNeededFrame;
  }

  /** Adds the speech probabilities of the next frames, and their levels if the node sends them. */
  push(speech: Float32Array, levels: Float32Array | null = null): FoundPiece[] {
    const found: FoundPiece[] = [];
    for (const [frame, probability] of speech.entries()) {
      const heard = levels === null ? NOTHING_MORE : { levelDb: levels[frame]!, hasLetter: true };
      this.#take(this.#endpointer.push(probability, heard), found);
    }
    return found;
  }

  /** Ends the file. */
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
