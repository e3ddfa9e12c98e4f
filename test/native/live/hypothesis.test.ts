import assert from "node:assert/strict";
import { test } from "node:test";
import { firstOwnFrame } from "../../../native/live/hypothesis.js";

/** As the shipped recogniser's: 0.18 s of frames of 40 ms. */
const PROMPT = { lagFrames: 0, delayFrames: 4.5 };

test("all letters of the first utterance are its own", () => {
  assert.equal(firstOwnFrame(PROMPT, null, 12), 0);
});

test("behind a pause letters count from the mean delay behind the end on", () => {
  for (const noticed of [104, 106, 120]) {
    assert.equal(firstOwnFrame(PROMPT, { frame: 100, isMidSpeech: false }, noticed), 105);
  }
});

test("speech right behind an end is heard from half of the delay behind its onset on", () => {
  // Noticed in its second frame.
  assert.equal(firstOwnFrame(PROMPT, { frame: 100, isMidSpeech: false }, 102), 103);
  assert.equal(firstOwnFrame(PROMPT, { frame: 100, isMidSpeech: false }, 103), 104);
});

test("where speech goes on the mean delay alone parts the letters", () => {
  for (const noticed of [100, 101, 130]) {
    assert.equal(firstOwnFrame(PROMPT, { frame: 100, isMidSpeech: true }, noticed), 105);
  }
});

test("rows that are handed out late move the border with them", () => {
  const chunked = { lagFrames: 11, delayFrames: 0 };
  assert.equal(firstOwnFrame(chunked, { frame: 100, isMidSpeech: false }, 106), 111);
  assert.equal(firstOwnFrame(chunked, { frame: 100, isMidSpeech: true }, 100), 111);
});
