import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decideSynthesis,
  type SynthesisEffect,
  type SynthesisMessage,
  type SynthesisState,
} from "../../../actors/synthesis/decision.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SpeechChunk } from "../../../core/ports/conversations.js";
import * as fc from "../../support/properties.js";

const SENTENCES_AHEAD = 2;

function chunkOf(endsSentence: boolean): SpeechChunk {
  return { pcm: new Int16Array(1), sampleRateHz: 24_000, endsSentence };
}

/** A synthesizer and a reader that take turns according to `choices`, each by its own rules. */
class Simulation {
  state: SynthesisState;
  readonly begun: number[] = [];
  /** Chunks in the order in which they were synthesized. */
  readonly made: SpeechChunk[] = [];
  /** Chunks that the reader received. */
  readonly read: SpeechChunk[] = [];
  ends = 0;
  isReaderWaiting = false;
  isSpeaking = false;

  constructor(sentenceCount: number) {
    this.state = {
      phase: "speaking",
      sentenceCount,
      begun: 0,
      finished: 0,
      delivered: 0,
      isInsideSentence: false,
      waitingChunks: [],
      isReaderWaiting: false,
    };
  }

  pull(): void {
    if (this.isReaderWaiting || this.ends > 0) return;
    this.isReaderWaiting = true;
    this.#tell({ type: "pull" });
  }

  /** Number of sentences that the reader has finished, and whether it is inside another one. */
  get sentencesRead(): number {
    return this.read.filter((chunk) => chunk.endsSentence).length;
  }

  get isInside(): boolean {
    return this.read.at(-1)?.endsSentence === false;
  }

  makeChunk(endsSentence: boolean): void {
    if (!this.isSpeaking) return;
    this.isSpeaking = !endsSentence;
    const chunk = chunkOf(endsSentence);
    this.made.push(chunk);
    this.#tell({ type: "made", chunk });
  }

  #tell(message: SynthesisMessage): void {
    const { state, effects } = decideSynthesis(this.state, message);
    this.state = state;
    for (const effect of effects) this.#perform(effect);
    const isReading = this.isReaderWaiting || this.isInside;
    const ahead = this.begun.length - this.sentencesRead - (isReading ? 1 : 0);
    assert.ok(ahead <= SENTENCES_AHEAD, `${ahead} sentences ahead of the reader`);
  }

  #perform(effect: SynthesisEffect): void {
    if (effect.type === "begin") {
      assert.equal(this.isSpeaking, false, "one sentence at a time");
      this.isSpeaking = true;
      this.begun.push(effect.sentence);
      return;
    }
    assert.equal(this.isReaderWaiting, true, "a reader that does not wait gets nothing");
    this.isReaderWaiting = false;
    if (effect.type === "deliver") this.read.push(effect.chunk);
    else this.ends++;
  }
}

test("delivers every chunk once, in order, at most two sentences ahead", () => {
  const choice = fc.constantFrom("pull", "chunk", "last chunk");
  fc.assert(
    fc.property(fc.nat({ max: 8 }), fc.array(choice, { maxLength: 60 }), (sentenceCount, choices) => {
      const simulation = new Simulation(sentenceCount);
      for (const turn of choices) {
        if (turn === "pull") simulation.pull();
        else simulation.makeChunk(turn === "last chunk");
      }
      // From here on, both do all they can, so each round must give the reader a chunk or the end.
      const rounds = sentenceCount + choices.length + SENTENCES_AHEAD;
      for (let round = 0; round <= rounds && simulation.ends === 0; round++) {
        simulation.pull();
        simulation.makeChunk(true);
      }
      assert.deepEqual(
        simulation.begun,
        Array.from({ length: sentenceCount }, (_, index) => index),
      );
      assert.equal(simulation.read.length, simulation.made.length);
      for (const [at, chunk] of simulation.read.entries()) assert.equal(chunk, simulation.made[at]);
      assert.equal(simulation.sentencesRead, sentenceCount);
      assert.equal(simulation.ends, 1);
      assert.equal(simulation.state.phase, "ended");
    }),
    { numRuns: 500 },
  );
});

test("two sentences are synthesized ahead of a slow reader, and the third waits", () => {
  const simulation = new Simulation(10);
  assert.deepEqual(simulation.begun, [], "nothing is synthesized before anyone reads");
  simulation.pull();
  for (let round = 0; round < 10; round++) simulation.makeChunk(true);
  assert.equal(simulation.sentencesRead, 1);
  assert.deepEqual(simulation.begun, [0, 1, 2]);
});

test("a reader gets chunks of a sentence while the rest is being synthesized", () => {
  const simulation = new Simulation(3);
  simulation.pull();
  simulation.makeChunk(false);
  assert.deepEqual([simulation.read.length, simulation.begun], [1, [0]]);
  simulation.makeChunk(true);
  assert.deepEqual(simulation.begun, [0, 1], "the next sentence is synthesized while this one is being read");
});

test("an ended synthesis does nothing more", () => {
  const error = new ServiceError("WORKER_LOST", "gone");
  const messages: readonly SynthesisMessage[] = [
    { type: "pull" },
    { type: "made", chunk: chunkOf(true) },
    { type: "failed", error },
    { type: "stop" },
  ];
  for (const message of messages) {
    assert.deepEqual(decideSynthesis({ phase: "ended" }, message).effects, []);
  }
});

test("stop cancels the work before it fails the reader", () => {
  const { state, effects } = decideSynthesis(new Simulation(2).state, { type: "stop" });
  assert.equal(state.phase, "ended");
  assert.deepEqual(
    effects.map((effect) => effect.type),
    ["cancel", "fail"],
  );
});
