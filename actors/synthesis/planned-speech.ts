import type { RoomToneSource } from "../../core/domain/synthesis/room-tone.js";
import type { SpokenPiece } from "../../core/domain/text/spoken-sentences.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";

/** One sentence to be delivered as a whole; its pieces are spoken one after another. */
export interface PlannedSentence {
  readonly pieces: readonly Pick<SpokenPiece, "text" | "words">[];
  /** Silence before the sentence; none when absent. */
  readonly leadSamples?: number;
  /** Silence after the sentence. */
  readonly pauseSamples: number;
  /** Billed characters from the start of the text to the end of this sentence. */
  readonly charactersThrough: number;
}

export interface SynthesisPlan {
  readonly sentences: readonly PlannedSentence[];
  readonly billedCharacters: number;
  /** Characters (code points) of the text that have no place in speech. They stay billed. */
  readonly droppedCharacters: number;
  readonly sampleRateHz: number;
  /** What was asked for; the job's has the voice's pace in it. */
  readonly speed: number;
  /** Under all of the answer; null for digital silence where nobody speaks. */
  readonly roomTone: RoomToneSource | null;
  /** Everything of a job but its text. */
  readonly voicing: Omit<SynthesisJob, "spokenText">;
}
