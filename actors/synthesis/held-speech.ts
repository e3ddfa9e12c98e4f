import { type SpeechQuantity, speechSeconds } from "../../core/domain/synthesis/longest-speech.js";
import { pauseAfterMs } from "../../core/domain/synthesis/pauses.js";
import type { Delivery } from "../../core/ports/conversations.js";
import type { PlannedSentence, SynthesisPlan } from "./planned-speech.js";

/**
 * Speech that may wait for a reader who takes its time: with so much made nothing more is begun. A listener at the pace of
 * speech never runs dry by it, for the next piece takes a tenth of its own length to make.
 */
export const SECONDS_AHEAD = 60;
const BYTES_PER_SAMPLE = 2;

/**
 * What sentences have to say.
 * @param breath of the voice
 */
export function quantityOf(
  sentences: readonly PlannedSentence[],
  sampleRateHz: number,
  breath: number,
): SpeechQuantity {
  const pieces = sentences.flatMap((sentence) => sentence.pieces);
  const betweenPiecesMs = pieces.reduce((sum, { text }) => sum + pauseAfterMs(text, breath), 0);
  const pauseSamples = sentences.reduce(
    (sum, { leadSamples = 0, pauseSamples }) => sum + leadSamples + pauseSamples,
    0,
  );
  return {
    characters: pieces.reduce((sum, { text }) => sum + text.length, 0),
    pieces: pieces.length,
    pauseSeconds: pauseSamples / sampleRateHz + betweenPiecesMs / 1_000,
  };
}

/** Upper guess at the bytes of samples that are in memory at once, however slowly they are read. */
export function mostHeldBytes(plan: SynthesisPlan, delivery: Delivery): number {
  const { sentences, sampleRateHz } = plan;
  const { speed, breath = 1 } = plan.voicing;
  const secondsOf = (some: readonly PlannedSentence[]) =>
    speechSeconds(quantityOf(some, sampleRateHz, breath), speed);
  const all = secondsOf(sentences);
  let seconds = all;
  if (delivery !== "whole") {
    // What is begun when that much is ahead is made to its end, and the reader may be taking as much.
    seconds = SECONDS_AHEAD + 2 * longest(sentences, (sentence) => longestChunkSeconds(sentence, plan));
  }
  if (delivery === "sentences") {
    seconds += longest(sentences, (sentence) => secondsOf([sentence]));
  }
  return Math.ceil(Math.min(all, seconds) * sampleRateHz) * BYTES_PER_SAMPLE;
}

/** A piece is made in one go, and a pause. */
function longestChunkSeconds(
  { pieces, leadSamples = 0, pauseSamples }: PlannedSentence,
  plan: SynthesisPlan,
) {
  const longestPiece = Math.max(...pieces.map(({ text }) => text.length));
  const spoken = { characters: longestPiece, pieces: 1, pauseSeconds: leadSamples / plan.sampleRateHz };
  return Math.max(speechSeconds(spoken, plan.voicing.speed), pauseSamples / plan.sampleRateHz);
}

function longest(
  sentences: readonly PlannedSentence[],
  secondsOf: (sentence: PlannedSentence) => number,
): number {
  return sentences.reduce((most, sentence) => Math.max(most, secondsOf(sentence)), 0);
}
