import { ServiceError } from "../../core/domain/errors.js";
import type { Decision } from "../../core/kernel/actor.js";
import type { SpeechChunk } from "../../core/ports/conversations.js";

/** Sentences that may be synthesized before the reader requests them. */
const SENTENCES_AHEAD = 2;

/** Progress of the work and the reader, counted in sentences. */
export type SynthesisState =
  | {
      readonly phase: "speaking";
      readonly sentenceCount: number;
      /** Sentences started so far. At most one is in progress, so that sentences stay in order. */
      readonly begun: number;
      readonly finished: number;
      readonly delivered: number;
      /** True if the reader has part of the sentence after the last delivered one. */
      readonly isInsideSentence: boolean;
      /** Chunks that have not been delivered yet, oldest first. */
      readonly waitingChunks: readonly SpeechChunk[];
      readonly isReaderWaiting: boolean;
    }
  | { readonly phase: "ended" };

export type SynthesisMessage =
  | { readonly type: "pull" }
  | { readonly type: "made"; readonly chunk: SpeechChunk }
  | { readonly type: "failed"; readonly error: ServiceError }
  | { readonly type: "stop" };

export type SynthesisEffect =
  | { readonly type: "begin"; readonly sentence: number }
  | { readonly type: "deliver"; readonly chunk: SpeechChunk }
  | { readonly type: "end" }
  | { readonly type: "fail"; readonly error: ServiceError }
  | { readonly type: "cancel" };

/** Samples that have not been delivered yet. */
export function waitingSamples(state: SynthesisState): number {
  if (state.phase === "ended") return 0;
  return state.waitingChunks.reduce((sum, { pcm }) => sum + pcm.length, 0);
}

/** Pure: decides the next step of a synthesis. */
export function decideSynthesis(
  state: SynthesisState,
  message: SynthesisMessage,
): Decision<SynthesisState, SynthesisEffect> {
  if (state.phase === "ended") return { state, effects: [] };
  switch (message.type) {
    case "pull":
      return advance({ ...state, isReaderWaiting: true });
    case "made":
      return advance({
        ...state,
        finished: state.finished + (message.chunk.endsSentence ? 1 : 0),
        waitingChunks: [...state.waitingChunks, message.chunk],
      });
    case "failed":
      return { state: { phase: "ended" }, effects: [{ type: "fail", error: message.error }] };
    case "stop": {
      const error = new ServiceError("CANCELLED", "synthesis was cancelled");
      return { state: { phase: "ended" }, effects: [{ type: "cancel" }, { type: "fail", error }] };
    }
  }
}

function advance(
  state: Extract<SynthesisState, { phase: "speaking" }>,
): Decision<SynthesisState, SynthesisEffect> {
  const effects: SynthesisEffect[] = [];
  let { begun, delivered, isInsideSentence, waitingChunks, isReaderWaiting } = state;
  const [chunk] = waitingChunks;
  if (isReaderWaiting && chunk !== undefined) {
    effects.push({ type: "deliver", chunk });
    waitingChunks = waitingChunks.slice(1);
    if (chunk.endsSentence) delivered++;
    isInsideSentence = !chunk.endsSentence;
    isReaderWaiting = false;
  } else if (isReaderWaiting && delivered === state.sentenceCount) {
    return { state: { phase: "ended" }, effects: [{ type: "end" }] };
  }
  const isIdle = begun === state.finished;
  // The sentence that the reader is reading or waiting for does not count as ahead.
  const wanted = delivered + (isReaderWaiting || isInsideSentence ? 1 : 0) + SENTENCES_AHEAD;
  if (isIdle && begun < Math.min(wanted, state.sentenceCount)) {
    effects.push({ type: "begin", sentence: begun });
    begun++;
  }
  return {
    state: { ...state, begun, delivered, isInsideSentence, waitingChunks, isReaderWaiting },
    effects,
  };
}
