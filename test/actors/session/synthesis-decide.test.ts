import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  decideSynthesis,
  type SynthesisEffect,
  type SynthesisMessage,
  type SynthesisState,
} from "../../../actors/session/synthesis.js";
import { SpeechError } from "../../../src/domain/errors.js";

const SENTENCES_AHEAD = 2;

/** A synthesizer and a reader that take turns as `choices` say, each doing only what it may do. */
class Simulation {
  state: SynthesisState;
  readonly begun: number[] = [];
  readonly delivered: number[] = [];
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
      isReaderWaiting: false,
    };
  }

  pull(): void {
    if (this.isReaderWaiting || this.ends > 0) return;
    this.isReaderWaiting = true;
    this.#tell({ type: "pull" });
  }

  finishSentence(): void {
    if (!this.isSpeaking) return;
    this.isSpeaking = false;
    this.#tell({ type: "spoken" });
  }

  #tell(message: SynthesisMessage): void {
    const { state, effects } = decideSynthesis(this.state, message);
    this.state = state;
    for (const effect of effects) this.#perform(effect);
    const ahead = this.begun.length - this.delivered.length - (this.isReaderWaiting ? 1 : 0);
    assert.ok(ahead <= SENTENCES_AHEAD, `${ahead} sentences ahead of the reader`);
  }

  #perform(effect: SynthesisEffect): void {
    if (effect.type === "begin") {
      assert.equal(this.isSpeaking, false, "one sentence at a time");
      this.isSpeaking = true;
      this.begun.push(effect.sentence);
      return;
    }
    assert.equal(this.isReaderWaiting, true, "a reader that does not wait is told nothing");
    this.isReaderWaiting = false;
    if (effect.type === "deliver") this.delivered.push(effect.sentence);
    else this.ends++;
  }
}

test("sentences are begun and delivered once each, in order, at most two ahead, and reading comes to an end", () => {
  fc.assert(
    fc.property(fc.nat({ max: 8 }), fc.array(fc.boolean(), { maxLength: 40 }), (sentenceCount, choices) => {
      const simulation = new Simulation(sentenceCount);
      for (const isReadersTurn of choices) {
        if (isReadersTurn) simulation.pull();
        else simulation.finishSentence();
      }
      // From here on both do all they can: each round must bring the reader one sentence or the end.
      for (let round = 0; round <= sentenceCount + SENTENCES_AHEAD && simulation.ends === 0; round++) {
        simulation.pull();
        simulation.finishSentence();
      }
      const all = Array.from({ length: sentenceCount }, (_, index) => index);
      assert.deepEqual(simulation.begun, all);
      assert.deepEqual(simulation.delivered, all);
      assert.equal(simulation.ends, 1);
      assert.equal(simulation.state.phase, "ended");
    }),
    { numRuns: 500 },
  );
});

test("two sentences are made ahead of a reader that takes its time, and the third waits", () => {
  const simulation = new Simulation(10);
  assert.deepEqual(simulation.begun, [], "nothing is made before anybody reads");
  simulation.pull();
  for (let round = 0; round < 10; round++) simulation.finishSentence();
  assert.deepEqual(simulation.delivered, [0]);
  assert.deepEqual(simulation.begun, [0, 1, 2]);
});

test("an ended synthesis does nothing more", () => {
  const error = new SpeechError("WORKER_LOST", "gone");
  const messages: readonly SynthesisMessage[] = [
    { type: "pull" },
    { type: "spoken" },
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
