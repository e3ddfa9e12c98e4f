import { GreedyDecoder } from "../../core/domain/decoding/greedy.js";
import type { FrameTiming, TimedWord } from "../../core/domain/decoding/words.js";

/** Decodes a whole utterance greedily. */
export function decodeGreedily(
  logProbs: Float32Array,
  frames: number,
  vocabulary: readonly string[],
  timing?: FrameTiming,
): { text: string; words: TimedWord[]; confidence: number } {
  const decoder = new GreedyDecoder(vocabulary);
  decoder.push(logProbs, frames);
  return { text: decoder.text, words: decoder.words(timing), confidence: decoder.confidence };
}
