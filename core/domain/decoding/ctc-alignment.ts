import type { FramedTokens } from "./words.js";

const BLANK = 0;

/** The frames of each token of a known text, and the model's certainty. */
export interface CtcAlignment extends FramedTokens {
  /** Log-prob of each token in the clearest of its frames. */
  readonly bestLogProbs: ArrayLike<number>;
  /** Log-prob of the tokens' frames minus that of blanks in their place. */
  readonly evidence: number;
  /** Geometric mean over tokens of each one's best probability in its frames, 0 to 1; 1 for no tokens. */
  readonly confidence: number;
}

/**
 * Aligns tokens with frames along the best CTC path. Keeps its tables between calls; not re-entrant.
 * @see Graves et al., 2006, with the maximum in place of the sum.
 */
export class CtcAligner {
  readonly #width: number;
  #previous = new Float64Array(0);
  #current = new Float64Array(0);
  /** Per frame and label: how many labels back the best path came from, 0 to 2. */
  #steps = new Uint8Array(0);

  /** @param vocabularySize columns of the log-probs */
  constructor(vocabularySize: number) {
    this.#width = vocabularySize;
  }

  /**
   * @param logProbs `[frames, vocabulary]`, natural log
   * @param tokens without blanks; must fit, that is tokens + repeats <= frames
   */
  align(logProbs: Float32Array, frames: number, tokens: ArrayLike<number>): CtcAlignment {
    const labelCount = 2 * tokens.length + 1;
    this.#reserve(frames, labelCount);
    const scores = this.#fill(logProbs, frames, tokens, labelCount);
    let label = labelCount - 1;
    if (label > 0 && scores[label - 1]! > scores[label]!) label--;
    return this.#trace(logProbs, frames, tokens, labelCount, label);
  }

  #reserve(frames: number, labelCount: number): void {
    if (this.#previous.length < labelCount) {
      this.#previous = new Float64Array(labelCount * 2);
      this.#current = new Float64Array(labelCount * 2);
    }
    if (this.#steps.length < frames * labelCount) this.#steps = new Uint8Array(frames * labelCount * 2);
  }

  /** Labels are blank, token, blank, token, ..., blank. Returns the scores of the last frame. */
  #fill(logProbs: Float32Array, frames: number, tokens: ArrayLike<number>, labelCount: number): Float64Array {
    let previous = this.#previous;
    let current = this.#current;
    // The first frame may be the first blank or the first token.
    previous.fill(Number.NEGATIVE_INFINITY, 0, labelCount);
    for (let frame = 0; frame < frames; frame++) {
      const row = frame * this.#width;
      const stepRow = frame * labelCount;
      // Skip labels that cannot be reached yet, or from which the end can no longer be reached.
      const low = Math.max(0, labelCount - 2 * (frames - frame));
      const high = Math.min(labelCount - 1, 2 * frame + 1);
      for (let label = 0; label < labelCount; label++) {
        if (label < low || label > high) {
          current[label] = Number.NEGATIVE_INFINITY;
          continue;
        }
        const isToken = (label & 1) === 1;
        const output = isToken ? tokens[label >> 1]! : BLANK;
        let best = frame === 0 && label <= 1 ? 0 : previous[label]!;
        let step = 0;
        if (label >= 1 && previous[label - 1]! > best) {
          best = previous[label - 1]!;
          step = 1;
        }
        if (isToken && label >= 3 && tokens[(label >> 1) - 1] !== output && previous[label - 2]! > best) {
          best = previous[label - 2]!;
          step = 2;
        }
        current[label] = best + logProbs[row + output]!;
        this.#steps[stepRow + label] = step;
      }
      [previous, current] = [current, previous];
    }
    return previous;
  }

  #trace(
    logProbs: Float32Array,
    frames: number,
    tokens: ArrayLike<number>,
    labelCount: number,
    lastLabel: number,
  ): CtcAlignment {
    const firstFrames = new Array<number>(tokens.length).fill(0);
    const lastFrames = new Array<number>(tokens.length).fill(-1);
    const best = new Array<number>(tokens.length).fill(Number.NEGATIVE_INFINITY);
    let evidence = 0;
    let label = lastLabel;
    for (let frame = frames - 1; frame >= 0; frame--) {
      if ((label & 1) === 1) {
        const index = label >> 1;
        firstFrames[index] = frame;
        if (lastFrames[index] === -1) lastFrames[index] = frame;
        const row = frame * this.#width;
        const logProb = logProbs[row + tokens[index]!]!;
        best[index] = Math.max(best[index]!, logProb);
        evidence += logProb - logProbs[row + BLANK]!;
      }
      label -= this.#steps[frame * labelCount + label]!;
    }
    const sum = best.reduce((total, logProb) => total + logProb, 0);
    const confidence = tokens.length === 0 ? 1 : Math.exp(sum / tokens.length);
    return { tokens, firstFrames, lastFrames, bestLogProbs: best, evidence, confidence };
  }
}
