import { concatenatePcm } from "../../src/domain/audio/pcm.js";
import { asSpeechError, SpeechError } from "../../src/domain/errors.js";
import type { SynthesisJob, SynthesizedPiece, Synthesizer } from "../../src/ports/synthesizer.js";
import { Actor, type Decision } from "../kernel/actor.js";
import type { UnbilledSynthesis } from "./billed-synthesis.js";
import type { StopReason } from "./conversation.js";

/** Sentences that may be made before the reader has asked for them. */
const SENTENCES_AHEAD = 2;

/** One sentence to be delivered as a whole; its pieces are spoken one after another. */
export interface PlannedSentence {
  readonly pieces: readonly string[];
  /** Silence after the sentence. */
  readonly pauseSamples: number;
  /** Billed characters from the start of the text to the end of this sentence. */
  readonly charactersThrough: number;
}

export interface SynthesisPlan {
  readonly sentences: readonly PlannedSentence[];
  readonly billedCharacters: number;
  readonly sampleRateHz: number;
  /** Everything of a job but its text. */
  readonly voicing: Omit<SynthesisJob, "spokenText">;
}

/** How far the work and the reader are; both count sentences. */
export type SynthesisState =
  | {
      readonly phase: "speaking";
      readonly sentenceCount: number;
      /** Asked of the synthesizer so far; at most one at a time, so that sentences stay in order. */
      readonly begun: number;
      readonly finished: number;
      readonly delivered: number;
      /** The reader waits for the sentence after the last delivered one. */
      readonly isReaderWaiting: boolean;
    }
  | { readonly phase: "ended" };

export type SynthesisMessage =
  | { readonly type: "pull" }
  | { readonly type: "spoken" }
  | { readonly type: "failed"; readonly error: SpeechError }
  | { readonly type: "stop" };

export type SynthesisEffect =
  | { readonly type: "begin"; readonly sentence: number }
  | { readonly type: "deliver"; readonly sentence: number }
  | { readonly type: "end" }
  | { readonly type: "fail"; readonly error: SpeechError }
  | { readonly type: "cancel" };

/** Pure: what a synthesis does next. */
export function decideSynthesis(
  state: SynthesisState,
  message: SynthesisMessage,
): Decision<SynthesisState, SynthesisEffect> {
  if (state.phase === "ended") return { state, effects: [] };
  switch (message.type) {
    case "pull":
      return advance({ ...state, isReaderWaiting: true });
    case "spoken":
      return advance({ ...state, finished: state.finished + 1 });
    case "failed":
      return { state: { phase: "ended" }, effects: [{ type: "fail", error: message.error }] };
    case "stop": {
      const error = new SpeechError("CANCELLED", "synthesis was cancelled");
      return { state: { phase: "ended" }, effects: [{ type: "cancel" }, { type: "fail", error }] };
    }
  }
}

function advance(
  state: Extract<SynthesisState, { phase: "speaking" }>,
): Decision<SynthesisState, SynthesisEffect> {
  const effects: SynthesisEffect[] = [];
  let { begun, delivered, isReaderWaiting } = state;
  if (isReaderWaiting && state.finished > delivered) {
    effects.push({ type: "deliver", sentence: delivered });
    delivered++;
    isReaderWaiting = false;
  } else if (isReaderWaiting && delivered === state.sentenceCount) {
    return { state: { phase: "ended" }, effects: [{ type: "end" }] };
  }
  const isIdle = begun === state.finished;
  // A reader that waits takes one sentence at once, so it does not count as ahead.
  const wanted = delivered + (isReaderWaiting ? 1 : 0) + SENTENCES_AHEAD;
  if (isIdle && begun < Math.min(wanted, state.sentenceCount)) {
    effects.push({ type: "begin", sentence: begun });
    begun++;
  }
  return { state: { ...state, begun, delivered, isReaderWaiting }, effects };
}

interface Reader {
  readonly resolve: (result: IteratorResult<SynthesizedPiece>) => void;
  readonly reject: (error: SpeechError) => void;
}

/** One client's synthesis: owns the sentences between the synthesizer and the reader. */
export class SynthesisSession implements UnbilledSynthesis {
  readonly billedCharacters: number;
  readonly charactersThrough: readonly number[];
  readonly sampleRateHz: number;
  readonly #plan: SynthesisPlan;
  readonly #synthesizer: Synthesizer;
  readonly #actor: Actor<SynthesisState, SynthesisMessage, SynthesisEffect>;
  readonly #abort = new AbortController();
  readonly #finished = new Map<number, SynthesizedPiece>();
  #reader: Reader | null = null;
  #failure: SpeechError | null = null;

  constructor(plan: SynthesisPlan, synthesizer: Synthesizer) {
    this.#plan = plan;
    this.#synthesizer = synthesizer;
    this.billedCharacters = plan.billedCharacters;
    this.charactersThrough = plan.sentences.map((sentence) => sentence.charactersThrough);
    this.sampleRateHz = plan.sampleRateHz;
    this.#actor = new Actor({
      initial: {
        phase: "speaking",
        sentenceCount: plan.sentences.length,
        begun: 0,
        finished: 0,
        delivered: 0,
        isReaderWaiting: false,
      },
      decide: decideSynthesis,
      perform: (effect) => this.#perform(effect),
      onCrash: (error) => this.#fail(asSpeechError(error)),
    });
  }

  sentences(): AsyncIterable<SynthesizedPiece> {
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => this.#next(),
        return: async () => {
          this.stop("client-left");
          return { done: true, value: undefined };
        },
      }),
    };
  }

  stop(_reason: StopReason): void {
    this.#actor.tell({ type: "stop" });
  }

  #next(): Promise<IteratorResult<SynthesizedPiece>> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#actor.state.phase === "ended") return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.#actor.tell({ type: "pull" });
    });
  }

  #perform(effect: SynthesisEffect): void {
    switch (effect.type) {
      case "begin":
        void this.#speakSentence(effect.sentence);
        return;
      case "deliver": {
        const piece = this.#finished.get(effect.sentence)!;
        this.#finished.delete(effect.sentence);
        this.#takeReader()?.resolve({ done: false, value: piece });
        return;
      }
      case "end":
        this.#takeReader()?.resolve({ done: true, value: undefined });
        return;
      case "cancel":
        this.#abort.abort();
        return;
      case "fail":
        this.#fail(effect.error);
    }
  }

  async #speakSentence(index: number): Promise<void> {
    const { pieces, pauseSamples } = this.#plan.sentences[index]!;
    try {
      const spoken: Int16Array[] = [];
      for (const spokenText of pieces) {
        const job = { ...this.#plan.voicing, spokenText };
        spoken.push((await this.#synthesizer.speak(job, this.#abort.signal)).pcm);
      }
      const isLast = index === this.#plan.sentences.length - 1;
      this.#finished.set(index, {
        pcm: concatenatePcm(spoken, isLast ? 0 : pauseSamples),
        sampleRateHz: this.sampleRateHz,
      });
      this.#actor.tell({ type: "spoken" });
    } catch (error) {
      this.#actor.tell({ type: "failed", error: asSpeechError(error) });
    }
  }

  #fail(error: SpeechError): void {
    this.#failure = error;
    this.#finished.clear();
    this.#abort.abort();
    this.#takeReader()?.reject(error);
  }

  #takeReader(): Reader | null {
    const reader = this.#reader;
    this.#reader = null;
    return reader;
  }
}
