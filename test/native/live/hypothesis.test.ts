import assert from "node:assert/strict";
import { test } from "node:test";
import { firstOwnFrame } from "../../../native/live/hypothesis.js";

/** The shipped recogniser's delay: 0.18 s in frames of 40 ms. */
const PROMPT = { delayFrames: 4.5 };

test("all letters belong to the first utterance", () => {
  assert.equal(firstOwnFrame(PROMPT, null, 12), 0);
});

test("after a pause, letters count from the mean delay after the end", () => {
  for (const noticed of [104, 106, 120]) {
    assert.equal(firstOwnFrame(PROMPT, { frame: 100, isMidSpeech: false }, noticed), 105);
  }
});

test("letters of speech shortly after an end count from half of the delay after its onset", () => {
  // The onset is detected in the second frame of speech.
  assert.equal(firstOwnFrame(PROMPT, { frame: 100, isMidSpeech: false }, 102), 103);
  assert.equal(firstOwnFrame(PROMPT, { frame: 100, isMidSpeech: false }, 103), 104);
});

test("without a pause the mean delay alone separates the letters", () => {
  for (const noticed of [100, 101, 130]) {
    assert.equal(firstOwnFrame(PROMPT, { frame: 100, isMidSpeech: true }, noticed), 105);
  }
});
